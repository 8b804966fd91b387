/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of estimate share.
 *
 * Data and what is said about it become events in a batch. While one batch is
 * being filled, the one before is worked on: by each method, and by the pool
 * for references, all of which go through all events in order, each on some
 * thread; when they are through, the places learn what was found about their
 * files. So counts do not depend on threads; sizes do by a trifle, since codecs
 * learn from what they were given before.
 */
#ifndef ESTIMATE_INTERNAL_H
#define ESTIMATE_INTERNAL_H

#include <pthread.h>

#include "base/workers.h"
#include "chunk/chunk.h"
#include "codec/codec.h"
#include "estimate.h"

/* Of a method's buffer and of a batch. */
#define ESTIMATE_BUFFER ((size_t)1 << 20)
/* Of a pool. */
#define ESTIMATE_GROUP (128u << 10)

enum event_type {
	EVENT_ENTER, EVENT_LEAVE,	/* a directory */
	EVENT_BEGIN,			/* a file */
	EVENT_CUT,			/* what follows lies elsewhere in it */
	EVENT_DATA,
	EVENT_END,
};

struct event {
	u8 type;
	bool whole;		/* CUT: nothing was left out before;
				 * END: nor behind */
	u32 len;		/* DATA */
	u32 path, key;		/* where in the batch's names; BEGIN, ENTER */
	u32 cluster;		/* CUT */
	u64 off;		/* CUT: in the file */
	u64 bytes;		/* END: of the file, as read */
	/* END, by the method of pools: of the file's bytes those that were
	 * new, and of some groups of these, raw and compressed sizes. */
	u64 fresh, raw, out;
};

#define BATCH_EVENTS 2048
#define BATCH_NAMES ((size_t)256 << 10)

struct batch {
	u8 *data;		/* ESTIMATE_BUFFER */
	char *names;		/* BATCH_NAMES */
	struct event *events;
	size_t len, names_len;
	u32 nr;
};

/* What a thread has. */
struct estimate_tools {
	struct codec_ctx *codecs[ESTIMATE_NR_CODECS];
	struct chunk_scratch *scratch;
	u32 *lens;
	size_t max_lens;
	u8 *out;		/* of a codec */
};

/* Somebody who goes through the events of every batch. */
struct consumer {
	struct work work;
	struct estimate *e;
	int (*consume)(struct consumer *c, struct batch *b,
		       struct estimate_tools *tools, struct akin_diag *diag);
	int err;
	struct akin_diag diag;
};

struct unit_result {
	u64 fp;
	u32 raw, out[ESTIMATE_NR_CODECS];
};

#define RECENT 4096
#define CLUSTERS 1024

struct method {
	struct consumer consumer;
	const struct estimate_method *is;
	struct chunker *chunker;
	struct estimate_set set;
	u64 seed;
	u8 *buf;		/* ESTIMATE_BUFFER */
	size_t len;
	bool skip;		/* the next chunk begins somewhere */
	u8 *unit;
	size_t unit_len, unit_size;
	u64 unit_fp;		/* of its first block */
	struct unit_result *units;
	u32 nr_units;
	unsigned unit_level;
	u64 units_raw, sample;	/* bytes of them, and how many there may be */
	/* Once not all are remembered: was the last one that would be new? What
	 * was seen lately is not, in any case. */
	bool new;
	u64 *recent;		/* RECENT */
	u64 bytes, blocks;
	u64 region;		/* of a cluster, at most; 0: all is read */
	u64 *clusters;		/* CLUSTERS: bytes of each; NULL likewise */
	/* Since the last END. */
	u64 fresh, raw, out;
};

struct estimate_top;
struct estimate_scratch;

struct estimate {
	struct method methods[ESTIMATE_NR_METHODS];
	struct estimate_scratch *scratch;	/* NULL: no references */
	struct estimate_top *top;
	struct workers *workers;
	struct batch batches[2], *filling, *working;
	pthread_mutex_t lock;
	pthread_cond_t done;
	u32 pending;		/* consumers at work; under @lock */
	/* The file that is being fed. */
	u64 key_hash, file_bytes;
	u64 fed_end;		/* where in the file what was fed last ends */
	u64 seed, total;
	double share;		/* 1: all */
	u64 region;		/* bytes of a cluster, at most */
	struct estimate_state *states;
	u32 nr_states;
	u64 state_bytes, state_unique;	/* at the last one's end */
};

/*
 * Is a unit among those that stand for all? By other bits of its fingerprint
 * than the set goes by: what stays in the set is alike in those. Blocks must be
 * in the set, too, and it may have forgotten them since.
 */
static inline bool estimate_unit_counts(const struct method *m, u64 fp)
{
	if ((fp >> 32 & (((u64)1 << m->unit_level) - 1)) != 0)
		return false;
	return !m->is->fixed || (fp & (((u64)1 << m->set.level) - 1)) == 0;
}

/* estimate_method.c */
struct estimate_tools *estimate_tools_new(struct akin_diag *diag);
void estimate_tools_free(void *tools);
int estimate_method_init(struct method *m, const struct estimate_method *is,
			 const struct estimate_options *opt, u64 set_bytes,
			 struct akin_diag *diag) __must_check;
void estimate_method_release(struct method *m);
int estimate_method_finish(struct method *m, struct estimate_tools *tools,
			   struct akin_diag *diag) __must_check;

static inline const char *event_name(const struct batch *b, u32 at)
{
	return b->names + at;
}

#endif
