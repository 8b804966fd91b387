/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table itself.
 *
 * I1. A quarter of the slots at least is free: probes end soon.
 * I2. No key's level is at or above @levels.
 */
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "similar/similar_internal.h"

#define SLOT_BYTES (sizeof(u64) + sizeof(u32))
#define SLOTS_FIRST 1024
#define LEVEL_MASK ((u64)SIMILAR_LEVELS - 1)

static size_t bytes_allowed(const struct similar *s)
{
	u64 n = s->stored_bytes / MiB * SIMILAR_BYTES_PER_MIB;

	return min_u64(max_u64(n, SIMILAR_BYTES_LEAST), s->opt.budget_bytes /
		       SIMILAR_PARTS * SIMILAR_TABLE_PARTS);
}

static int alloc_slots(u32 nr, u64 **keys_ret, u32 **containers_ret)
{
	*keys_ret = mem_calloc(nr, sizeof(**keys_ret));
	*containers_ret = mem_calloc(nr, sizeof(**containers_ret));
	if (*keys_ret && *containers_ret)
		return 0;
	mem_free(*keys_ret);
	mem_free(*containers_ret);
	return -AKIN_E_nomem;
}

int similar_new(const struct similar_options *opt, struct similar **out,
		struct akin_diag *diag)
{
	struct similar *s = mem_zalloc(sizeof(*s));

	if (!s)
		return diag_set(diag, -AKIN_E_nomem, "similarity table");
	s->opt = *opt;
	s->stored_bytes = opt->stored_bytes;
	s->levels = SIMILAR_LEVELS;
	s->nr_slots = SLOTS_FIRST;
	pthread_mutex_init(&s->lock, NULL);
	if (alloc_slots(s->nr_slots, &s->keys, &s->containers)) {
		s->keys = NULL;
		s->containers = NULL;
		similar_free(s);
		return diag_set(diag, -AKIN_E_nomem, "similarity table");
	}
	*out = s;
	return 0;
}

void similar_free(struct similar *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	mem_free(s->keys);
	mem_free(s->containers);
	buf_release(&s->news);
	mem_free(s);
}

static u32 slot_of(const struct similar *s, u64 key)
{
	return (u32)((key >> 32) * s->nr_slots >> 32);
}

static u64 without_level(u64 key)
{
	return key & ~LEVEL_MASK;
}

/* The slot of @key, or the free one where it would be. */
static u32 find_locked(const struct similar *s, u64 key)
{
	u32 i = slot_of(s, key);

	while (s->keys[i] && without_level(s->keys[i]) != without_level(key))
		i = i + 1 < s->nr_slots ? i + 1 : 0;
	return i;
}

static void insert_locked(struct similar *s, u64 key, u32 container)
{
	u32 i = find_locked(s, key);

	if (!s->keys[i]) {
		s->nr_used++;
		s->keys[i] = key;
	} else if (SIMILAR_LEVEL(key) < SIMILAR_LEVEL(s->keys[i])) {
		s->keys[i] = key;
	}
	if (container > s->containers[i])
		s->containers[i] = container;
}

/* All that is held, into @nr_slots; entries of containers below @oldest are
 * not. */
static int rebuild_locked(struct similar *s, u32 nr_slots, u32 oldest)
{
	u32 *containers = s->containers, n = s->nr_slots, i;
	u64 *keys = s->keys;
	int err;

	err = alloc_slots(nr_slots, &s->keys, &s->containers);
	if (err) {
		s->keys = keys;
		s->containers = containers;
		return err;
	}
	s->nr_slots = nr_slots;
	s->nr_used = 0;
	for (i = 0; i < n; i++) {
		if (keys[i] && containers[i] && containers[i] >= oldest &&
		    SIMILAR_LEVEL(keys[i]) < s->levels)
			insert_locked(s, keys[i], containers[i]);
	}
	mem_free(keys);
	mem_free(containers);
	return 0;
}

static u32 mean_container_locked(const struct similar *s)
{
	u64 sum = 0;
	u32 i, nr = 0;

	for (i = 0; i < s->nr_slots; i++) {
		sum += s->containers[i];
		nr += s->containers[i] != 0;
	}
	return nr ? (u32)(sum / nr) : 0;
}

