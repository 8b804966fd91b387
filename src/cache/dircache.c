/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locality cache.
 *
 * Slots hold a reader (sealed container) or a writer (open one). The table
 * maps 32 bits of a fingerprint to (slot, index); it is never cleaned when a
 * slot changes hands: an entry is believed only if the slot's directory has
 * exactly this fingerprint at this index. When stale entries fill it, it is
 * built anew from the slots. It may lack entries: writers find those through
 * the index, readers by dircache_search.
 *
 * Loading happens outside the lock: a slot in LOADING state is waited for.
 */
#include <pthread.h>

#include "base/check.h"
#include "base/mem.h"
#include "cache/dircache.h"
#include "os/clock.h"

/* More open files than this would strain a default limit of 1,024. */
#define MAX_SLOTS 256
/* A pool of tiny budget still needs a few to make progress. */
#define MIN_SLOTS 8

enum slot_state { SLOT_FREE = 0, SLOT_LOADING, SLOT_READER, SLOT_WRITER };

struct slot {
	enum slot_state state;
	u64 container;
	struct container_reader *reader;
	struct container_writer *writer;
	u32 pins;
	bool forgotten;		/* no hits; goes when the last pin does */
	u64 used;		/* tick of the last use */
	u64 used_ns;		/* about when that was */
	size_t bytes;
};

struct table_entry {
	u32 tag;		/* 0: empty */
	u16 slot, index;
};
static_assert(CONTAINER_MAX_ENTRIES <= UINT16_MAX + 1,
	      "an index must fit a table entry");

struct dircache {
	struct dircache_options opt;
	pthread_mutex_t lock;	/* guards all; not held during I/O */
	pthread_cond_t loaded;
	struct slot slots[MAX_SLOTS];
	struct table_entry *table;
	u32 mask, nr_filled;
	u32 nr_live;		/* entries of all readers' directories */
	u64 tick;
	u64 now_ns;		/* when that was, as of the last batch */
	size_t bytes, budget;
	struct dircache_stats stats;
};

static u32 tag_of(const struct fp *fp)
{
	u32 tag = get_le32(fp->b + 8);

	return tag ? tag : 1;
}

/* Every part of it is touched soon: fingerprints lie anywhere. From this size
 * on, large pages make that cheaper. */
#define TABLE_LARGE (2 * MiB)


static struct table_entry *table_new(u32 n)
{
	struct table_entry *t;

	if (n * sizeof(*t) < TABLE_LARGE)
		return mem_calloc(n, sizeof(*t));
	t = mem_reserve(n * sizeof(*t));
	if (t)
		memset(t, 0, n * sizeof(*t));
	return t;
}

int dircache_new(const struct dircache_options *opt, struct dircache **out,
		 struct akin_diag *diag)
{
	struct dircache *dc;
	u32 n = 1024;

	dc = mem_zalloc(sizeof(*dc));
	if (!dc)
		return diag_set(diag, -AKIN_E_nomem, "directory cache");
	dc->opt = *opt;
	/* A quarter for the table, the rest for directories. */
	while (n * 2 * sizeof(*dc->table) <= opt->budget_bytes / 4)
		n *= 2;
	dc->mask = n - 1;
	dc->budget = opt->budget_bytes - opt->budget_bytes / 4;
	pthread_mutex_init(&dc->lock, NULL);
	pthread_cond_init(&dc->loaded, NULL);
	dc->table = table_new(n);
	if (!dc->table) {
		dircache_free(dc);
		return diag_set(diag, -AKIN_E_nomem, "directory cache");
	}
	*out = dc;
	return 0;
}

void dircache_free(struct dircache *dc)
{
	u32 i;

	if (!dc)
		return;
	for (i = 0; i < MAX_SLOTS; i++)
		container_close(dc->slots[i].reader);
	pthread_cond_destroy(&dc->loaded);
	pthread_mutex_destroy(&dc->lock);
	mem_free(dc->table);
	mem_free(dc);
}

static struct slot *find_slot_locked(struct dircache *dc, u64 container)
{
	u32 i;

	for (i = 0; i < MAX_SLOTS; i++) {
		if (dc->slots[i].state != SLOT_FREE &&
		    dc->slots[i].container == container)
			return &dc->slots[i];
	}
	return NULL;
}

