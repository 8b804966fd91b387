/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage from below: a group that was compressed against chunks of a container
 * that is gone cannot be had, though nobody has marked it.
 *
 * Asked only while whole containers are missing. Goes by the lists of bases in
 * the directories, as far down as the group is deep: so it may call a group
 * damaged of which only neighbours need that container. For writers that costs
 * space, once; what they miss would cost data.
 *
 * Answers are remembered by container and depth, in a table of fixed size.
 */
#include <pthread.h>

#include "base/mem.h"
#include "depot/depot_internal.h"

#define MEMO_SLOTS 512
/* For one answer. A list of bases can be made to name everything. */
#define CONTAINERS_MAX 2000

struct memo {
	u64 container;		/* 0: free */
	u8 depth;
	bool lost;
};

struct depot_bases {
	pthread_mutex_t lock;	/* guards all; not held during I/O */
	u32 nr_whole;		/* that the answers are about */
	struct memo memos[MEMO_SLOTS];
};

struct depot_bases *depot_bases_new(void)
{
	struct depot_bases *b = mem_zalloc(sizeof(*b));

	if (b)
		pthread_mutex_init(&b->lock, NULL);
	return b;
}

void depot_bases_free(struct depot_bases *b)
{
	if (!b)
		return;
	pthread_mutex_destroy(&b->lock);
	mem_free(b);
}

static u32 nr_whole(const struct depot *d)
{
	return d->damage.nr - d->damage.nr_chunks;
}

static struct memo *memo_of(struct depot_bases *b, u64 container, u32 depth)
{
	u64 h = (container * 32 + depth) * 0x9e3779b97f4a7c15ull;

	return &b->memos[(h >> 32) % MEMO_SLOTS];
}

static bool remembered(struct depot *d, u64 container, u32 depth, bool *out)
{
	struct depot_bases *b = d->bases;
	struct memo *m = memo_of(b, container, depth);
	bool found;

	pthread_mutex_lock(&b->lock);
	if (b->nr_whole != nr_whole(d)) {
		memset(b->memos, 0, sizeof(b->memos));
		b->nr_whole = nr_whole(d);
	}
	found = m->container == container && m->depth == depth;
	*out = m->lost;
	pthread_mutex_unlock(&b->lock);
	return found;
}

static void remember(struct depot *d, u64 container, u32 depth, bool lost)
{
	struct memo *m = memo_of(d->bases, container, depth);

	pthread_mutex_lock(&d->bases->lock);
	m->container = container;
	m->depth = (u8)depth;
	m->lost = lost;
	pthread_mutex_unlock(&d->bases->lock);
}

/* The container's list, owned; negative: it cannot be told. */
static int copy_bases(struct depot *d, u64 container, u64 **out, u32 *nr_ret)
{
	const struct directory *dir;
	struct container_reader *r;
	int err;

	err = dircache_get(d->dirs, container, &r, NULL);
	if (err)
		return err;
	dir = container_directory(r);
	*nr_ret = dir->nr_bases;
	*out = dir->nr_bases ? mem_dup(dir->bases, dir->nr_bases *
				       sizeof(**out)) : NULL;
	dircache_put(d->dirs, container);
	return *nr_ret && !*out ? -AKIN_E_nomem : 0;
}

/* Is anything gone that a group of @container at @depth may need? *left:
 * containers that may still be looked at. */
static bool lost_below(struct depot *d, u64 container, u32 depth, u32 *left)
{
	struct place at = { 0, DAMAGE_WHOLE };
	u64 *bases;
	u32 nr, i;
	bool lost;

	if (remembered(d, container, depth, &lost))
		return lost;
	/* One that cannot be read is as good as gone. */
	if (!*left || copy_bases(d, container, &bases, &nr))
		return true;
	(*left)--;
	for (lost = false, i = 0; !lost && i < nr; i++) {
		at.container = bases[i];
		lost = depot_damage_marked(&d->damage, &at);
	}
	for (i = 0; !lost && depth > 1 && i < nr; i++)
		lost = lost_below(d, bases[i], depth - 1, left);
	mem_free(bases);
	remember(d, container, depth, lost);
	return lost;
}

/* Of the group that has entry @entry; 0 also while it is being written: it was
 * made against what is there. */
static u32 depth_of(struct depot *d, u64 container, u32 entry)
{
	const struct directory *dir;
	struct container_reader *r;
	u32 depth = 0;
	long i;

	if (dircache_get(d->dirs, container, &r, NULL))
		return 0;
	dir = container_directory(r);
	i = container_entry_index(dir, entry);
	if (i >= 0)
		depth = dir->groups[dir->entries[i].group].depth;
	dircache_put(d->dirs, container);
	return depth;
}

bool depot_is_damaged(struct depot *d, u64 container, u32 entry)
{
	u32 depth, left = CONTAINERS_MAX;

	if (!depot_damage_any(&d->damage))
		return false;
	if (depot_damage_covers(&d->damage, container, entry))
		return true;
	if (!nr_whole(d))
		return false;
	depth = depth_of(d, container, entry);
	/* The deepest that the format knows, whatever a directory says. */
	depth = depth < GROUP_MAX_DEPTH ? depth : GROUP_MAX_DEPTH;
	return depth && lost_below(d, container, depth, &left);
}
