/* SPDX-License-Identifier: Apache-2.0 */
#include "testlib.h"

#include <malloc.h>
#include <stdlib.h>

#include "indexworld.h"

const struct pool_id indexworld_pool = { "index test pool" };

size_t heap_bytes(void)
{
	struct mallinfo2 mi = mallinfo2();

	return mi.uordblks + mi.hblkhd;
}

void world_sample(struct world *w)
{
	size_t now = heap_bytes();

	if (now > w->heap_peak)
		w->heap_peak = now;
}

static int world_reserve(void *ctx, u32 count, u64 *first_ret,
			 struct akin_diag *diag)
{
	struct world *w = ctx;

	*first_ret = atomic_fetch_add(&w->next_number, count);
	return 0;
}

int world_open(struct world *w)
{
	struct index_options opt = { .pool = indexworld_pool, .budget_bytes = w->budget,
				     .reserve = world_reserve,
				     .reserve_ctx = w };

	return index_open(w->d, &opt, w->runs, w->nr_runs, &w->ix, NULL);
}

void world_init(struct world *w, size_t budget)
{
	memset(w, 0, sizeof(*w));
	w->sd = simdisk_new("metadata");
	w->d = simdisk_attach(w->sd, true);
	w->next_number = 1;
	w->budget = budget;
	assert_int_equal(disk_mkdir(w->d, DIR_RUNS, NULL), 0);
	assert_int_equal(world_open(w), 0);
}

void world_release(struct world *w)
{
	index_close(w->ix);
	disk_free(w->d);
	simdisk_free(w->sd);
	free(w->runs);
}

void world_reopen(struct world *w)
{
	index_close(w->ix);
	w->ix = NULL;
	assert_int_equal(world_open(w), 0);
}

void world_commit(struct world *w, struct index_changes *ch)
{
	u32 i, k;

	for (i = 0; i < ch->nr_dead; i++) {
		for (k = 0; k < w->nr_runs; k++)
			if (w->runs[k].number == ch->dead[i])
				break;
		assert_true(k < w->nr_runs);
		w->runs[k] = w->runs[--w->nr_runs];
	}
	w->runs = realloc(w->runs, (w->nr_runs + ch->nr_added + 1) *
			  sizeof(*w->runs));
	for (i = 0; i < ch->nr_added; i++)
		w->runs[w->nr_runs++] = ch->added[i];
}

int world_flush(struct world *w)
{
	struct index_changes ch;
	int err = index_flush(w->ix, &ch, NULL);

	if (!err)
		world_commit(w, &ch);
	index_changes_release(&ch);
	return err;
}

int world_merge(struct world *w, int (*skip)(void *ctx, u64 container),
		void *ctx)
{
	struct index_changes ch;
	int err = index_merge(w->ix, skip, ctx, &ch, NULL);

	if (!err) {
		world_commit(w, &ch);
		err = index_merged(w->ix, &ch, NULL);
	}
	index_changes_release(&ch);
	return err;
}

u64 files_in_runs(struct world *w)
{
	struct sim_name *names;
	size_t nr, i;
	u64 files = 0;

	names = simdisk_names(w->sd, &nr);
	for (i = 0; i < nr; i++)
		files += !names[i].is_dir;
	simdisk_names_free(names, nr);
	return files;
}

void chunk(u64 i, struct fp *fp, struct place *at)
{
	struct rng r = { i * 0x9e3779b97f4a7c15ull + 77 };

	rng_fill(&r, fp->b, sizeof(fp->b));
	at->container = 1 + i / 1000;
	at->entry = (u32)(i % 1000);
}

int add_chunks(struct world *w, u64 from, u64 to)
{
	struct place at;
	struct fp fp;
	u64 i;
	int err = 0;

	for (i = from; !err && i < to; i++) {
		chunk(i, &fp, &at);
		err = index_add(w->ix, &fp, &at, NULL);
	}
	return err;
}

bool same_place(const struct place *a, const struct place *b)
{
	return a->container == b->container && a->entry == b->entry;
}

u64 check_memory(struct world *w, u64 from, u64 to, unsigned level)
{
	struct fp fps[100];
	struct place want[100], got[100];
	u64 found = 0;
	u32 n, i;

	for (; from < to; from += n) {
		n = (u32)min_u64(100, to - from);
		for (i = 0; i < n; i++)
			chunk(from + i, &fps[i], &want[i]);
		assert_int_equal(index_lookup(w->ix, fps, n, got, NULL), 0);
		for (i = 0; i < n; i++) {
			if (!got[i].container) {
				assert_true(run_level_of(&fps[i]) < level);
				continue;
			}
			assert_true(same_place(&got[i], &want[i]));
			found++;
		}
	}
	return found;
}

void check_disk(struct world *w, u64 from, u64 to, u64 step)
{
	struct place want, got[4];
	struct fp fp;
	u32 nr;

	for (; from < to; from += step) {
		chunk(from, &fp, &want);
		assert_int_equal(index_lookup_disk(w->ix, &fp, got, 4, &nr,
						   NULL), 0);
		assert_int_equal(nr, 1);
		assert_true(same_place(&got[0], &want));
	}
}

void load_all(struct world *w)
{
	struct place got[1000];
	struct fp fps[1000];
	struct rng r = { 1 };
	u32 i;

	for (i = 0; i < 40; i++) {
		rng_fill(&r, fps, sizeof(fps));
		assert_int_equal(index_lookup(w->ix, fps, 1000, got, NULL), 0);
	}
}

struct index_stats stats_of(struct world *w)
{
	struct index_stats st;

	index_get_stats(w->ix, &st);
	return st;
}

u64 manifest_entries(const struct world *w)
{
	u64 nr = 0;
	u32 i;

	for (i = 0; i < w->nr_runs; i++)
		nr += w->runs[i].nr_entries;
	return nr;
}
