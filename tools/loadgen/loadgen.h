/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load: data that is made up, with properties that are known exactly.
 *
 * A load is a number of streams, each made of units of one size. Which content
 * is where is laid out, not drawn: a load of N units with D distinct contents
 * has exactly these, wherever one looks, whichever part is made first, on every
 * machine. Every byte is a function of seed and position; nothing is kept.
 *
 *	position in a stream --pieces--> position in generation 0, or new data
 *	unit --permutation--> slot --classes--> content number
 *	content number --generator--> bytes
 *
 * Compressible data is random bytes and zeros in each KiB, so that every codec
 * makes of it what the share says. Similar contents differ in some bytes of
 * each KiB, and in nothing else.
 *
 * Later generations come out of earlier ones by edits: bytes overwritten,
 * inserted, deleted, moved, wherever in the stream. What is new in them occurs
 * once.
 *
 * Units larger than the largest chunk, so at least 128 KiB by default, are seen
 * as they are by whoever cuts by content; for fixed blocks a unit is a block.
 *
 * Thread safety: a load may be used by many threads, a stream by one.
 */
#ifndef LOADGEN_H
#define LOADGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "akin/error.h"

/* Compressible and similar by so much. */
#define LOADGEN_SEGMENT 1024u
#define LOADGEN_UNIT_MIN 1024u
#define LOADGEN_UNIT_MAX (16u << 20)
#define LOADGEN_STREAMS_MAX 32767u
#define LOADGEN_GENERATIONS_MAX 65535u

enum loadgen_edit {
	LOADGEN_OVERWRITE, LOADGEN_INSERT, LOADGEN_DELETE, LOADGEN_MOVE,
	LOADGEN_NR_EDITS
};

struct loadgen_options {
	uint64_t seed;
	uint32_t unit_bytes;	/* 0: 128 KiB; a multiple of LOADGEN_SEGMENT */
	uint32_t nr_streams;	/* 0: 1 */
	uint64_t stream_bytes;	/* of generation 0; rounded up to units */
	/*
	 * How often contents occur, in all streams together. One of:
	 * a file in DEDISbench's format, lines of "DUPLICATES CONTENTS", scaled
	 * to the number of units;
	 */
	const char *distribution;
	/* a ratio of units to distinct contents; 0: not given; */
	double dedup;
	/* a share of units, 0 to 1, that are random and occur once, the others
	 * being repetitions of a set of contents; negative: not given. */
	double random_share;
	uint32_t set_units;	/* that set; 0: one in 100 units, at least 1 */

	/*
	 * Or a trace: blocks and chunks as long as they were there, with
	 * contents made from their fingerprints (tools/trace/trace.h). It is
	 * one stream of all there is, or of so many bytes, and units are its
	 * records; unit_bytes is that of what later generations bring.
	 */
	const char *trace;

	double compressible;	/* share that compression saves, 0 to 0.99 */
	double similar_share;	/* of contents that resemble another one */
	uint32_t similar_bytes;	/* that differ, in each KiB; 0: 16 */

	double change_share;	/* of bytes, from generation to generation */
	uint32_t edit_bytes;	/* of one edit; 0: 64 KiB */
	uint32_t edits[LOADGEN_NR_EDITS];	/* weights; zeros: 7 1 1 1 */

	/* Streams as objects of such sizes; 0: one object each. */
	uint64_t object_min, object_max;

	/* If all contents fit into so much memory, make them once and copy
	 * them: for who measures what takes the load, not the making. */
	size_t keep_bytes;
};

struct loadgen;

/* -AKIN_E_usage and the like, with a message in @diag. */
int loadgen_new(const struct loadgen_options *opt, struct loadgen **out,
		struct akin_diag *diag);
void loadgen_free(struct loadgen *l);	/* NULL is fine */

/* What generation 0 of all streams is. */
struct loadgen_plan {
	uint64_t units, distinct;
	uint64_t bytes;
	uint64_t stream_bytes;
	uint64_t similar;	/* of the distinct contents */
	/* Of a unit (with a trace, of one that is new later): random bytes,
	 * the others compress to nothing. */
	uint32_t unit_bytes, random_bytes;
};
void loadgen_get_plan(const struct loadgen *l, struct loadgen_plan *out);

/* Which content unit @unit of all streams has, below plan.distinct. Not with
 * a trace. */
uint64_t loadgen_content(const struct loadgen *l, uint64_t unit);
/* Bytes [off, off + n) of a content; @off + @n at most a unit. */
void loadgen_fill(const struct loadgen *l, uint64_t content, uint32_t off,
		  void *to, size_t n);

struct loadgen_stream;
/* Generation 0 and up. Memory: 24 bytes for each edit so far. */
int loadgen_open(const struct loadgen *l, uint32_t stream, uint32_t generation,
		 struct loadgen_stream **out, struct akin_diag *diag);
void loadgen_close(struct loadgen_stream *s);	/* NULL is fine */
uint64_t loadgen_size(const struct loadgen_stream *s);
/* Fewer than @n bytes only at the end. */
size_t loadgen_read(struct loadgen_stream *s, uint64_t off, void *to, size_t n);
/* Bytes of the object that begins at @off, which is where one ends. */
uint64_t loadgen_object(const struct loadgen_stream *s, uint64_t off);

#endif
