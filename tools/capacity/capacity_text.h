/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and numbers without a C library.
 *
 * The calculators run in the command and, compiled to WebAssembly, in a page;
 * so nothing here allocates, reads, writes or depends on a locale.
 */
#ifndef CAPACITY_TEXT_H
#define CAPACITY_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes and counts. Inputs end at 2^80, sums at 2^90 (cap_u128 products with
 * up to 2^38 stay exact). */
typedef unsigned __int128 cap_u128;
#define CAP_POW2(n) ((cap_u128)1 << (n))
#define CAP_MAX_INPUT CAP_POW2(80)
#define CAP_MAX_SUM CAP_POW2(90)

#define CAP_KIB ((cap_u128)1024)
#define CAP_MIB (1024 * CAP_KIB)
#define CAP_GIB (1024 * CAP_MIB)
#define CAP_TIB (1024 * CAP_GIB)
#define CAP_TB ((cap_u128)1000000000000)
#define CAP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Text in memory that the caller owns. @s is always NUL-terminated; what does
 * not fit is dropped and @cut is set.
 */
struct cap_text {
	char *s;
	size_t cap, len;
	bool cut;
};

/* @s has room for @cap > 0 bytes. */
void cap_text_init(struct cap_text *t, char *s, size_t cap);

/*
 * Appends. What the format knows:
 *
 *	%s	const char *
 *	%c	int
 *	%u	unsigned
 *	%D	cap_u128, 1234567
 *	%N	cap_u128, 1,234,567
 *	%B	cap_u128, bytes in both systems: 3.64 TiB (4.00 TB)
 *	%I	cap_u128, bytes as 3.64 TiB; %S as 4.00 TB
 *	%F	cap_u128 a, cap_u128 b > 0, int digits: a / b with so many
 *		decimals, halves away from zero
 *	%R	double >= 0, int digits
 *	%%
 *
 * Arguments for D, N, B, I, S and F must have the type cap_u128: cap_n().
 */
void cap_put(struct cap_text *t, const char *fmt, ...);
void cap_vput(struct cap_text *t, const char *fmt, va_list ap);
#define cap_n(v) ((cap_u128)(v))

/* Through halves: the compiler's own conversions are library calls. */
double cap_to_double(cap_u128 v);
/* Nearest; 0 below 0.5 and for what is no number, 2^127 at the most. */
cap_u128 cap_from_double(double v);

size_t cap_strlen(const char *s);
bool cap_equal(const char *a, const char *b);
/* Does @s begin with @prefix? Then what is behind it, else NULL. */
const char *cap_after(const char *s, const char *prefix);
bool cap_is_digit(char c);

#endif