static void insert_locked(struct dircache *dc, const struct fp *fp, u16 slot,
			  u16 index)
{
	u32 i = (u32)fp_prefix(fp) & dc->mask;
	u32 tag = tag_of(fp);

	/* An equal tag is most likely the same chunk: the newest place wins. */
	while (dc->table[i].tag && dc->table[i].tag != tag)
		i = (i + 1) & dc->mask;
	if (!dc->table[i].tag) {
		/* Probes must end somewhere. */
		if (dc->nr_filled >= dc->mask / 8 * 7)
			return;
		dc->nr_filled++;
	}
	dc->table[i].tag = tag;
	dc->table[i].slot = slot;
	dc->table[i].index = index;
}

static void insert_directory_locked(struct dircache *dc, struct slot *s)
{
	const struct directory *d = container_directory(s->reader);
	u16 slot = (u16)(s - dc->slots);
	u32 i;

	for (i = 0; i < d->nr_entries; i++)
		insert_locked(dc, &d->entries[i].fp, slot, (u16)i);
}

static void rebuild_locked(struct dircache *dc)
{
	u32 i;

	memset(dc->table, 0, (dc->mask + 1) * sizeof(*dc->table));
	dc->nr_filled = 0;
	for (i = 0; i < MAX_SLOTS; i++) {
		/* Open containers' entries are in the index's pending part
		 * too; reading their directory here would race. */
		if (dc->slots[i].state == SLOT_READER)
			insert_directory_locked(dc, &dc->slots[i]);
	}
}

/*
 * Clean the table if it is three quarters full and enough of that is stale: a
 * rebuild is paid for by the entries that it makes room for.
 */
static void rebuild_if_full_locked(struct dircache *dc)
{
	if (dc->nr_filled > dc->mask / 4 * 3 &&
	    dc->nr_filled - min_u64(dc->nr_filled, dc->nr_live) > dc->mask / 8)
		rebuild_locked(dc);
}

static void use_locked(struct dircache *dc, struct slot *s)
{
	s->used = ++dc->tick;
	s->used_ns = dc->now_ns;
}

/* An entry is believed only if the directory agrees. */
static bool hit_locked(struct dircache *dc, const struct table_entry *t,
		       const struct fp *fp, struct dir_hit *out)
{
	struct slot *s = &dc->slots[t->slot];
	const struct directory *d;
	u32 len;

	if (s->state == SLOT_WRITER) {
		if (!container_writer_lookup(s->writer, fp, t->index, &len))
			return false;
		out->entry = t->index;
		out->len = len;
	} else if (s->state == SLOT_READER && !s->forgotten) {
		d = container_directory(s->reader);
		if (t->index >= d->nr_entries ||
		    !fp_equal(&d->entries[t->index].fp, fp))
			return false;
		out->entry = d->entries[t->index].entry;
		out->len = d->entries[t->index].len;
	} else {
		return false;
	}
	out->container = s->container;
	use_locked(dc, s);
	return true;
}

static bool lookup_one_locked(struct dircache *dc, const struct fp *fp,
			      struct dir_hit *out)
{
	u32 i = (u32)fp_prefix(fp) & dc->mask;
	u32 tag = tag_of(fp);

	out->container = 0;
	for (; dc->table[i].tag; i = (i + 1) & dc->mask) {
		if (dc->table[i].tag == tag &&
		    hit_locked(dc, &dc->table[i], fp, out)) {
			dc->stats.hits++;
			return true;
		}
	}
	return false;
}

void dircache_lookup(struct dircache *dc, const struct fp *fps, u32 n,
		     struct dir_hit *out)
{
	u32 i;

	pthread_mutex_lock(&dc->lock);
	for (i = 0; i < n; i++)
		__builtin_prefetch(&dc->table[(u32)fp_prefix(&fps[i]) &
					      dc->mask]);
	/* Time is asked for by the batch: single chunks come too often. */
	if (n > 1)
		dc->now_ns = clock_ns();
	for (i = 0; i < n; i++) {
		if (!lookup_one_locked(dc, &fps[i], &out[i]))
			dc->stats.misses++;
	}
	counters_set(dc->opt.counters, directory_hits, dc->stats.hits);
	counters_set(dc->opt.counters, directory_misses, dc->stats.misses);
	pthread_mutex_unlock(&dc->lock);
}

