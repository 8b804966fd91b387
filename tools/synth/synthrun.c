/* SPDX-License-Identifier: Apache-2.0 */
#include "index/index_internal.h"
#include "synthrun.h"

/* Where each level's entries begin among all: level 0 first, half of them. */
struct levels {
	u64 first[RUN_LEVELS + 1];
};

static void levels_of(u64 nr, struct levels *l)
{
	u64 left = nr;
	unsigned i;

	l->first[0] = 0;
	for (i = 0; i < RUN_LEVELS - 1; i++) {
		l->first[i + 1] = l->first[i] + (left + 1) / 2;
		left -= (left + 1) / 2;
	}
	l->first[RUN_LEVELS] = nr;
}

/* The @k-th word of entry @i: splitmix64, Steele, Lea and Flood 2014. */
static u64 word_of(const struct synthrun *s, u64 i, u32 k)
{
	u64 z = (s->seed ^ i * 0xd1342543de82ef95ull) +
		(k + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static u64 prefix_of(const struct synthrun *s, const struct levels *l,
		     unsigned level, u64 i)
{
	u64 n = l->first[level + 1] - l->first[level];
	u64 j = i - l->first[level];
	u64 step = UINT64_MAX / n;

	return j * step + word_of(s, i, 0) % step;
}

static void place_of(const struct synthrun *s, u64 i, struct place *at)
{
	u64 nr_containers = s->nr / s->nr_per_container + 1;

	at->container = s->first_container + i % nr_containers;
	at->entry = (u32)(i / nr_containers);
}

void synthrun_get(const struct synthrun *s, u64 i, struct fp *fp,
		  struct place *at)
{
	unsigned level = 0;
	struct levels l;

	levels_of(s->nr, &l);
	while (i >= l.first[level + 1])
		level++;
	put_le64(fp->b, prefix_of(s, &l, level, i));
	put_le64(fp->b + 8, (word_of(s, i, 1) | 1) << level);
	put_le64(fp->b + 16, word_of(s, i, 2));
	put_le64(fp->b + 24, word_of(s, i, 3));
	place_of(s, i, at);
}

int synthrun_write(const struct synthrun *s, struct disk *meta,
		   const struct pool_id *pool, u64 number, u32 tier,
		   struct index_run *out, struct akin_diag *diag)
{
	struct run_writer *w = NULL;
	unsigned level = RUN_LEVELS;
	struct run_entry e;
	struct levels l;
	struct place at;
	int err;
	u64 i;

	levels_of(s->nr, &l);
	err = run_writer_open(meta, pool, number, 1 * MiB, &w, diag);
	while (!err && level-- > 0) {
		if (l.first[level + 1] == l.first[level])
			continue;
		err = run_writer_level(w, level, l.first[level + 1] -
				       l.first[level], diag);
		for (i = l.first[level]; !err && i < l.first[level + 1]; i++) {
			place_of(s, i, &at);
			e.prefix = prefix_of(s, &l, level, i);
			e.container = at.container;
			e.entry = (u16)at.entry;
			err = run_writer_put(w, &e, diag);
		}
	}
	if (!err)
		err = run_writer_finish(w, out, diag);
	if (err) {
		run_writer_abort(w);
		return err;
	}
	run_writer_free(w);
	out->tier = tier;
	return 0;
}