static bool is_full_locked(const struct similar *s)
{
	return s->nr_used >= s->nr_slots / 4 * 3;
}

/* Grow, or else give up the highest level, or at last what is oldest. I1 */
static int make_room_locked(struct similar *s)
{
	u32 slots_allowed = (u32)min_u64(bytes_allowed(s) / SLOT_BYTES,
					 UINT32_MAX / 2);
	u32 oldest = 0;
	int err;

	if (s->nr_slots < slots_allowed)
		return rebuild_locked(s, (u32)min_u64(s->nr_slots * 2ull,
						      slots_allowed), 0);
	while (is_full_locked(s)) {
		if (s->levels > 1)
			s->levels--;
		else
			oldest = mean_container_locked(s) + 1;
		err = rebuild_locked(s, s->nr_slots, oldest);
		if (err)
			return err;
	}
	return 0;
}

/* 0 is a free slot; of 2^60 keys one more has a twin. */
static u64 not_free(u64 key)
{
	return without_level(key) ? key : key + SIMILAR_LEVELS;
}

int similar_put_locked(struct similar *s, u64 key, u32 container)
{
	int err = 0;

	key = not_free(key);
	if (is_full_locked(s))
		err = make_room_locked(s);
	if (!err && SIMILAR_LEVEL(key) < s->levels)
		insert_locked(s, key, container);
	return err;
}

int similar_put_new_locked(struct similar *s, u64 key, u32 container)
{
	size_t room = s->opt.budget_bytes / SIMILAR_PARTS * SIMILAR_NEWS_PARTS;
	int err;

	key = not_free(key);
	err = similar_put_locked(s, key, container);
	if (err || s->news_lost || SIMILAR_LEVEL(key) >= s->levels)
		return err;
	/* It grows by doubling. */
	if (s->news.len + SIMILAR_ENTRY_BYTES <= room / 2)
		similar_image_put(&s->news, key, container);
	if (s->news.len != (s->nr_news + 1) * (size_t)SIMILAR_ENTRY_BYTES) {
		buf_release(&s->news);
		s->news_lost = true;
	}
	s->nr_news++;
	return 0;
}

void similar_lookup(struct similar *s, const u64 *keys, u32 n, u64 *out)
{
	u32 i, at, hits = 0;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < n; i++)
		__builtin_prefetch(&s->keys[slot_of(s, keys[i])]);
	for (i = 0; i < n; i++) {
		at = find_locked(s, keys[i]);
		out[i] = s->containers[at];
		hits += out[i] != 0;
	}
	s->stats.lookups += n;
	s->stats.hits += hits;
	pthread_mutex_unlock(&s->lock);
}

void similar_drop(struct similar *s, u64 key, u64 container)
{
	u32 at;

	pthread_mutex_lock(&s->lock);
	at = find_locked(s, key);
	if (s->keys[at] && s->containers[at] == container) {
		s->containers[at] = 0;
		s->nr_dropped++;
		s->changed = true;
	}
	pthread_mutex_unlock(&s->lock);
}

u64 similar_covered(struct similar *s)
{
	u64 covered;

	pthread_mutex_lock(&s->lock);
	covered = s->covered;
	pthread_mutex_unlock(&s->lock);
	return covered;
}

void similar_cover(struct similar *s, u64 container)
{
	pthread_mutex_lock(&s->lock);
	if (container > s->covered) {
		s->covered = container;
		s->changed = true;
	}
	pthread_mutex_unlock(&s->lock);
}

void similar_get_stats(struct similar *s, struct similar_stats *out)
{
	u32 i;

	pthread_mutex_lock(&s->lock);
	*out = s->stats;
	for (i = 0; i < s->nr_slots; i++)
		out->entries += s->containers[i] != 0;
	out->levels = s->levels;
	out->bytes = s->nr_slots * SLOT_BYTES;
	out->bytes_allowed = bytes_allowed(s);
	pthread_mutex_unlock(&s->lock);
}
