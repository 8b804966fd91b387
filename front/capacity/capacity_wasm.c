/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calculators as a WebAssembly module, for the page.
 *
 * No C library: what the compiler itself calls is here. The page writes words
 * (one a line, UTF-8) to capacity_words() and an estimate to
 * capacity_estimate(), calls capacity_run() with their lengths, and reads the
 * result from capacity_output(). One call at a time; nothing is kept between.
 */
#include "capacity.h"

#define EXPORT __attribute__((visibility("default")))
#define WORDS_BYTES (64 * 1024)
#define ESTIMATE_BYTES (1024 * 1024)
#define OUTPUT_BYTES (4 * 1024 * 1024)

void *memset(void *p, int c, size_t n);
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
unsigned __int128 __multi3(unsigned __int128 a, unsigned __int128 b);
unsigned __int128 __udivti3(unsigned __int128 a, unsigned __int128 b);
unsigned __int128 __umodti3(unsigned __int128 a, unsigned __int128 b);
unsigned __int128 __ashlti3(unsigned __int128 a, int n);
unsigned __int128 __lshrti3(unsigned __int128 a, int n);
EXPORT char *capacity_words(void);
EXPORT char *capacity_estimate(void);
EXPORT char *capacity_output(void);
EXPORT unsigned capacity_words_size(void);
EXPORT unsigned capacity_estimate_size(void);
EXPORT unsigned capacity_run(unsigned words_len, unsigned estimate_len);

/* What the compiler calls ---------------------------------------------------*/

union halves {
	unsigned __int128 v;
	struct { uint64_t low, high; } h;
};

void *memset(void *p, int c, size_t n)
{
	unsigned char *to = p;

	while (n--)
		*to++ = (unsigned char)c;
	return p;
}

void *memcpy(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if (t <= f)
		return memcpy(to, from, n);
	while (n--)
		t[n] = f[n];
	return to;
}

/* Halves of halves: there is no product of more than 64 bits. */
static union halves multiply_64(uint64_t a, uint64_t b)
{
	uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
	uint64_t low = al * bl, mid = ah * bl + (low >> 32);
	uint64_t mid2 = al * bh + (uint32_t)mid;
	union halves r;

	r.h.low = mid2 << 32 | (uint32_t)low;
	r.h.high = ah * bh + (mid >> 32) + (mid2 >> 32);
	return r;
}

unsigned __int128 __multi3(unsigned __int128 a, unsigned __int128 b)
{
	union halves x = { .v = a }, y = { .v = b };
	union halves r = multiply_64(x.h.low, y.h.low);

	r.h.high += x.h.high * y.h.low + x.h.low * y.h.high;
	return r.v;
}

unsigned __int128 __ashlti3(unsigned __int128 a, int n)
{
	union halves x = { .v = a }, r;

	if (!n)
		return a;
	if (n >= 64) {
		r.h.high = x.h.low << (n - 64);
		r.h.low = 0;
	} else {
		r.h.high = x.h.high << n | x.h.low >> (64 - n);
		r.h.low = x.h.low << n;
	}
	return r.v;
}

unsigned __int128 __lshrti3(unsigned __int128 a, int n)
{
	union halves x = { .v = a }, r;

	if (!n)
		return a;
	if (n >= 64) {
		r.h.low = x.h.high >> (n - 64);
		r.h.high = 0;
	} else {
		r.h.low = x.h.low >> n | x.h.high << (64 - n);
		r.h.high = x.h.high >> n;
	}
	return r.v;
}

static int leading_zeros(const union halves *x)
{
	return x->h.high ? __builtin_clzll(x->h.high) :
	       x->h.low ? 64 + __builtin_clzll(x->h.low) : 128;
}

static bool at_least(const union halves *a, const union halves *b)
{
	return a->h.high != b->h.high ? a->h.high > b->h.high :
	       a->h.low >= b->h.low;
}

/* Bit by bit, from the first that can be set. By 0: as wasm does, a trap. */
static union halves divide(union halves a, union halves b, union halves *rest)
{
	union halves q = { .v = 0 };
	int n;

	if (!a.h.high && !b.h.high) {
		q.h.low = a.h.low / b.h.low;
		rest->h.low = a.h.low % b.h.low;
		rest->h.high = 0;
		return q;
	}
	if (!b.h.high && !b.h.low)
		__builtin_trap();
	n = leading_zeros(&b) - leading_zeros(&a);
	if (n > 0)
		b.v = __ashlti3(b.v, n);
	for (; n >= 0; n--) {
		q.v = __ashlti3(q.v, 1);
		if (at_least(&a, &b)) {
			a.h.high -= b.h.high + (a.h.low < b.h.low);
			a.h.low -= b.h.low;
			q.h.low |= 1;
		}
		b.v = __lshrti3(b.v, 1);
	}
	*rest = a;
	return q;
}

unsigned __int128 __udivti3(unsigned __int128 a, unsigned __int128 b)
{
	union halves x = { .v = a }, y = { .v = b }, rest;

	return divide(x, y, &rest).v;
}

unsigned __int128 __umodti3(unsigned __int128 a, unsigned __int128 b)
{
	union halves x = { .v = a }, y = { .v = b }, rest;

	divide(x, y, &rest);
	return rest.v;
}

/* The module ----------------------------------------------------------------*/

static char words[WORDS_BYTES], estimate[ESTIMATE_BYTES], output[OUTPUT_BYTES];

char *capacity_words(void)
{
	return words;
}

char *capacity_estimate(void)
{
	return estimate;
}

char *capacity_output(void)
{
	return output;
}

unsigned capacity_words_size(void)
{
	return sizeof(words) - 1;
}

unsigned capacity_estimate_size(void)
{
	return sizeof(estimate);
}

/* Bytes of output. An error begins with byte 1; its hint is on a second line. */
unsigned capacity_run(unsigned words_len, unsigned estimate_len)
{
	static struct cap_request r;
	static struct akin_diag diag;
	struct cap_text out;
	int err;

	r = (struct cap_request){ 0 };
	diag = (struct akin_diag){ 0 };
	cap_text_init(&out, output, sizeof(output));
	words[words_len < WORDS_BYTES ? words_len : WORDS_BYTES - 1] = 0;
	err = cap_request_parse(words, &r, &diag);
	if (estimate_len && estimate_len <= sizeof(estimate)) {
		r.estimate = estimate;
		r.estimate_len = estimate_len;
	}
	if (!err)
		err = cap_run(&r, &out, &diag);
	if (!err && !out.cut)
		return (unsigned)out.len;
	cap_text_init(&out, output, sizeof(output));
	cap_put(&out, "\001%s\n%s", err ? diag.text : "the result is too long",
		diag.hint);
	return (unsigned)out.len;
}
