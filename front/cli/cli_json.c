/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Lines; see cli_json.h.
 */
#include <inttypes.h>
#include <string.h>

#include "cli_json.h"
#include "cli_text.h"
#include "cli_units.h"

static void add_ascii(struct cli_str *out, int c)
{
	switch (c) {
	case '"':
	case '\\':
		cli_str_addc(out, '\\');
		cli_str_addc(out, (char)c);
		break;
	case '\n':
		cli_str_add(out, "\\n");
		break;
	case '\t':
		cli_str_add(out, "\\t");
		break;
	default:
		if (c < 0x20 || c == 0x7f)
			cli_str_addf(out, "\\u%04x", (unsigned)c);
		else
			cli_str_addc(out, (char)c);
		break;
	}
}

void cli_json_string(struct cli_str *out, const char *s, size_t n)
{
	size_t len;
	long v;

	cli_str_addc(out, '"');
	for (; n; s += len, n -= len) {
		v = cli_utf8_next(s, n, &len);
		if (v < 0)
			cli_str_add(out, "\\ufffd");
		else if (v < 0x80)
			add_ascii(out, (int)v);
		else if (v < 0x10000)
			/* As they are but for C1 controls and separators, so
			 * that a line may be shown on a terminal. */
			if (v < 0xa0 || (v >= 0x2028 && v <= 0x202e))
				cli_str_addf(out, "\\u%04lx",
					     (unsigned long)v);
			else
				cli_str_addn(out, s, len);
		else
			cli_str_addn(out, s, len);
	}
	cli_str_addc(out, '"');
}

static void add_key(struct cli_json *j, const char *key, const char *suffix)
{
	if (j->comma)
		cli_str_addc(&j->out, ',');
	j->comma = true;
	cli_str_addf(&j->out, "\"%s%s\":", key, suffix);
}

static void add_hex(struct cli_str *out, const void *s, size_t n)
{
	const unsigned char *p = s;
	size_t i;

	cli_str_addc(out, '"');
	for (i = 0; i < n; i++)
		cli_str_addf(out, "%02x", p[i]);
	cli_str_addc(out, '"');
}

void cli_json_begin(struct cli_json *j, const char *type)
{
	cli_str_reset(&j->out);
	cli_str_addc(&j->out, '{');
	j->comma = false;
	cli_json_text(j, "type", type);
}

void cli_json_text(struct cli_json *j, const char *key, const char *s)
{
	add_key(j, key, "");
	cli_json_string(&j->out, s, strlen(s));
}

void cli_json_bytes(struct cli_json *j, const char *key, const void *s,
		    size_t n)
{
	add_key(j, key, "");
	cli_json_string(&j->out, s, n);
	if (cli_utf8_valid(s, n))
		return;
	add_key(j, key, "_hex");
	add_hex(&j->out, s, n);
}

void cli_json_name(struct cli_json *j, const char *key, const char *s)
{
	cli_json_bytes(j, key, s, strlen(s));
}

void cli_json_int(struct cli_json *j, const char *key, int64_t v)
{
	add_key(j, key, "");
	cli_str_addf(&j->out, "%" PRId64, v);
}

void cli_json_uint(struct cli_json *j, const char *key, uint64_t v)
{
	add_key(j, key, "");
	cli_str_addf(&j->out, "%" PRIu64, v);
}

void cli_json_bool(struct cli_json *j, const char *key, bool v)
{
	add_key(j, key, "");
	cli_str_add(&j->out, v ? "true" : "false");
}

void cli_json_ratio(struct cli_json *j, const char *key, uint64_t a,
		    uint64_t b)
{
	if (!b)
		return;
	add_key(j, key, "");
	cli_str_addf(&j->out, "%.6f", (double)a / (double)b);
}

void cli_json_seconds(struct cli_json *j, const char *key, uint64_t ns)
{
	add_key(j, key, "");
	cli_str_addf(&j->out, "%" PRIu64 ".%06" PRIu64, ns / 1000000000,
		     ns % 1000000000 / 1000);
}

void cli_json_time(struct cli_json *j, const char *key, int64_t sec,
		   uint32_t nsec)
{
	char text[CLI_TIME_ISO];

	if (cli_time_iso(sec, nsec, text))
		cli_json_text(j, key, text);
	add_key(j, key, "_sec");
	cli_str_addf(&j->out, "%" PRId64, sec);
	add_key(j, key, "_nsec");
	cli_str_addf(&j->out, "%u", nsec);
}

void cli_json_names(struct cli_json *j, const char *key,
		    const char *const *v, uint32_t nr)
{
	bool valid = true;
	uint32_t i;

	add_key(j, key, "");
	cli_str_addc(&j->out, '[');
	for (i = 0; i < nr; i++) {
		if (i)
			cli_str_addc(&j->out, ',');
		cli_json_string(&j->out, v[i], strlen(v[i]));
		valid = valid && cli_utf8_valid(v[i], strlen(v[i]));
	}
	cli_str_addc(&j->out, ']');
	if (valid)
		return;
	add_key(j, key, "_hex");
	cli_str_addc(&j->out, '[');
	for (i = 0; i < nr; i++) {
		if (i)
			cli_str_addc(&j->out, ',');
		add_hex(&j->out, v[i], strlen(v[i]));
	}
	cli_str_addc(&j->out, ']');
}

void cli_json_end(struct cli_json *j, FILE *f)
{
	cli_str_add(&j->out, "}\n");
	/* The stream remembers a failure; whoever ends the output asks it. */
	if (fwrite(j->out.s, 1, j->out.len, f) != j->out.len)
		return;
}

void cli_json_release(struct cli_json *j)
{
	cli_str_release(&j->out);
}
