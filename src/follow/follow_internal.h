/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by follow.c (the cursor), follow_read.c (reading the predecessor),
 * follow_window.c (what of it is in memory), follow_lead.c (finding one),
 * follow_probe.c (finding a hit to begin with) and follow_near.c (what lies
 * near).
 */
#ifndef FOLLOW_INTERNAL_H
#define FOLLOW_INTERNAL_H

#include "follow/follow.h"
#include "recipe/recipe_reader.h"

/* 24 MiB of average chunks: as far as a change may move what follows it and
 * still be seen through without the index. */
#define WINDOW_CHUNKS 3072
#define WINDOW_LEAVES 256

/* A chunk entry of the predecessor. */
struct old_chunk {
	struct fp fp;
	u64 off, end;		/* in the predecessor; all repetitions */
	u64 container;		/* its place, 0: not known */
	u32 entry;
	u32 len;		/* of one repetition */
	u32 leaf;		/* in the window */
	bool looked;		/* its place was looked for in vain */
};

struct old_leaf {
	struct fp fp;		/* zeros: entries of no leaf */
	u64 off, end;
	u32 first, nr;		/* chunks, in the window */
	struct hint hint;	/* owned */
};

/*
 * A part of the predecessor: leaves that follow each other, their chunks, and
 * a table from fingerprints to these.
 */
struct window {
	u64 off, end;		/* bytes of the predecessor that it covers */
	struct old_chunk *chunks;
	u32 nr, cap;
	struct old_leaf *leaves;
	u32 nr_leaves, cap_leaves;
	u16 *table;		/* open addressing: index + 1; 0: free */
	u32 mask;
};

void window_release(struct window *w);
/* Empty, and goes on at byte @off. */
void window_reset(struct window *w, u64 off);
bool window_is_full(const struct window *w);
/* Append; the window must not be full. On failure it is as before. */
int window_add_leaf(struct window *w, const struct fp *fp,
		    const struct recipe_entry *e, u32 nr,
		    const struct hint *hint) __must_check;
/* The same with entries of a container as they lie there; no more than a leaf
 * may have. */
int window_add_entries(struct window *w, const struct dir_entry *e, u32 nr,
		       u64 container) __must_check;
/* Leaves that end before byte @off go, if it is worth it or @need says so. */
void window_drop(struct window *w, u64 off, bool need);
/* The chunk with this fingerprint that is nearest to byte @off, or -1. */
long window_find(const struct window *w, const struct fp *fp, u64 off);
/* The first chunk that ends behind byte @off; w->nr: there is none. */
u32 window_at(const struct window *w, u64 off);

/* A chunk of the batch. */
struct new_chunk {
	u64 off;
	u32 len;
	s32 old;		/* an equal one in the window, or -1 */
	bool anchor;		/* that one corresponds to this one */
	bool missing;		/* memory did not have it */
	s32 before, after;	/* the nearest anchors, itself excluded, or -1 */
};

/* A container whose directory was asked for all of the window up to byte @end:
 * what has no place since then is not in it. */
struct asked {
	u64 container, end;
};
/* As many as the leaves of a window name, of what was stored lately. */
#define ASKED_MAX 32

/* Containers that led nowhere lately. */
#define LEAD_DEAD 16

struct follow {
	struct depot *depot;
	struct decoder dec;
	bool have_dec;
	struct follow_stats stats;

	struct predecessor *pred;	/* NULL: nothing is followed */
	/* Known by name; what hits led to may be left for it again. */
	struct predecessor *home;
	s64 home_drift;
	u64 newest;		/* hits in containers above this are news */
	/* Reading it: opened when it is first needed. */
	struct recipe_reader *reader;
	u32 next_entry;		/* of the container, instead */
	bool all_read;		/* the window reaches to the end */
	struct window win;
	s64 drift;		/* old offset minus new offset */
	u64 anchor;		/* old offset behind the last one */
	bool stretched;		/* the window was filled to find the way */
	struct fp piece;	/* read last */
	bool piece_open;	/* it may be a node */
	struct fp nodes[2];	/* read last */
	u32 nr_nodes;
	struct asked asked[ASKED_MAX];
	u32 next_asked;

	/* The batch. */
	struct new_chunk *chunks;
	const struct fp *fps;
	u32 nr, cap;
	bool near;		/* places near new ones are wanted */
	s64 drift_before;	/* of the batch's first chunk */

	/* In bytes of the stream, all objects. */
	u64 fed, synced, next_lead, lead_pause, next_probe, probe_pause;
	u32 loads_left;
	u64 own;		/* first container of this session, or 0 */
	u64 dead[LEAD_DEAD];
	u32 next_dead;
};

/* Where byte @off of the object is in the predecessor. Recipes that lie can make
 * any number of it; all it does is select. */
static inline u64 follow_shifted(u64 off, s64 drift)
{
	u64 back = 0 - (u64)drift;

	if (drift < 0)
		return off > back ? off - back : 0;
	return off + (u64)drift;
}

/* Follow @p (taken) from where its byte @old is byte @new_off here. */
void follow_switch(struct follow *f, struct predecessor *p, u64 old,
		   u64 new_off);
bool follow_need_decoder(struct follow *f);
/* Byte offset of entry @index among all of the directory. */
u64 follow_entry_off(const struct directory *d, u32 index);
/* Begin reading anew. */
void follow_rewind(struct follow *f);
/* Go on at or before byte @off, which is in it, with an empty window; false if
 * it cannot be read. */
bool follow_jump(struct follow *f, u64 off);
/* The next leaf into the window, which must not be full. */
bool follow_read(struct follow *f);
/* May a directory be read? Counts it. */
bool follow_may_load(struct follow *f);

/* Is it a hit that the window does not have? */
static inline bool follow_is_stray(const struct follow *f, u32 k,
				   const struct dir_hit *hit)
{
	return hit->container && f->chunks[k].old < 0;
}

/* Was it stored by this session, or later? */
static inline bool follow_is_own(const struct follow *f, u64 container)
{
	return f->own && container >= f->own;
}

/*
 * Find a predecessor by stray hits, those in the newest containers first;
 * @news: above f->newest and not of this session only. False: nothing has
 * changed.
 */
bool follow_lead(struct follow *f, const struct dir_hit *hits, bool news);

/* May the runs on disk be asked now? */
bool follow_may_probe(const struct follow *f);
/* Ask them for some of the batch's chunks that nobody knows; true: some are
 * hits now. */
bool follow_probe(struct follow *f, struct dir_hit *hits);

/* The places of window chunks [from, to), as far as directories in memory have
 * them. */
void follow_resolve(struct follow *f, u32 from, u32 to);
/* The place of window chunk @i: false if it is not had cheaply. */
bool follow_place(struct follow *f, u32 i);
/* Look up the places that follow_near() will give. */
void follow_prepare_near(struct follow *f);

#endif