void dircache_lookup_again(struct dircache *dc, const struct fp *fp,
			   struct dir_hit *out)
{
	pthread_mutex_lock(&dc->lock);
	if (lookup_one_locked(dc, fp, out))
		counters_set(dc->opt.counters, directory_hits, dc->stats.hits);
	pthread_mutex_unlock(&dc->lock);
}

static void evict_locked(struct dircache *dc, struct slot *s)
{
	dc->bytes -= s->bytes;
	dc->nr_live -= container_directory(s->reader)->nr_entries;
	container_close(s->reader);
	memset(s, 0, sizeof(*s));
	dc->stats.evictions++;
	counters_set(dc->opt.counters, directory_bytes, dc->bytes);
}

static struct slot *oldest_locked(struct dircache *dc, u32 *nr_free_ret)
{
	struct slot *best = NULL, *s;
	u32 i;

	*nr_free_ret = 0;
	for (i = 0; i < MAX_SLOTS; i++) {
		s = &dc->slots[i];
		if (s->state == SLOT_FREE)
			(*nr_free_ret)++;
		else if (s->state == SLOT_READER && s->pins == 0 &&
			 (!best || s->used < best->used))
			best = s;
	}
	return best;
}

/* Evict the least recently used ones, but for @keep, until directories and
 * table are within bounds and @nr_wanted slots are free. */
static void shrink_locked(struct dircache *dc, u32 nr_wanted,
			  const struct slot *keep)
{
	struct slot *old;
	u32 nr_free;

	for (;;) {
		old = oldest_locked(dc, &nr_free);
		counters_set(dc->opt.counters, directory_oldest,
			     old ? old->used_ns : 0);
		if (!old || old == keep)
			return;
		if (nr_free >= nr_wanted &&
		    ((dc->bytes <= dc->budget &&
		      dc->nr_live <= dc->mask / 8 * 5) ||
		     MAX_SLOTS - nr_free < MIN_SLOTS))
			return;
		evict_locked(dc, old);
	}
}

static struct slot *claim_locked(struct dircache *dc)
{
	u32 i;

	shrink_locked(dc, 1, NULL);
	for (i = 0; i < MAX_SLOTS; i++) {
		if (dc->slots[i].state == SLOT_FREE)
			return &dc->slots[i];
	}
	return NULL;
}

static int load_locked(struct dircache *dc, struct slot *s, u64 container,
		       struct akin_diag *diag)
{
	struct container_reader *r = NULL;
	u32 generation = 0;
	int err = 0;

	s->state = SLOT_LOADING;
	s->container = container;
	pthread_mutex_unlock(&dc->lock);
	if (dc->opt.generation)
		err = dc->opt.generation(dc->opt.ctx, container, &generation,
					 diag);
	if (!err)
		err = container_open(dc->opt.data, &dc->opt.pool, container,
				     generation, &r, diag);
	pthread_mutex_lock(&dc->lock);
	dc->now_ns = clock_ns();
	dc->stats.loads++;
	counters_add(dc->opt.counters, directory_loads, 1);
	pthread_cond_broadcast(&dc->loaded);
	if (err) {
		dc->stats.load_failures++;
		counters_add(dc->opt.counters, directory_failures, 1);
		memset(s, 0, sizeof(*s));
		return err;
	}
	counters_add(dc->opt.counters, sectors_healed,
		     container_reader_healed(r));
	s->state = SLOT_READER;
	s->reader = r;
	s->bytes = container_reader_bytes(r);
	use_locked(dc, s);
	dc->bytes += s->bytes;
	counters_set(dc->opt.counters, directory_bytes, dc->bytes);
	dc->nr_live += container_directory(r)->nr_entries;
	shrink_locked(dc, 0, s);
	rebuild_if_full_locked(dc);
	insert_directory_locked(dc, s);
	return 0;
}

/* The slot of @container in state READER. */
static int need_locked(struct dircache *dc, u64 container, struct slot **out,
		       struct akin_diag *diag)
{
	struct slot *s;
	int err;

	for (;;) {
		s = find_slot_locked(dc, container);
		if (!s || s->state != SLOT_LOADING)
			break;
		pthread_cond_wait(&dc->loaded, &dc->lock);
	}
	if (s && s->state == SLOT_WRITER)
		return diag_set(diag, -AKIN_E_busy,
				"container %llu is still being written",
				(unsigned long long)container);
	if (!s) {
		s = claim_locked(dc);
		if (!s)
			return diag_set(diag, -AKIN_E_nomem,
					"directory cache: everything pinned");
		err = load_locked(dc, s, container, diag);
		if (err)
			return err;
	}
	use_locked(dc, s);
	*out = s;
	return 0;
}

