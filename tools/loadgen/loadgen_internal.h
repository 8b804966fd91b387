/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of loadgen. */
#ifndef LOADGEN_INTERNAL_H
#define LOADGEN_INTERNAL_H

#include <stdio.h>

#include "loadgen.h"

/* @nr contents that occur @copies times each. */
struct loadgen_class {
	uint64_t copies, nr;
	uint64_t first_slot, first_content;
};

/* A record of a trace: bytes up to @end have content @content. */
struct loadgen_record {
	uint64_t end, content;
};

struct loadgen_trace {
	struct loadgen_record *v;
	uint64_t nr, cap, bytes;
};

struct loadgen {
	struct loadgen_options opt;
	struct loadgen_class *classes;
	uint32_t nr_classes;
	uint64_t units, distinct, stream_units;
	uint64_t stream_bytes;
	struct loadgen_trace *trace;	/* or NULL */
	uint32_t half_bits;	/* of the permutation */
	uint32_t random_bytes;	/* of each segment */
	unsigned char *kept;	/* contents, one behind the other, or NULL */
};

/* Contents that no class has: new data of a later generation. */
#define LOADGEN_FRESH ((uint64_t)1 << 63)

/* SplitMix64's finalizer (Steele et al., 2014): a bijection of 64 bits. */
static inline uint64_t loadgen_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline uint64_t loadgen_mix2(uint64_t a, uint64_t b)
{
	return loadgen_mix(loadgen_mix(a) ^ b);
}

int loadgen_fail(struct akin_diag *d, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* loadgen_plan.c; fills in classes, units, distinct. */
int loadgen_make_plan(struct loadgen *l, struct akin_diag *diag);
/* loadgen_plan.c; lines of @f, which is called @path, as classes of which only
 * copies and nr are set. @lines returned owned, also on errors. */
int loadgen_read_distribution(FILE *f, const char *path,
			      struct loadgen_class **lines, uint32_t *nr_ret,
			      struct akin_diag *diag);
/* loadgen_trace.c; fills in units, distinct and bytes. */
int loadgen_read_trace(struct loadgen *l, struct akin_diag *diag);
void loadgen_free_trace(struct loadgen *l);
/* Bytes of the trace; @off + @n at most all of them. */
void loadgen_fill_trace(const struct loadgen *l, uint64_t off,
			unsigned char *to, size_t n);
/* Is this one of the contents that resemble another one? */
bool loadgen_is_similar(const struct loadgen *l, uint64_t content);

#endif
