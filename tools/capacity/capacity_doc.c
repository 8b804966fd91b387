/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents; see capacity_doc.h.
 */
#include "capacity_doc.h"

#define WIDTH 78
#define LABEL_WIDTH 34
#define LINE_BYTES 2048
#define CELL_BYTES 64

static void put_json_string(struct cap_text *t, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	unsigned char c;

	cap_put(t, "\"");
	for (; (c = (unsigned char)*s); s++) {
		if (c == '"' || c == '\\')
			cap_put(t, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			cap_put(t, "\\u00%c%c", hex[c >> 4], hex[c & 15]);
		else
			cap_put(t, "%c", c);
	}
	cap_put(t, "\"");
}

static void object_begin(struct cap_doc *d, const char *type)
{
	cap_put(d->out, "{\"type\":");
	put_json_string(d->out, type);
	d->comma = true;
}

static void object_key(struct cap_doc *d, const char *key)
{
	cap_put(d->out, "%s", d->comma ? "," : "");
	d->comma = true;
	put_json_string(d->out, key);
	cap_put(d->out, ":");
}

static void object_end(struct cap_doc *d)
{
	cap_put(d->out, "}\n");
	d->comma = false;
}

/* An empty line between lines and what is no line. */
static void part(struct cap_doc *d, bool lines)
{
	if (!d->json && d->out->len && (d->lines != lines || !lines))
		cap_put(d->out, "\n");
	d->lines = lines;
}

/* Wrapped, further lines indented by two. */
static void put_wrapped(struct cap_text *t, const char *s)
{
	unsigned at = 0, n;

	while (*s) {
		for (n = 0; s[n] && s[n] != ' '; n++)
			;
		if (at && at + 1 + n > WIDTH) {
			cap_put(t, "\n  ");
			at = 2;
		} else if (at) {
			cap_put(t, " ");
			at++;
		}
		at += n;
		while (n--)
			cap_put(t, "%c", *s++);
		while (*s == ' ')
			s++;
	}
	cap_put(t, "\n");
}

static void put_said(struct cap_doc *d, const char *type, const char *fmt,
		     va_list ap)
{
	char line[LINE_BYTES];
	struct cap_text t;

	cap_text_init(&t, line, sizeof(line));
	cap_vput(&t, fmt, ap);
	if (d->json) {
		object_begin(d, type);
		object_key(d, "text");
		put_json_string(d->out, line);
		object_end(d);
		return;
	}
	part(d, true);
	put_wrapped(d->out, line);
}

void cap_line(struct cap_doc *d, const char *fmt, ...)
{
	va_list ap;

	if (d->json)
		return;
	va_start(ap, fmt);
	put_said(d, "", fmt, ap);
	va_end(ap);
}

void cap_step(struct cap_doc *d, const char *fmt, ...)
{
	va_list ap;

	if (!d->explain)
		return;
	va_start(ap, fmt);
	put_said(d, "step", fmt, ap);
	va_end(ap);
}

void cap_note(struct cap_doc *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_said(d, "note", fmt, ap);
	va_end(ap);
}

/* Tables --------------------------------------------------------------------*/

void cap_table(struct cap_doc *d, const char *type,
	       const struct cap_column *columns, unsigned nr)
{
	d->type = type;
	d->columns = columns;
	d->nr_columns = nr;
	d->at = 0;
	d->headed = false;
}

static void pad(struct cap_doc *d, unsigned n)
{
	while (n--)
		cap_put(d->out, " ");
}

static void put_padded(struct cap_doc *d, unsigned i, const char *s)
{
	const struct cap_column *c = &d->columns[i];
	unsigned n = (unsigned)cap_strlen(s), room = 0;

	if (n < c->width)
		room = c->width - n;
	if (i)
		pad(d, 2);
	if (!c->left)
		pad(d, room);
	cap_put(d->out, "%s", s);
	if (c->left && i + 1 < d->nr_columns)
		pad(d, room);
}

static void put_heading(struct cap_doc *d)
{
	unsigned i;

	part(d, false);
	for (i = 0; i < d->nr_columns; i++)
		put_padded(d, i, d->columns[i].heading);
	cap_put(d->out, "\n");
	d->headed = true;
}

static void row_begin(struct cap_doc *d)
{
	if (d->at)
		return;
	if (d->json)
		object_begin(d, d->type);
	else if (!d->headed)
		put_heading(d);
}

/* Text: @text in its column. JSON: @value, as it is. */
static void put_cell(struct cap_doc *d, const char *text, const char *value)
{
	row_begin(d);
	if (d->json) {
		object_key(d, d->columns[d->at].key);
		cap_put(d->out, "%s", value);
	} else {
		put_padded(d, d->at, text);
	}
	d->at++;
}

void cap_cell_text(struct cap_doc *d, const char *s)
{
	row_begin(d);
	if (d->json) {
		object_key(d, d->columns[d->at++].key);
		put_json_string(d->out, s);
		return;
	}
	put_padded(d, d->at++, s);
}

void cap_cell_bool(struct cap_doc *d, bool v)
{
	put_cell(d, v ? "yes" : "no", v ? "true" : "false");
}

void cap_cell_none(struct cap_doc *d)
{
	put_cell(d, "-", "null");
}

void cap_cell_count(struct cap_doc *d, cap_u128 v)
{
	char people[CELL_BYTES], program[CELL_BYTES];
	struct cap_text t;

	cap_text_init(&t, people, sizeof(people));
	cap_put(&t, "%N", v);
	cap_text_init(&t, program, sizeof(program));
	cap_put(&t, "%D", v);
	put_cell(d, people, program);
}

void cap_cell_bytes(struct cap_doc *d, cap_u128 v)
{
	char people[CELL_BYTES], program[CELL_BYTES];
	struct cap_text t;

	cap_text_init(&t, people, sizeof(people));
	cap_put(&t, "%I", v);
	cap_text_init(&t, program, sizeof(program));
	cap_put(&t, "%D", v);
	put_cell(d, people, program);
}

void cap_cell_fixed(struct cap_doc *d, cap_u128 a, cap_u128 b, int digits)
{
	char text[CELL_BYTES];
	struct cap_text t;

	cap_text_init(&t, text, sizeof(text));
	cap_put(&t, "%F", a, b, digits);
	put_cell(d, text, text);
}

void cap_cell_range(struct cap_doc *d, unsigned min, unsigned max,
		    const char *key_max)
{
	char people[CELL_BYTES], program[CELL_BYTES];
	struct cap_text t;

	cap_text_init(&t, people, sizeof(people));
	if (min != max)
		cap_put(&t, "%u-%u", min, max);
	else
		cap_put(&t, "%u", min);
	cap_text_init(&t, program, sizeof(program));
	cap_put(&t, "%u,\"%s\":%u", min, key_max, max);
	put_cell(d, people, program);
}

void cap_cell_extra(struct cap_doc *d, const char *key, cap_u128 v)
{
	if (!d->json)
		return;
	object_key(d, key);
	cap_put(d->out, "%D", v);
}

void cap_row_end(struct cap_doc *d)
{
	if (d->json)
		object_end(d);
	else
		cap_put(d->out, "\n");
	d->at = 0;
}

/* Summary -------------------------------------------------------------------*/

void cap_summary(struct cap_doc *d, const char *kind)
{
	if (!d->json) {
		part(d, false);
		return;
	}
	object_begin(d, "summary");
	object_key(d, "command");
	put_json_string(d->out, "capacity");
	object_key(d, "kind");
	put_json_string(d->out, kind);
}

/* Puts what stands in front of a fact's value; false: not for this reader. */
static bool fact_begin(struct cap_doc *d, const char *key, const char *label)
{
	if (d->json ? !key : !label)
		return false;
	if (d->json) {
		object_key(d, key);
		return true;
	}
	cap_put(d->out, "%s", label);
	pad(d, cap_strlen(label) < LABEL_WIDTH ?
	    LABEL_WIDTH - (unsigned)cap_strlen(label) : 1);
	return true;
}

static void fact_end(struct cap_doc *d)
{
	if (!d->json)
		cap_put(d->out, "\n");
}

void cap_fact_text(struct cap_doc *d, const char *key, const char *label,
		   const char *fmt, ...)
{
	char line[LINE_BYTES];
	struct cap_text t;
	va_list ap;

	if (!fact_begin(d, key, label))
		return;
	cap_text_init(&t, line, sizeof(line));
	va_start(ap, fmt);
	cap_vput(&t, fmt, ap);
	va_end(ap);
	if (d->json)
		put_json_string(d->out, line);
	else
		cap_put(d->out, "%s", line);
	fact_end(d);
}

void cap_fact_bool(struct cap_doc *d, const char *key, const char *label,
		   bool v)
{
	if (!fact_begin(d, key, label))
		return;
	if (d->json)
		cap_put(d->out, "%s", v ? "true" : "false");
	else
		cap_put(d->out, "%s", v ? "yes" : "no");
	fact_end(d);
}

void cap_fact_count(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 v)
{
	if (!fact_begin(d, key, label))
		return;
	cap_put(d->out, d->json ? "%D" : "%N", v);
	fact_end(d);
}

void cap_fact_bytes(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 v)
{
	if (!fact_begin(d, key, label))
		return;
	cap_put(d->out, d->json ? "%D" : "%B", v);
	fact_end(d);
}

void cap_fact_fixed(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 a, cap_u128 b, int digits, const char *unit)
{
	if (!fact_begin(d, key, label))
		return;
	cap_put(d->out, "%F", a, b, digits);
	if (!d->json)
		cap_put(d->out, "%s", unit);
	fact_end(d);
}

void cap_fact_ratio(struct cap_doc *d, const char *key, const char *label,
		    double v, int digits, const char *unit)
{
	if (!fact_begin(d, key, label))
		return;
	cap_put(d->out, "%R", v, digits);
	if (!d->json)
		cap_put(d->out, "%s", unit);
	fact_end(d);
}

void cap_fact_none(struct cap_doc *d, const char *key)
{
	if (!fact_begin(d, key, NULL))
		return;
	cap_put(d->out, "null");
	fact_end(d);
}

void cap_summary_end(struct cap_doc *d)
{
	if (d->json)
		object_end(d);
}