int dircache_verify(struct dircache *dc, const struct place *at,
		    const struct fp *fp, struct dir_hit *out,
		    struct akin_diag *diag)
{
	struct table_entry t = { 0 };
	struct slot *s;
	long index;
	int err = 0;

	out->container = 0;
	pthread_mutex_lock(&dc->lock);
	s = find_slot_locked(dc, at->container);
	if (!s || s->state == SLOT_LOADING)
		err = need_locked(dc, at->container, &s, diag);
	if (err)
		goto out;
	t.slot = (u16)(s - dc->slots);
	index = s->state == SLOT_WRITER ?
			at->entry :
			container_entry_index(container_directory(s->reader),
				       at->entry);
	t.index = (u16)index;
	if (index >= 0 && index < CONTAINER_MAX_ENTRIES)
		ignore_result(hit_locked(dc, &t, fp, out));
out:
	pthread_mutex_unlock(&dc->lock);
	return err;
}

int dircache_get(struct dircache *dc, u64 container,
		 struct container_reader **out, struct akin_diag *diag)
{
	struct slot *s;
	int err;

	pthread_mutex_lock(&dc->lock);
	err = need_locked(dc, container, &s, diag);
	if (!err) {
		s->pins++;
		*out = s->reader;
	}
	pthread_mutex_unlock(&dc->lock);
	return err;
}

void dircache_put(struct dircache *dc, u64 container)
{
	struct slot *s;

	pthread_mutex_lock(&dc->lock);
	s = find_slot_locked(dc, container);
	akin_assert(s && s->pins > 0);
	if (--s->pins == 0 && s->forgotten)
		evict_locked(dc, s);
	pthread_mutex_unlock(&dc->lock);
}

void dircache_forget(struct dircache *dc, u64 container)
{
	struct slot *s;

	pthread_mutex_lock(&dc->lock);
	while ((s = find_slot_locked(dc, container)) &&
	       s->state == SLOT_LOADING)
		pthread_cond_wait(&dc->loaded, &dc->lock);
	if (s && s->state == SLOT_READER) {
		s->forgotten = true;
		if (s->pins == 0)
			evict_locked(dc, s);
	}
	pthread_mutex_unlock(&dc->lock);
}

void dircache_clear(struct dircache *dc)
{
	u32 i;

	pthread_mutex_lock(&dc->lock);
	for (i = 0; i < MAX_SLOTS; i++) {
		if (dc->slots[i].state == SLOT_READER && !dc->slots[i].pins)
			evict_locked(dc, &dc->slots[i]);
	}
	pthread_mutex_unlock(&dc->lock);
}

/* Index of the entry with this fingerprint, or -1. */
static long index_of_fp(const struct directory *d, const struct fp *fp)
{
	u32 i;

	for (i = 0; i < d->nr_entries; i++) {
		if (fp_equal(&d->entries[i].fp, fp))
			return i;
	}
	return -1;
}

int dircache_search(struct dircache *dc, u64 container, const struct fp *fp,
		    struct dir_hit *out, struct akin_diag *diag)
{
	struct table_entry t = { 0 };
	struct slot *s;
	long index;
	int err;

	out->container = 0;
	pthread_mutex_lock(&dc->lock);
	err = need_locked(dc, container, &s, diag);
	index = err ? -1 : index_of_fp(container_directory(s->reader), fp);
	if (index >= 0) {
		t.slot = (u16)(s - dc->slots);
		t.index = (u16)index;
		ignore_result(hit_locked(dc, &t, fp, out));
	}
	pthread_mutex_unlock(&dc->lock);
	return err;
}

int dircache_load(struct dircache *dc, u64 container, struct akin_diag *diag)
{
	struct slot *s;
	int err;

	pthread_mutex_lock(&dc->lock);
	err = need_locked(dc, container, &s, diag);
	pthread_mutex_unlock(&dc->lock);
	return err;
}

void dircache_prefetch(struct dircache *dc, u64 container)
{
	u32 generation = 0;

	if (dc->opt.generation && dc->opt.generation(dc->opt.ctx, container,
						     &generation, NULL))
		return;
	container_prefetch_directory(dc->opt.data, container, generation);
}

