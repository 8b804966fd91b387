/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line a thing, as text or JSON, with the same calls.
 */
#include "inspect_internal.h"

void print_begin(struct inspect *in, u64 off, const char *what)
{
	if (in->json)
		(void)fprintf(in->out, "{\"off\":%llu,\"what\":\"%s\"",
			      (unsigned long long)off, what);
	else
		(void)fprintf(in->out, "%08llx %s", (unsigned long long)off,
			      what);
}

static void print_key(struct inspect *in, const char *key)
{
	(void)fprintf(in->out, in->json ? ",\"%s\":" : " %s=", key);
}

void print_u64(struct inspect *in, const char *key, u64 v)
{
	print_key(in, key);
	(void)fprintf(in->out, "%llu", (unsigned long long)v);
}

void print_s64(struct inspect *in, const char *key, s64 v)
{
	print_key(in, key);
	(void)fprintf(in->out, "%lld", (long long)v);
}

void print_word(struct inspect *in, const char *key, const char *word)
{
	print_key(in, key);
	(void)fprintf(in->out, in->json ? "\"%s\"" : "%s", word);
}

void print_hex(struct inspect *in, const char *key, const void *p, size_t n)
{
	const u8 *b = p;
	size_t i;

	print_key(in, key);
	if (in->json)
		(void)fputc('"', in->out);
	for (i = 0; i < n; i++)
		(void)fprintf(in->out, "%02x", b[i]);
	if (in->json)
		(void)fputc('"', in->out);
}

void print_bytes(struct inspect *in, const char *key, const void *p, size_t n)
{
	const u8 *b = p;
	size_t i;

	print_key(in, key);
	(void)fputc('"', in->out);
	for (i = 0; i < n; i++) {
		if (b[i] >= 0x20 && b[i] < 0x7f && b[i] != '\\' && b[i] != '"')
			(void)fputc(b[i], in->out);
		else
			(void)fprintf(in->out, in->json ? "\\\\x%02x" : "\\x%02x",
				      b[i]);
	}
	(void)fputc('"', in->out);
}

void print_text(struct inspect *in, const char *key, const char *s)
{
	print_bytes(in, key, s, strlen(s));
}

void print_numbers(struct inspect *in, const char *key, const u64 *v, u32 nr)
{
	u32 i;

	print_key(in, key);
	if (in->json)
		(void)fputc('[', in->out);
	for (i = 0; i < nr; i++)
		(void)fprintf(in->out, "%s%llu", i ? "," : "",
			      (unsigned long long)v[i]);
	if (in->json)
		(void)fputc(']', in->out);
}

void print_end(struct inspect *in)
{
	(void)fputs(in->json ? "}\n" : "\n", in->out);
}

int print_damage(struct inspect *in, u64 off, const char *what, int err)
{
	print_begin(in, off, "damage");
	print_word(in, "of", what);
	print_word(in, "error", akin_error_name(err));
	print_end(in);
	if (!in->err)
		in->err = diag_set(in->diag, err, "%s: %s at %llu: %s",
				   in->path, what, (unsigned long long)off,
				   akin_strerror(err));
	return err;
}
