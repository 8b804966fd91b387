/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching with a comparison.
 *
 * A batch goes through four steps: every hit's entry is taken from its
 * directory; what can be compared at once is (a wrong length, the lane's own
 * open group); the rest is sorted by (container, group) and each group fetched
 * and compared, by the workers if it is not in the cache; then each chunk's
 * verdict is acted on, in the order of the stream.
 *
 * I1. Groups are on the workers only while compare() waits, so that their work
 *     items and what they point to can lie in the matcher.
 * I2. Two workers never write the verdict of one chunk: a chunk has one group.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "ingest/match_ahead.h"
#include "ingest/match_log.h"
#include "ingest/match_verify.h"
#include "ingest/session_internal.h"

#define MAX_SALT 255

enum verdict {
	MATCH_NONE = 0,		/* not found, or not compared yet */
	MATCH_EQUAL,
	MATCH_DIFFERS,
	MATCH_UNREADABLE,	/* remembered as damaged */
	MATCH_GONE,		/* cannot be had now; no damage */
};

struct match_chunk {
	struct place bad;	/* a copy that is none; container 0: no such */
	struct place other;	/* who has the usual fingerprint, if salted */
	int code;		/* UNREADABLE: why */
	u8 verdict;
	u8 salt;
};

struct match_order {
	u64 key;		/* container and group */
	u32 k;
};

struct match_group {
	struct work work;
	struct lane *lane;
	const struct match_order *first;
	u32 nr;
	const struct group_data *data;	/* if it was in the cache */
	int err;
	struct akin_diag diag;
};

struct matcher {
	struct session *session;
	struct match_chunk *chunks;
	struct dir_found *at;		/* of the hits */
	struct match_order *order;
	struct match_group *groups;
	u32 cap, nr_order, nr_groups;
	struct match_ahead *ahead;	/* NULL: done without */

	pthread_mutex_t lock;	/* guards nr_running */
	pthread_cond_t ended;
	u32 nr_running;
};

#define GROUP_BITS 14
static_assert(CONTAINER_MAX_GROUPS <= 1 << GROUP_BITS,
	      "a key must hold container and group");

static u64 key_of(u64 container, u32 group)
{
	return container << GROUP_BITS | group;
}

static struct group_at group_of(u64 key)
{
	return (struct group_at){ key >> GROUP_BITS,
				  (u32)key & ((1 << GROUP_BITS) - 1) };
}

int matcher_new(struct session *s, struct matcher **out,
		struct akin_diag *diag)
{
	struct matcher *m = mem_zalloc(sizeof(*m));

	if (!m)
		return diag_set(diag, -AKIN_E_nomem, "stream");
	m->session = s;
	m->ahead = match_ahead_new(s->depot);
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->ended, NULL);
	*out = m;
	return 0;
}

void matcher_free(struct matcher *m)
{
	if (!m)
		return;
	match_ahead_free(m->ahead);
	mem_free(m->chunks);
	mem_free(m->at);
	mem_free(m->order);
	mem_free(m->groups);
	pthread_cond_destroy(&m->ended);
	pthread_mutex_destroy(&m->lock);
	mem_free(m);
}

size_t matcher_chunk_bytes(void)
{
	/* A group has some ten chunks, but each may be in one of its own. */
	return sizeof(struct match_chunk) + sizeof(struct dir_found) +
	       sizeof(struct match_order) + sizeof(struct match_group);
}

static int need(struct matcher *m, u32 n, struct akin_diag *diag)
{
	u32 cap = m->cap ? m->cap : 128;

	if (n <= m->cap)
		return 0;
	while (cap < n)
		cap *= 2;
	mem_free(m->chunks);
	mem_free(m->at);
	mem_free(m->order);
	mem_free(m->groups);
	m->cap = 0;
	m->chunks = mem_calloc(cap, sizeof(*m->chunks));
	m->at = mem_calloc(cap, sizeof(*m->at));
	m->order = mem_calloc(cap, sizeof(*m->order));
	m->groups = mem_calloc(cap, sizeof(*m->groups));
	if (!m->chunks || !m->at || !m->order || !m->groups)
		return diag_set(diag, -AKIN_E_nomem, "batch");
	m->cap = cap;
	return 0;
}

