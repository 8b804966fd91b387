/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new generation being written: shared by gc_write.c (the file) and
 * gc_rebase.c (groups with references).
 */
#ifndef GC_WRITER_H
#define GC_WRITER_H

#include "container/container_reader.h"
#include "gc/gc_internal.h"

/* References of references that are followed to say what a base costs. */
#define LONE_LEVELS 8

/* The group of a base that was looked at last: runs of entries share it. */
struct lone_group {
	u64 container;		/* 0: none */
	u32 group;
	u64 kept_raw;		/* of its entries, all of them bases only */
	u64 bytes;		/* that it stands on */
};

struct gc_writer {
	struct gc *g;
	const struct directory *from;
	struct container_reader *reader;
	const struct gc_bits *bits;
	struct file *file;
	struct buf out;		/* to be written at @out_off */
	u64 out_off;
	struct directory to;	/* entries and groups owned, hints borrowed */
	u64 raw_bytes;
	u64 freed;		/* of bases, by doing without them */
	struct lone_group lone[LONE_LEVELS];
	u32 cap_bases;
	/* Gathered from groups that are kept in part. */
	u8 *raw, *packed;
	u32 raw_cap, raw_len;
	/* What a group is compressed against, and another try. */
	u8 *ref, *packed2;
	u32 group_number;	/* of the first of them */
	struct group_chunk *chunks;
	u32 nr_chunks;
};

/* Room for a raw group of @len bytes, and for what it compresses to. */
int gc_writer_need(struct gc_writer *w, u32 len, struct akin_diag *diag)
	__must_check;
/* The old entry @index goes into the group that is put next. */
void gc_writer_entry(struct gc_writer *w, u32 index, u32 raw_off);
/* A group of the entries just added; @h has all but the number of bases. */
int gc_writer_group(struct gc_writer *w, struct group_header *h,
		    const u8 *payload, size_t len, struct akin_diag *diag)
	__must_check;
enum codec_gain gc_writer_gain(const struct gc_writer *w);

/*
 * Group @index, which has references and is kept in whole or in part, against
 * what is needed anyway, if that frees more than it takes: 1; or 0, and nothing
 * has happened. No group may be open.
 */
int gc_rebase(struct gc_writer *w, u32 index, bool whole,
	      struct akin_diag *diag) __must_check;

#endif
