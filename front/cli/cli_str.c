/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing strings and lists of the command line; see cli_str.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_str.h"

static void *need(void *p)
{
	static const char text[] = "akin: out of memory\n";

	if (p)
		return p;
	/* Perhaps a thread of the library: no exit handlers from here. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(1);
}

void *cli_alloc(size_t n)
{
	return need(calloc(1, n ? n : 1));
}

void *cli_realloc(void *p, size_t n)
{
	return need(realloc(p, n));
}

char *cli_strdup(const char *s)
{
	return need(strdup(s));
}

void cli_str_release(struct cli_str *b)
{
	free(b->s);
	memset(b, 0, sizeof(*b));
}

void cli_str_reset(struct cli_str *b)
{
	b->len = 0;
	if (b->s)
		b->s[0] = 0;
}

static void reserve(struct cli_str *b, size_t n)
{
	if (b->cap - b->len > n)
		return;
	b->cap = (b->len + n + 1) * 2;
	b->s = cli_realloc(b->s, b->cap);
}

void cli_str_addn(struct cli_str *b, const void *s, size_t n)
{
	reserve(b, n);
	if (n)
		memcpy(b->s + b->len, s, n);
	b->len += n;
	b->s[b->len] = 0;
}

void cli_str_add(struct cli_str *b, const char *s)
{
	cli_str_addn(b, s, strlen(s));
}

void cli_str_addc(struct cli_str *b, char c)
{
	cli_str_addn(b, &c, 1);
}

void cli_str_addf(struct cli_str *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	reserve(b, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

const char *cli_str_text(const struct cli_str *b)
{
	return b->s ? b->s : "";
}

void cli_list_add(struct cli_list *l, const char *s)
{
	if (l->nr == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 8;
		l->v = cli_realloc(l->v, l->cap * sizeof(*l->v));
	}
	l->v[l->nr++] = s;
}

void cli_list_release(struct cli_list *l)
{
	free(l->v);
	memset(l, 0, sizeof(*l));
}

void cli_list_free_all(struct cli_list *l)
{
	uint32_t i;

	for (i = 0; i < l->nr; i++)
		free((char *)l->v[i]);
	cli_list_release(l);
}