/* One chunk against the bytes stored for it. */
static void compare_bytes(struct lane *l, u32 k, const u8 *stored)
{
	const struct hash_item *item = &l->items[k];
	struct match_chunk *c = &l->matcher->chunks[k];
	struct fp fp;

	if (memcmp(stored, item->data, item->len) == 0) {
		c->verdict = MATCH_EQUAL;
		return;
	}
	/* It may have been stored wrong, or gone bad in memory. */
	hasher_salted(l->session->depot->data_hasher, l->matcher->at[k].entry.fp_salt,
		      stored, item->len, &fp);
	c->verdict = fp_equal(&fp, &l->fps[k]) ? MATCH_DIFFERS :
						 MATCH_UNREADABLE;
	c->code = -AKIN_E_bad_fp;
}

static void compare_group(struct match_group *g, const struct group_data *data)
{
	struct lane *l = g->lane;
	const struct dir_entry *at;
	u32 i, k;

	for (i = 0; i < g->nr; i++) {
		k = g->first[i].k;
		at = &l->matcher->at[k].entry;
		/* Unless the container has another generation by now. */
		if (data->generation == l->matcher->at[k].generation &&
		    at->raw_off + at->len <= data->raw_len)
			compare_bytes(l, k, data->raw + at->raw_off);
		else
			l->matcher->chunks[k].verdict = MATCH_GONE;
	}
}

static void fetch_group(struct match_group *g, struct decoder *dec)
{
	struct groupcache *gc = g->lane->session->depot->groups;
	const struct group_data *data;

	/* Fingerprints would prove what the comparison proves. */
	g->err = groupcache_get_raw(gc, dec, g->first->key >> GROUP_BITS,
				    g->first->key & ((1 << GROUP_BITS) - 1),
				    &data, &g->diag);
	if (g->err)
		return;
	compare_group(g, data);
	groupcache_put(gc, data);
}

static void group_run(struct work *work, void *thread_ctx)
{
	struct match_group *g = container_of(work, struct match_group, work);
	struct matcher *m = g->lane->matcher;

	fetch_group(g, thread_ctx);
	/* After the unlock the next batch may be at it. I1 */
	pthread_mutex_lock(&m->lock);
	if (--m->nr_running == 0)
		pthread_cond_signal(&m->ended);
	pthread_mutex_unlock(&m->lock);
}

/* Is the hit in the group that this lane is filling? */
static bool in_open_group(const struct packer *p, u64 container, u32 entry)
{
	return p->sc && p->sc->number == container && p->nr_chunks &&
	       entry >= container_writer_nr_entries(p->sc->writer) -
				p->nr_chunks;
}

/* Is there something to compare it with, and has it not been? */
static bool is_open(const struct lane *l, u32 k)
{
	return l->hits[k].container &&
	       l->matcher->chunks[k].verdict != MATCH_EQUAL;
}

/* What needs no group: decided here. The others go into the order. */
static void classify(struct lane *l, u32 k)
{
	const struct dir_hit *hit = &l->hits[k];
	struct matcher *m = l->matcher;
	struct match_chunk *c = &m->chunks[k];
	const struct dir_entry *at = &m->at[k].entry;

	if (hit->container && c->verdict == MATCH_EQUAL)
		return;
	c->verdict = MATCH_NONE;
	if (!hit->container)
		return;
	if (!at->len || !fp_equal(&at->fp, &l->fps[k]) ||
	    (c->bad.container == hit->container && c->bad.entry == hit->entry))
		c->verdict = MATCH_GONE;
	else if (at->len != l->items[k].len)
		c->verdict = MATCH_DIFFERS;
	else if (in_open_group(&l->data_packer, hit->container, hit->entry))
		compare_bytes(l, k, l->data_packer.raw + at->raw_off);
	else
		m->order[m->nr_order++] = (struct match_order){
			key_of(hit->container, at->group), k };
}

static int order_cmp(const void *a, const void *b)
{
	const struct match_order *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->k < y->k ? -1 : x->k > y->k;
}

/* Runs of the order that have one key. Data comes back in the order in which
 * it was stored, mostly, and is sorted already. */