bool dircache_has(struct dircache *dc, u64 container)
{
	struct slot *s;

	pthread_mutex_lock(&dc->lock);
	s = find_slot_locked(dc, container);
	pthread_mutex_unlock(&dc->lock);
	return s && s->state != SLOT_LOADING;
}

/* Of a slot in state READER or WRITER. */
static void entry_locked(const struct slot *s, u32 entry,
			 struct dir_found *out)
{
	const struct directory *d;
	long index;

	if (s->state == SLOT_WRITER) {
		out->generation = 0;
		if (!container_writer_entry(s->writer, entry, &out->entry))
			out->entry.len = 0;
		return;
	}
	d = container_directory(s->reader);
	out->generation = d->generation;
	index = container_entry_index(d, entry);
	if (index >= 0)
		out->entry = d->entries[index];
}

void dircache_entries(struct dircache *dc, const struct dir_hit *hits, u32 n,
		      struct dir_found *out)
{
	struct slot *s = NULL;
	u32 i;

	pthread_mutex_lock(&dc->lock);
	for (i = 0; i < n; i++) {
		out[i].entry.len = 0;
		if (!hits[i].container)
			continue;
		if (!s || s->container != hits[i].container)
			s = find_slot_locked(dc, hits[i].container);
		if ((!s || s->state == SLOT_LOADING) &&
		    need_locked(dc, hits[i].container, &s, NULL)) {
			s = NULL;
			continue;
		}
		entry_locked(s, hits[i].entry, &out[i]);
	}
	pthread_mutex_unlock(&dc->lock);
}

int dircache_peek(struct dircache *dc, u64 container, u32 index,
		  struct container_reader **out, struct akin_diag *diag)
{
	struct directory dir;
	struct slot *s;
	int err;

	pthread_mutex_lock(&dc->lock);
	s = find_slot_locked(dc, container);
	if (s && s->state != SLOT_WRITER)
		s = NULL;
	if (s)
		s->pins++;
	pthread_mutex_unlock(&dc->lock);
	if (!s)
		return diag_set(diag, -AKIN_E_busy, "container %llu is not "
				"being written", (unsigned long long)container);
	err = container_writer_snapshot(s->writer, index, &dir, diag);
	pthread_mutex_lock(&dc->lock);
	s->pins--;
	pthread_cond_broadcast(&dc->loaded);
	pthread_mutex_unlock(&dc->lock);
	if (err)
		return err;
	return container_open_unsealed(dc->opt.data, &dc->opt.pool, &dir, out,
				       diag);
}

int dircache_open(struct dircache *dc, struct container_writer *w,
		  u32 *slot_ret, struct akin_diag *diag)
{
	struct slot *s;

	pthread_mutex_lock(&dc->lock);
	s = claim_locked(dc);
	if (s) {
		s->state = SLOT_WRITER;
		s->container = container_writer_number(w);
		s->writer = w;
		use_locked(dc, s);
		*slot_ret = (u32)(s - dc->slots);
	}
	pthread_mutex_unlock(&dc->lock);
	if (!s)
		return diag_set(diag, -AKIN_E_nomem,
				"directory cache: too many open containers");
	return 0;
}

void dircache_note(struct dircache *dc, u32 slot, const struct fp *fp,
		   u32 entry)
{
	pthread_mutex_lock(&dc->lock);
	akin_assert(dc->slots[slot].state == SLOT_WRITER);
	rebuild_if_full_locked(dc);
	insert_locked(dc, fp, (u16)slot, (u16)entry);
	pthread_mutex_unlock(&dc->lock);
}

void dircache_close(struct dircache *dc, u32 slot)
{
	pthread_mutex_lock(&dc->lock);
	akin_assert(dc->slots[slot].state == SLOT_WRITER);
	while (dc->slots[slot].pins > 0)
		pthread_cond_wait(&dc->loaded, &dc->lock);
	memset(&dc->slots[slot], 0, sizeof(dc->slots[slot]));
	pthread_mutex_unlock(&dc->lock);
}

void dircache_get_stats(struct dircache *dc, struct dircache_stats *out)
{
	u32 i;

	pthread_mutex_lock(&dc->lock);
	*out = dc->stats;
	out->bytes = dc->bytes;
	for (i = 0; i < MAX_SLOTS; i++)
		out->nr += dc->slots[i].state == SLOT_READER;
	pthread_mutex_unlock(&dc->lock);
}
