/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group cache: chained hash table and a list in order of last use.
 */
#include <pthread.h>

#include "base/check.h"
#include "base/mem.h"
#include "cache/groupcache.h"

#define NR_BUCKETS 1024

enum entry_state { ENTRY_DECODING, ENTRY_READY, ENTRY_FAILED };

struct entry {
	struct group_data data;	/* first member: handed out */
	enum entry_state state;
	u32 pins;
	u8 *raw;
	int err;
	struct akin_diag *why;		/* FAILED; NULL if out of memory */
	size_t bytes;			/* counted, with the entry itself */
	struct entry *chain;		/* in its bucket */
	struct entry *prev, *next;	/* by last use, unpinned ones only */
};

struct groupcache {
	struct groupcache_options opt;
	pthread_mutex_t lock;	/* guards all; not held while decoding */
	pthread_cond_t decoded;
	struct entry *buckets[NR_BUCKETS];
	struct entry *oldest, *newest;
	struct groupcache_stats stats;
	u64 read_bytes;		/* atomic; belongs to the stats */
};

int decoder_init(struct decoder *d, const struct codec_choice *choice,
		 struct akin_diag *diag)
{
	int err;

	memset(d, 0, sizeof(*d));
	err = codec_ctx_new(choice, &d->codec, diag);
	if (!err)
		err = hash_scratch_new(&d->scratch, diag);
	if (err)
		decoder_release(d);
	return err;
}

void decoder_release(struct decoder *d)
{
	codec_ctx_free(d->codec);
	hash_scratch_free(d->scratch);
	memset(d, 0, sizeof(*d));
}

int groupcache_new(const struct groupcache_options *opt,
		   struct groupcache **out, struct akin_diag *diag)
{
	struct groupcache *gc;

	gc = mem_zalloc(sizeof(*gc));
	if (!gc)
		return diag_set(diag, -AKIN_E_nomem, "group cache");
	gc->opt = *opt;
	pthread_mutex_init(&gc->lock, NULL);
	pthread_cond_init(&gc->decoded, NULL);
	*out = gc;
	return 0;
}

static u32 bucket_of(u64 container, u32 index)
{
	return (u32)((container * 0x9e3779b97f4a7c15ull + index *
		      0xc2b2ae3d27d4eb4full) >> 54) % NR_BUCKETS;
}

static struct entry *find_locked(struct groupcache *gc, u64 container,
				 u32 index)
{
	struct entry *e = gc->buckets[bucket_of(container, index)];

	while (e && (e->data.container != container || e->data.index != index))
		e = e->chain;
	return e;
}

static void unlink_used_locked(struct groupcache *gc, struct entry *e)
{
	if (e->prev)
		e->prev->next = e->next;
	else
		gc->oldest = e->next;
	if (e->next)
		e->next->prev = e->prev;
	else
		gc->newest = e->prev;
	e->prev = e->next = NULL;
}

static void link_newest_locked(struct groupcache *gc, struct entry *e)
{
	e->prev = gc->newest;
	e->next = NULL;
	if (gc->newest)
		gc->newest->next = e;
	else
		gc->oldest = e;
	gc->newest = e;
}

static void entry_free(struct entry *e)
{
	mem_free(e->raw);
	mem_free(e->why);
	mem_free(e);
}

/* Unpinned and out of the list of last use. */
static void drop_locked(struct groupcache *gc, struct entry *e)
{
	struct entry **at;

	at = &gc->buckets[bucket_of(e->data.container, e->data.index)];
	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	gc->stats.bytes -= e->bytes;
	counters_set(gc->opt.counters, group_bytes, gc->stats.bytes);
	entry_free(e);
}

static void shrink_locked(struct groupcache *gc)
{
	struct entry *e;

	while (gc->stats.bytes > gc->opt.budget_bytes && gc->oldest) {
		e = gc->oldest;
		unlink_used_locked(gc, e);
		drop_locked(gc, e);
	}
}

void groupcache_set_budget(struct groupcache *gc, size_t bytes)
{
	pthread_mutex_lock(&gc->lock);
	gc->opt.budget_bytes = bytes;
	shrink_locked(gc);
	pthread_mutex_unlock(&gc->lock);
}