static void make_groups(struct lane *l)
{
	struct matcher *m = l->matcher;
	struct match_group *g = NULL;
	bool sorted = true;
	u32 i;

	for (i = 1; i < m->nr_order; i++)
		sorted &= m->order[i - 1].key <= m->order[i].key;
	if (!sorted)
		qsort(m->order, m->nr_order, sizeof(*m->order), order_cmp);
	m->nr_groups = 0;
	for (i = 0; i < m->nr_order; i++) {
		if (!g || g->first->key != m->order[i].key) {
			g = &m->groups[m->nr_groups++];
			memset(g, 0, offsetof(struct match_group, diag));
			g->diag.code = 0;
			g->lane = l;
			g->first = &m->order[i];
			g->work.run = group_run;
		}
		g->nr++;
	}
}

/* Compare them all: those in the cache here, the others meanwhile there. */
static void run_groups(struct lane *l)
{
	struct depot *d = l->session->depot;
	struct matcher *m = l->matcher;
	struct match_group *g;
	u32 i;

	for (i = 0; i < m->nr_groups; i++) {
		g = &m->groups[i];
		g->data = groupcache_find(d->groups,
					  g->first->key >> GROUP_BITS,
					  g->first->key &
						  ((1 << GROUP_BITS) - 1));
		if (g->data)
			continue;
		pthread_mutex_lock(&m->lock);
		m->nr_running++;
		pthread_mutex_unlock(&m->lock);
		workers_queue(d->workers, &g->work);
	}
	for (i = 0; i < m->nr_groups; i++) {
		g = &m->groups[i];
		if (!g->data)
			continue;
		compare_group(g, g->data);
		groupcache_put(d->groups, g->data);
	}
	pthread_mutex_lock(&m->lock);
	while (m->nr_running > 0)
		pthread_cond_wait(&m->ended, &m->lock);
	pthread_mutex_unlock(&m->lock);
}

/* The copy cannot be had (true), or we cannot tell (false). */
static bool is_no_copy(int err)
{
	switch (akin_error_class(err)) {
	case AKIN_CLASS_CORRUPT:
	case AKIN_CLASS_IO:
	case AKIN_CLASS_ABSENT:
	case AKIN_CLASS_UNSUPPORTED:
	case AKIN_CLASS_DENIED:
	case AKIN_CLASS_BUSY:
		return true;
	default:
		return false;
	}
}

/* Those of a group that could not be had. */
static int judge_group(struct match_group *g, struct akin_diag *diag)
{
	enum akin_error_class class = akin_error_class(g->err);
	struct match_chunk *c;
	u32 i;

	if (!g->err)
		return 0;
	if (!is_no_copy(g->err))
		return diag_set(diag, g->err, "comparing with what is stored: "
				"%s", g->diag.code ? g->diag.text :
				akin_strerror(g->err));
	for (i = 0; i < g->nr; i++) {
		c = &g->lane->matcher->chunks[g->first[i].k];
		c->verdict = class == AKIN_CLASS_BUSY ||
					     class == AKIN_CLASS_DENIED ?
				     MATCH_GONE : MATCH_UNREADABLE;
		c->code = g->err;
	}
	return 0;
}

/* Verdicts of chunks [from, from + n) that have hits; equal they stay. */
static int compare(struct lane *l, u32 from, u32 n, struct akin_diag *diag)
{
	struct matcher *m = l->matcher;
	u32 i, before = 0, after = 0;
	int err = 0;

	for (i = 0; i < n; i++)
		before += m->chunks[from + i].verdict == MATCH_EQUAL;
	dircache_entries(l->session->depot->dirs, l->hits + from, n,
			 m->at + from);
	m->nr_order = 0;
	for (i = 0; i < n; i++)
		classify(l, from + i);
	make_groups(l);
	run_groups(l);
	for (i = 0; !err && i < m->nr_groups; i++)
		err = judge_group(&m->groups[i], diag);
	for (i = 0; i < n; i++)
		after += m->chunks[from + i].verdict == MATCH_EQUAL ||
			 m->chunks[from + i].verdict == MATCH_DIFFERS;
	match_log_compared(l->session, after - before);
	return err;
}

