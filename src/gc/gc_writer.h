/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new generation being written: shared by gc_write.c (the file), gc_rebase.c
 * (groups with references) and gc_choose.c (what these are made of).
 */
#ifndef GC_WRITER_H
#define GC_WRITER_H

#include "container/container_reader.h"
#include "gc/gc_heirs.h"
#include "gc/gc_internal.h"

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
	u32 left;		/* groups that have left bases */
	u32 cap_bases;
	/* Gathered from groups that are kept in part. */
	u8 *raw, *packed;
	u32 raw_cap, raw_len;
	u32 group_number;	/* of the first of them */
	struct group_chunk *chunks;
	u32 nr_chunks;
	struct rebase *rebase;	/* gc_rebase.c; made when it is needed */
};

/* Room for a raw group of @len bytes, and for what it compresses to. */
int gc_writer_need(struct gc_writer *w, u32 len, struct akin_diag *diag)
	__must_check;
/* What has gathered becomes a group. */
int gc_writer_close(struct gc_writer *w, struct akin_diag *diag) __must_check;
/* The old entry @index goes into the group that is put next. */
void gc_writer_entry(struct gc_writer *w, u32 index, u32 raw_off);
/* A group of the entries just added; @h has all but the number of bases. */
int gc_writer_group(struct gc_writer *w, struct group_header *h,
		    const u8 *payload, size_t len, struct akin_diag *diag)
	__must_check;
enum codec_gain gc_writer_gain(const struct gc_writer *w);

enum gc_rebased {
	GC_REBASE_NOT,		/* it may be copied as it is, if it is whole */
	GC_REBASE_DONE,		/* written */
	GC_REBASE_PLAIN,	/* is to be written without references */
	GC_REBASE_LATER,	/* what it is to be made of is not settled */
};

/*
 * Group @index, which has references and is kept in whole or in part: against
 * what stays of its references, and heirs of what does not. One of the above,
 * or an error.
 */
int gc_rebase(struct gc_writer *w, u32 index, bool whole,
	      struct akin_diag *diag) __must_check;
/* Group @index has no references: others may be made of it. */
int gc_rebase_learn(struct gc_writer *w, u32 index, struct akin_diag *diag)
	__must_check;
/* NULL is fine. */
void gc_rebase_free(struct rebase *rb);

/* References being chosen -----------------------------------------------------
 *
 * A prefix of not more than GC_REFS_BYTES times the group size, out of not more
 * than GC_REFS_GROUPS groups, as backups have them (ingest/session_refs.c).
 */
#define GC_REFS_BYTES 3
#define GC_REFS_GROUPS 16

struct gc_choice {
	u64 container;
	u32 entry;
	u32 len;
};

/* Chunks of the usual size in a prefix, and room for smaller ones. */
#define GC_CHOICES_MAX 256

struct gc_choices {
	struct gc_writer *w;
	u8 depth_max;		/* theirs must be below */
	u8 depth;		/* that they give */
	bool unsettled;		/* a later batch could choose more */
	struct gc_choice at[GC_CHOICES_MAX];
	u32 nr;
	u32 bytes, max_bytes;
	struct { u64 container; u32 group; } groups[GC_REFS_GROUPS];
	u32 nr_groups;
};

/* Is it kept for nothing but groups that will be written anew? */
bool gc_is_left(struct gc *g, u64 container, u32 entry);
/* These, one for each chunk (or none), and what lies beside them; to be called
 * before the other. Directories that cannot be read are done without. */
void gc_choose_heirs(struct gc_choices *c, const struct gc_heir *heirs, u32 nr);
/* What stays of @old's references, or all of them. */
void gc_choose_old(struct gc_choices *c, const struct group_header *old,
		   bool all);

#endif