void groupcache_free(struct groupcache *gc)
{
	struct entry *e, *next;
	u32 i;

	if (!gc)
		return;
	for (i = 0; i < NR_BUCKETS; i++) {
		for (e = gc->buckets[i]; e; e = next) {
			next = e->chain;
			entry_free(e);
		}
	}
	pthread_cond_destroy(&gc->decoded);
	pthread_mutex_destroy(&gc->lock);
	mem_free(gc);
}

/* Chunks hashed at a time: a group of average chunks. */
#define VERIFY_BATCH 32

/* Every chunk against its fingerprint; *bad_ret: the first that differs. */
static int verify_chunks(struct groupcache *gc, struct decoder *dec,
			 const struct directory *dir, const struct entry *e,
			 u32 *bad_ret, struct akin_diag *diag)
{
	const struct dir_group *g = &dir->groups[e->data.index];
	const struct hasher *h = dir->kind == CONTAINER_METADATA ?
					 gc->opt.meta_hasher :
					 gc->opt.data_hasher;
	const struct dir_entry *de = &dir->entries[g->first];
	struct hash_item items[VERIFY_BATCH];
	struct fp fps[VERIFY_BATCH];
	u32 i, n, done;
	int err;

	for (done = 0; done < g->nr; done += n) {
		n = g->nr - done < VERIFY_BATCH ? g->nr - done : VERIFY_BATCH;
		for (i = 0; i < n; i++) {
			items[i].data = e->raw + de[done + i].raw_off;
			items[i].len = de[done + i].len;
		}
		err = hasher_batch(h, dec->scratch, items, n, fps);
		if (err)
			return err;
		for (i = 0; i < n; i++) {
			if (fp_equal(&fps[i], &de[done + i].fp))
				continue;
			*bad_ret = g->first + done + i;
			return diag_set(diag, -AKIN_E_bad_fp,
					"container %llu: chunk %u does not "
					"match its fingerprint",
					(unsigned long long)dir->container,
					de[done + i].entry);
		}
	}
	return 0;
}

/* Decode what was read as group @g into @e. */
static int unpack(struct decoder *dec, struct entry *e,
		  const struct container_group *g, struct akin_diag *diag)
{
	int err;

	if (g->header.nr_refs)
		return diag_set(diag, -AKIN_E_feature,
				"container %llu: group %u has references",
				(unsigned long long)e->data.container,
				g->header.number);
	e->raw = mem_alloc(g->header.raw_len);
	e->data.raw = e->raw;
	e->data.raw_len = g->header.raw_len;
	if (!e->raw)
		return diag_set(diag, -AKIN_E_nomem, "group");
	err = codec_decompress(dec->codec, g->header.codec_id, g->payload,
			       g->header.stored_len, e->raw, e->data.raw_len);
	if (err)
		return diag_set(diag, err, "container %llu: group %u: %s",
				(unsigned long long)e->data.container,
				g->header.number, akin_strerror(err));
	return 0;
}

static int decode_from(struct groupcache *gc, struct decoder *dec,
		       struct container_reader *r, struct entry *e,
		       u32 *bad_ret, struct akin_diag *diag)
{
	struct container_group g;
	int err;

	err = container_read_group(r, e->data.index, &g, diag);
	if (err)
		return err;
	__atomic_fetch_add(&gc->read_bytes, g.bytes.len, __ATOMIC_RELAXED);
	counters_add(gc->opt.counters, group_bytes_read, g.bytes.len);
	err = unpack(dec, e, &g, diag);
	container_group_release(&g);
	if (!err)
		err = verify_chunks(gc, dec, container_directory(r), e,
				    bad_ret, diag);
	if (!err) {
		counters_add(gc->opt.counters, groups_read, 1);
		counters_add(gc->opt.counters, group_bytes_decoded,
			     e->data.raw_len);
	}
	return err;
}

static int decode(struct groupcache *gc, struct decoder *dec, struct entry *e,
		  struct akin_diag *diag)
{
	struct container_reader *r;
	u32 bad;
	int err;