/* It is no match, and found again it is none either. */
static void refuse(struct lane *l, u32 k)
{
	struct match_chunk *c = &l->matcher->chunks[k];
	struct dir_hit *hit = &l->hits[k];

	if (c->verdict == MATCH_UNREADABLE)
		match_log_unreadable(l->session, hit, &l->fps[k], c->code);
	c->bad.container = hit->container;
	c->bad.entry = hit->entry;
	hit->container = 0;
}

/* Our own bytes must still be those that were fingerprinted: nothing else makes
 * fingerprints collide. */
static int check_own(struct lane *l, u32 k, struct akin_diag *diag)
{
	const struct hash_item *item = &l->items[k];
	struct fp fp;

	hasher_salted(l->session->depot->data_hasher,
		      l->matcher->chunks[k].salt, item->data, item->len, &fp);
	if (fp_equal(&fp, &l->fps[k]))
		return 0;
	return diag_set(diag, -AKIN_E_internal, "%u bytes changed in memory "
			"after they were read: this machine's memory cannot "
			"be trusted", item->len);
}

/* Chunk @k's fingerprint belongs to others: take the next one, and so on. */
static int go_apart(struct lane *l, u32 k, struct akin_diag *diag)
{
	struct depot *d = l->session->depot;
	const struct hash_item *item = &l->items[k];
	struct match_chunk *c = &l->matcher->chunks[k];
	int err;

	err = check_own(l, k, diag);
	if (!err && c->salt == 0) {
		c->other.container = l->hits[k].container;
		c->other.entry = l->hits[k].entry;
		match_log_collided(l->session);
	}
	while (!err && c->verdict == MATCH_DIFFERS) {
		if (c->salt == MAX_SALT)
			return diag_set(diag, -AKIN_E_internal, "%u chunks "
					"with one fingerprint: the hash does "
					"not work", MAX_SALT + 1);
		c->salt++;
		hasher_salted(d->data_hasher, c->salt, item->data, item->len,
			      &l->fps[k]);
		err = depot_find(d, &l->fps[k], 1, &l->hits[k], diag);
		if (!err)
			err = compare(l, k, 1, diag);
	}
	if (err)
		return err;
	if (c->verdict == MATCH_UNREADABLE || c->verdict == MATCH_GONE)
		refuse(l, k);
	return 0;
}

static int act(struct lane *l, u32 k, struct akin_diag *diag)
{
	switch (l->hits[k].container ? l->matcher->chunks[k].verdict :
				       MATCH_NONE) {
	case MATCH_UNREADABLE:
	case MATCH_GONE:
		refuse(l, k);
		return 0;
	case MATCH_DIFFERS:
		return go_apart(l, k, diag);
	default:
		return 0;
	}
}

int match_more(struct lane *l, u32 from, u32 n, struct akin_diag *diag)
{
	u32 k = from, end = from + n;
	int err;

	while (k < end && !is_open(l, k))
		k++;
	if (k == end)
		return 0;
	from = k;
	err = compare(l, from, end - from, diag);
	for (; !err && k < end; k++)
		err = act(l, k, diag);
	return err;
}

int match_batch(struct lane *l, struct akin_diag *diag)
{
	struct matcher *m = l->matcher;
	int err;

	err = need(m, l->nr_chunks, diag);
	if (err || !l->nr_chunks)
		return err;
	memset(m->chunks, 0, l->nr_chunks * sizeof(*m->chunks));
	m->nr_groups = 0;
	err = match_more(l, 0, l->nr_chunks, diag);
	if (!err && m->nr_groups)
		match_ahead_note(m->ahead, group_of(m->groups[0].first->key),
				 group_of(m->groups[m->nr_groups - 1].first->key),
				 m->nr_groups);
	return err;
}

void match_stored(struct lane *l, u32 k)
{
	struct match_chunk *c = &l->matcher->chunks[k];
	struct container_writer *w = l->data_packer.sc->writer;

	if (!c->salt)
		return;
	container_writer_salt(w, container_writer_nr_entries(w) - 1, c->salt);
	match_log_apart(l->session, &c->other, l->items[k].len, c->salt);
}
