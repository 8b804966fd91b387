/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running reclaim; shared by the files of gc/.
 *
 * gc.c          the order of things
 * gc_marks.c    bits
 * gc_walk.c     from roots to live entries
 * gc_closure.c  what live groups stand on
 * gc_plan.c     what is dead, what is worth copying
 * gc_delete.c   condemning, testing, un-naming, unlinking
 * gc_copy.c     new generations: in what order
 * gc_write.c    one new generation
 * gc_rebase.c   its groups that stand on what nothing else needs
 * gc_choose.c   what they are made of instead
 * gc_heirs.c    what resembles it
 * gc_sweep.c    files that nobody names, tombstones
 */
#ifndef GC_INTERNAL_H
#define GC_INTERNAL_H

#include "base/numset.h"
#include "gc/gc.h"
#include "gc/gc_marks.h"
#include "os/spill.h"
#include "verify/verify_seen.h"

/* A piece of a recipe on the way down. */
struct gc_frame {
	struct recipe_piece piece;
	struct buf bytes;
	struct hint hint;
	u32 next;		/* child to go on with */
};

/* A container that is partly dead. */
struct gc_candidate {
	u64 number;
	u32 generation;
	/* Sizes in bytes; there may be one of these for each container. */
	u32 file_bytes, dead_bytes;
	u32 lone_bytes;		/* of it, that only others stand on */
	u32 delta_bytes;	/* live groups with references */
	u32 leans;		/* references to such bytes elsewhere */
};

struct gc_heirs;

struct gc {
	const struct gc_options *opt;
	struct depot *depot;
	struct catalog *catalog;
	struct gc_result *result;
	struct gc_progress progress;
	u64 said_ns;
	unsigned threshold;

	struct gc_marks *marks;
	struct verify_seen *seen;	/* pieces out of the marks' range */
	u64 marked;			/* all roots up to this transaction */
	u64 last_container;		/* there was then */
	struct numset rooted;		/* sessions whose containers are roots */
	struct numset interrupted;	/* those of them that are dead */
	/* References into containers below the range: this pass's, and those
	 * that the passes before have left for it. NULL: none. */
	struct spill *below, *above;

	/* The plan, of the marks' range. */
	u64 *dead;			/* numbers, descending */
	u32 nr_dead, cap_dead;
	struct gc_candidate *candidates;	/* in the order of copying */
	u32 nr_candidates, cap_candidates;
	u64 slack_bytes;	/* gc_copy.c */
	/* Groups leave bases that only they need, for what is in @heirs. */
	bool leaving;
	struct gc_heirs *heirs;
	u64 *unlearned;		/* containers to be looked at for more of them,
				 * descending */
	u32 nr_unlearned;
	u64 batch_first;	/* lowest container of this batch */

	u64 condemned;		/* the last transaction that did; 0: none */
	bool held;		/* somebody may still read what was condemned */
	bool buried;		/* missing tombstones have been written */
	bool refs_dropped;	/* what they named may be dead now */
	u64 written_bytes;

	struct fp fps[RECIPE_LEAF_MAX];
	struct dir_hit hits[RECIPE_LEAF_MAX];
	struct gc_frame frames[RECIPE_MAX_LEVEL + 1];
};

/* Report progress if it is time; -AKIN_E_interrupted if asked to stop. */
int gc_tick(struct gc *g, struct akin_diag *diag) __must_check;
void gc_at(struct gc *g, enum gc_point point);

/* All roots, and what they stand on; again and again adds what is new. */
int gc_mark(struct gc *g, struct akin_diag *diag) __must_check;
int gc_walk_snapshot(struct gc *g, const struct snapshot *s,
		     struct akin_diag *diag) __must_check;
int gc_close(struct gc *g, struct akin_diag *diag) __must_check;

/* Roots have been added: mark and plan once more. @before: the figures without
 * this pass's plan. */
int gc_mark_again(struct gc *g, const struct gc_result *before,
		  struct akin_diag *diag) __must_check;
/* Fills dead and candidates. */
int gc_plan(struct gc *g, struct akin_diag *diag) __must_check;
/* Is anything in group @index live? */
bool gc_has_live(const struct directory *d, u32 index,
		 const struct gc_bits *b);
/* Bytes of group @i that entries not kept take, about. */
u64 gc_dead_bytes(const struct directory *d, u32 i, const struct gc_bits *b);

/* 1: done; 0: roots were added, mark again; or an error. */
int gc_condemn_dead(struct gc *g, struct akin_diag *diag) __must_check;
/* Delete what is condemned and no longer locked. *held_ret: something is. */
int gc_delete(struct gc *g, bool *held_ret, struct akin_diag *diag)
	__must_check;
/* A file that is ours to remove: best effort, the next sweep finds it. */
void gc_unlink(struct gc *g, u64 container, u32 generation, u64 *bytes_ret);

/* All that is worth it, in batches. */
int gc_copy(struct gc *g, const struct gc_result *before,
	    struct akin_diag *diag) __must_check;
/*
 * Write @s->to of @s->number with what is kept of @s->from, durably; fills the
 * figures. *left_ret: groups that have left bases. 1: nothing was written; it
 * can be when containers before it have been switched, and their old
 * generations deleted.
 */
int gc_write(struct gc *g, struct catalog_switch *s, u32 *left_ret,
	     struct akin_diag *diag) __must_check;

/* Heirs in the containers below @number, if that was not done before. */
int gc_learn_heirs(struct gc *g, u64 number, struct akin_diag *diag)
	__must_check;

int gc_sweep(struct gc *g, struct akin_diag *diag) __must_check;
/* Tombstones of what is forgotten. */
int gc_bury_forgotten(struct gc *g, struct akin_diag *diag) __must_check;

#endif