	err = dircache_get(gc->opt.dirs, e->data.container, &r, diag);
	if (err)
		return err;
	err = decode_from(gc, dec, r, e, &bad, diag);
	dircache_put(gc->opt.dirs, e->data.container);
	if (err) {
		mem_free(e->raw);
		e->raw = NULL;
		e->data.raw = NULL;
	}
	return err;
}

int groupcache_test(struct groupcache *gc, struct decoder *dec,
		    struct container_reader *r, u32 index, u32 *bad_ret,
		    struct akin_diag *diag)
{
	struct entry e = { 0 };
	int err;

	*bad_ret = UINT32_MAX;
	e.data.container = container_directory(r)->container;
	e.data.index = index;
	err = decode_from(gc, dec, r, &e, bad_ret, diag);
	mem_free(e.raw);
	return err;
}

/* A new entry in state DECODING, pinned by the caller. */
static struct entry *insert_locked(struct groupcache *gc, u64 container,
				   u32 index)
{
	u32 b = bucket_of(container, index);
	struct entry *e;

	e = mem_zalloc(sizeof(*e));
	if (!e)
		return NULL;
	e->data.container = container;
	e->data.index = index;
	e->pins = 1;
	e->chain = gc->buckets[b];
	gc->buckets[b] = e;
	return e;
}

static void decode_locked(struct groupcache *gc, struct decoder *dec,
			  struct entry *e)
{
	struct akin_diag diag = { 0 };

	pthread_mutex_unlock(&gc->lock);
	e->err = decode(gc, dec, e, &diag);
	if (e->err && diag.code)
		e->why = mem_dup(&diag, sizeof(diag));
	pthread_mutex_lock(&gc->lock);
	e->state = e->err ? ENTRY_FAILED : ENTRY_READY;
	gc->stats.reads++;
	if (!e->err) {
		/* Small groups cost more than their bytes. */
		e->bytes = e->data.raw_len + sizeof(*e);
		gc->stats.bytes += e->bytes;
		counters_set(gc->opt.counters, group_bytes, gc->stats.bytes);
		gc->stats.decoded_bytes += e->data.raw_len;
		gc->stats.peak_bytes = max_u64(gc->stats.peak_bytes,
					       gc->stats.bytes);
	}
	pthread_cond_broadcast(&gc->decoded);
}

static void unpin_locked(struct groupcache *gc, struct entry *e)
{
	akin_assert(e->pins > 0);
	if (--e->pins > 0)
		return;
	if (e->state == ENTRY_FAILED) {
		drop_locked(gc, e);
		return;
	}
	link_newest_locked(gc, e);
	shrink_locked(gc);
}

int groupcache_get(struct groupcache *gc, struct decoder *dec,
		   u64 container, u32 index, const struct group_data **out,
		   struct akin_diag *diag)
{
	struct entry *e;
	int err = 0;

	pthread_mutex_lock(&gc->lock);
	e = find_locked(gc, container, index);
	if (!e) {
		e = insert_locked(gc, container, index);
		if (!e)
			err = diag_set(diag, -AKIN_E_nomem, "group cache");
		else
			decode_locked(gc, dec, e);
	} else {
		if (e->pins++ == 0)
			unlink_used_locked(gc, e);
		while (e->state == ENTRY_DECODING)
			pthread_cond_wait(&gc->decoded, &gc->lock);
		gc->stats.hits++;
		counters_set(gc->opt.counters, group_hits, gc->stats.hits);
	}
	if (!err && e->err) {
		err = diag_set(diag, e->err, "%s", e->why ? e->why->text :
			       akin_strerror(e->err));
		unpin_locked(gc, e);
	} else if (!err) {
		shrink_locked(gc);
		*out = &e->data;
	}
	pthread_mutex_unlock(&gc->lock);
	return err;
}

void groupcache_put(struct groupcache *gc, const struct group_data *g)
{
	struct entry *e = container_of(g, struct entry, data);

	pthread_mutex_lock(&gc->lock);
	unpin_locked(gc, e);
	pthread_mutex_unlock(&gc->lock);
}

void groupcache_get_stats(struct groupcache *gc, struct groupcache_stats *out)
{
	pthread_mutex_lock(&gc->lock);
	*out = gc->stats;
	out->read_bytes = __atomic_load_n(&gc->read_bytes, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&gc->lock);
}
