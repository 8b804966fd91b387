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
			cap_put(t, "\\%c", (char)c);
		else if (c < 0x20 || c == 0x7f)
			cap_put(t, "\\u00%c%c", hex[c >> 4], hex[c & 15]);
		else
			cap_put(t, "%c", (char)c);
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

static void put_said(struct cap_doc *d, const char *fmt,
		     const struct cap_arg *args)
{
	char line[LINE_BYTES];
	struct cap_text t;

	cap_text_init(&t, line, sizeof(line));
	cap_put_args(&t, fmt, args);
	if (d->json) {
		object_begin(d, "step");
		object_key(d, "text");
		put_json_string(d->out, line);
		object_end(d);
		return;
	}
	part(d, true);
	put_wrapped(d->out, line);
}

void cap_line_args(struct cap_doc *d, const char *fmt,
		   const struct cap_arg *args)
{
	if (!d->json)
		put_said(d, fmt, args);
}

void cap_step_args(struct cap_doc *d, const char *fmt,
		   const struct cap_arg *args)
{
	if (d->explain)
		put_said(d, fmt, args);
}

/* Tables --------------------------------------------------------------------*/

/* [KEY, HEADING, "left" or "right"] of each. */
static void put_columns(struct cap_doc *d)
{
	unsigned i;

	object_begin(d, "columns");
	object_key(d, "of");
	put_json_string(d->out, d->type);
	object_key(d, "columns");
	for (i = 0; i < d->nr_columns; i++) {
		cap_put(d->out, "%s", i ? ",[" : "[[");
		put_json_string(d->out, d->columns[i].key);
		cap_put(d->out, ",");
		put_json_string(d->out, d->columns[i].heading);
		cap_put(d->out, "%s", d->columns[i].left ? ",\"left\"]" :
			",\"right\"]");
	}
	cap_put(d->out, "]");
	object_end(d);
}

void cap_table(struct cap_doc *d, const char *type,
	       const struct cap_column *columns, unsigned nr)
{
	d->type = type;
	d->columns = columns;
	d->nr_columns = nr;
	d->at = 0;
	d->headed = false;
	if (d->both)
		put_columns(d);
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

static void put_pair(struct cap_doc *d, const char *text, const char *value)
{
	cap_put(d->out, "[");
	put_json_string(d->out, text);
	cap_put(d->out, ",");
	put_json_string(d->out, value);
	cap_put(d->out, "]");
}

/* Text: @text in its column. JSON: @value, as it is. */
static void put_cell(struct cap_doc *d, const char *text, const char *value)
{
	row_begin(d);
	if (d->json) {
		object_key(d, d->columns[d->at].key);
		if (d->both)
			put_pair(d, text, value);
		else
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
		if (d->both)
			put_pair(d, s, s);
		else
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
	cap_put(&t, "%u", min);
	put_cell(d, people, program);
	cap_cell_extra(d, key_max, max);
}

void cap_cell_extra(struct cap_doc *d, const char *key, cap_u128 v)
{
	char text[CELL_BYTES];
	struct cap_text t;

	if (!d->json)
		return;
	object_key(d, key);
	cap_text_init(&t, text, sizeof(text));
	cap_put(&t, "%D", v);
	if (d->both)
		put_pair(d, "", text);
	else
		cap_put(d->out, "%s", text);
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
	if (d->both)
		return;
	object_begin(d, "summary");
	object_key(d, "command");
	put_json_string(d->out, "capacity");
	object_key(d, "kind");
	put_json_string(d->out, kind);
}

static void put_fact_object(struct cap_doc *d, const char *key,
			    const char *label, const char *text,
			    const char *value)
{
	object_begin(d, "fact");
	if (key) {
		object_key(d, "key");
		put_json_string(d->out, key);
	}
	if (label) {
		object_key(d, "label");
		put_json_string(d->out, label);
	}
	object_key(d, "text");
	put_json_string(d->out, text);
	object_key(d, "value");
	put_json_string(d->out, value);
	object_end(d);
}

/* @text is for people, @value for programs; a string if @quoted. */
static void put_fact(struct cap_doc *d, const char *key, const char *label,
		     const char *text, const char *value, bool quoted)
{
	unsigned n;

	if (d->both) {
		put_fact_object(d, key, label, text, value);
	} else if (d->json && key) {
		object_key(d, key);
		if (quoted)
			put_json_string(d->out, value);
		else
			cap_put(d->out, "%s", value);
	} else if (!d->json && label) {
		n = (unsigned)cap_strlen(label);
		cap_put(d->out, "%s", label);
		pad(d, n < LABEL_WIDTH ? LABEL_WIDTH - n : 1);
		cap_put(d->out, "%s\n", text);
	}
}

void cap_fact_args(struct cap_doc *d, const char *key, const char *label,
		   const char *fmt, const struct cap_arg *args)
{
	char line[LINE_BYTES];
	struct cap_text t;

	cap_text_init(&t, line, sizeof(line));
	cap_put_args(&t, fmt, args);
	put_fact(d, key, label, line, line, true);
}

void cap_fact_bool(struct cap_doc *d, const char *key, const char *label,
		   bool v)
{
	put_fact(d, key, label, v ? "yes" : "no", v ? "true" : "false", false);
}

static void put_fact_number(struct cap_doc *d, const char *key,
			    const char *label, const char *fmt, cap_u128 v)
{
	char people[CELL_BYTES], program[CELL_BYTES];
	struct cap_text t;

	cap_text_init(&t, people, sizeof(people));
	cap_put(&t, fmt, v);
	cap_text_init(&t, program, sizeof(program));
	cap_put(&t, "%D", v);
	put_fact(d, key, label, people, program, false);
}

void cap_fact_count(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 v)
{
	put_fact_number(d, key, label, "%N", v);
}

void cap_fact_bytes(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 v)
{
	put_fact_number(d, key, label, "%B", v);
}

void cap_fact_fixed(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 a, cap_u128 b, int digits, const char *unit)
{
	char people[CELL_BYTES], program[CELL_BYTES];
	struct cap_text t;

	cap_text_init(&t, program, sizeof(program));
	cap_put(&t, "%F", a, b, digits);
	cap_text_init(&t, people, sizeof(people));
	cap_put(&t, "%s%s", program, unit);
	put_fact(d, key, label, people, program, false);
}

void cap_fact_none(struct cap_doc *d, const char *key)
{
	put_fact(d, key, NULL, "-", "null", false);
}

void cap_summary_end(struct cap_doc *d)
{
	if (d->json && !d->both)
		object_end(d);
}
