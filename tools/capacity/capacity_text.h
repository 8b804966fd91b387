/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text and numbers without a C library.
 *
 * The calculators run in the command and, compiled to WebAssembly, in a page;
 * so nothing here allocates, reads, writes or depends on a locale.
 */
#ifndef CAPACITY_TEXT_H
#define CAPACITY_TEXT_H

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
 * cap_put(text, format, ...) appends. What the format knows:
 *
 *	%s	const char *
 *	%c	char
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
 * Arguments (twelve at most) are made into an array by macros that know their
 * types, and refuse others: compilers for WebAssembly do not agree with
 * themselves on how integers of 128 bits are passed behind "...".
 */
#define cap_put(t, ...) cap_put_args(t, CAP_FORMAT(__VA_ARGS__))
#define cap_n(v) ((cap_u128)(v))

struct cap_arg {
	union {
		const char *s;
		unsigned u;
		int i;
		double d;
		cap_u128 n;
	} v;
};
void cap_put_args(struct cap_text *t, const char *fmt,
		  const struct cap_arg *args);

static inline struct cap_arg cap_arg_s(const char *s)
{
	return (struct cap_arg){ .v.s = s };
}

static inline struct cap_arg cap_arg_u(unsigned u)
{
	return (struct cap_arg){ .v.u = u };
}

static inline struct cap_arg cap_arg_i(int i)
{
	return (struct cap_arg){ .v.i = i };
}

static inline struct cap_arg cap_arg_d(double d)
{
	return (struct cap_arg){ .v.d = d };
}

static inline struct cap_arg cap_arg_n(cap_u128 n)
{
	return (struct cap_arg){ .v.n = n };
}

/* "format, arguments..." as "format, array". */
#define CAP_FORMAT(...) CAP_FORMAT_(__VA_ARGS__, 0)
#define CAP_FORMAT_(fmt, ...) \
	fmt, (const struct cap_arg[]){ CAP_EACH(__VA_ARGS__) }
#define CAP_ARG(x) \
	_Generic((x), cap_u128: cap_arg_n, unsigned: cap_arg_u, \
		 unsigned char: cap_arg_u, int: cap_arg_i, char: cap_arg_i, \
		 double: cap_arg_d, char *: cap_arg_s, \
		 const char *: cap_arg_s)(x)
#define CAP_EACH(...) \
	CAP_NTH(__VA_ARGS__, CAP_D, CAP_C, CAP_B, CAP_A, CAP_9, CAP_8, CAP_7, \
		CAP_6, CAP_5, CAP_4, CAP_3, CAP_2, CAP_1)(__VA_ARGS__)
#define CAP_NTH(a, b, c, d, e, f, g, h, i, j, k, l, m, nth, ...) nth
#define CAP_1(a) CAP_ARG(a)
#define CAP_2(a, ...) CAP_ARG(a), CAP_1(__VA_ARGS__)
#define CAP_3(a, ...) CAP_ARG(a), CAP_2(__VA_ARGS__)
#define CAP_4(a, ...) CAP_ARG(a), CAP_3(__VA_ARGS__)
#define CAP_5(a, ...) CAP_ARG(a), CAP_4(__VA_ARGS__)
#define CAP_6(a, ...) CAP_ARG(a), CAP_5(__VA_ARGS__)
#define CAP_7(a, ...) CAP_ARG(a), CAP_6(__VA_ARGS__)
#define CAP_8(a, ...) CAP_ARG(a), CAP_7(__VA_ARGS__)
#define CAP_9(a, ...) CAP_ARG(a), CAP_8(__VA_ARGS__)
#define CAP_A(a, ...) CAP_ARG(a), CAP_9(__VA_ARGS__)
#define CAP_B(a, ...) CAP_ARG(a), CAP_A(__VA_ARGS__)
#define CAP_C(a, ...) CAP_ARG(a), CAP_B(__VA_ARGS__)
#define CAP_D(a, ...) CAP_ARG(a), CAP_C(__VA_ARGS__)

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
