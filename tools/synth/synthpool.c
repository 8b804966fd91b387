/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"
#include "synthpool.h"
#include "synthrun.h"

#define CHUNKS_EACH 2000	/* in a container */
/* Each tier's runs are that much smaller than the one above. */
#define TIER_STEP 8
/* Of a tier; one more and they would have been merged. */
#define TIER_RUNS 4
#define SMALLEST_RUN 20000
#define MAX_RUNS 64

struct filler {
	struct akin_pool *p;
	struct catalog_session info;
	struct catalog_run runs[MAX_RUNS];
	u32 nr_runs;
	u64 nr_filled;
	u64 first_container;
};

/* Rows for containers that are nowhere. */
static int add_containers(struct filler *f, u64 nr, struct akin_diag *diag)
{
	struct catalog_container rows[256];
	struct catalog_delta delta = { .containers = rows };
	u64 first;
	u32 i, n;
	int err = 0;

	for (; !err && nr > 0; nr -= n) {
		n = (u32)min_u64(nr, 256);
		err = catalog_reserve(f->p->catalog, f->info.number,
				      NUMBER_CONTAINER, n, &first, diag);
		if (!err && !f->first_container)
			f->first_container = first;
		memset(rows, 0, sizeof(rows));
		for (i = 0; i < n; i++) {
			rows[i].number = first + i;
			rows[i].kind = CONTAINER_DATA;
			rows[i].session = f->info.number;
			rows[i].file_bytes = 8 << 20;
			rows[i].dir_off = (8 << 20) - 100000;
			rows[i].dir_len = 100000 - CONTAINER_FOOTER_BYTES;
			rows[i].nr_entries = CHUNKS_EACH;
			rows[i].raw_bytes = 16 << 20;
		}
		delta.nr_containers = n;
		if (!err)
			err = catalog_checkpoint(f->p->catalog,
						 f->info.number, &delta, diag);
	}
	return err;
}

static int add_run(struct filler *f, u64 nr, u32 tier, struct akin_diag *diag)
{
	struct synthrun s = { .nr = nr, .nr_per_container = CHUNKS_EACH };
	struct catalog_run *run = &f->runs[f->nr_runs];
	struct index_run written;
	u64 number;
	int err;

	s.first_container = f->first_container + f->nr_filled / CHUNKS_EACH;
	/* Of no two runs of a pool the same. */
	s.seed = s.first_container * MAX_RUNS + f->nr_runs;
	err = catalog_reserve(f->p->catalog, f->info.number, NUMBER_RUN, 1,
			      &number, diag);
	if (!err)
		err = synthrun_write(&s, f->p->meta, &f->p->super.pool, number,
				     tier, &written, diag);
	if (err)
		return err;
	run->number = number;
	run->tier = tier;
	run->nr_entries = written.nr_entries;
	run->file_bytes = written.file_bytes;
	run->session = f->info.number;
	f->nr_runs++;
	f->nr_filled += nr;
	return 0;
}

/* The oldest and largest first: half of all, then tier by tier. */
static int add_runs(struct filler *f, u64 nr, struct akin_diag *diag)
{
	struct catalog_delta delta = { .runs = f->runs };
	u64 size = nr / 2, left = nr;
	u32 tier = 0, i;
	int err;

	for (u64 s = SMALLEST_RUN; s * TIER_STEP <= size; s *= TIER_STEP)
		tier++;
	err = add_run(f, nr - size, tier, diag);
	left = size;
	while (!err && left > 0) {
		size = max_u64(left / (TIER_RUNS + 1), SMALLEST_RUN);
		tier -= tier > 0;
		for (i = 0; !err && i < TIER_RUNS && left > 0; i++) {
			size = min_u64(size, left);
			err = add_run(f, size, tier, diag);
			left -= size;
		}
	}
	delta.nr_runs = f->nr_runs;
	if (!err)
		err = catalog_checkpoint(f->p->catalog, f->info.number, &delta,
					 diag);
	return err;
}

int synthpool_fill(struct akin_pool *p, u64 nr, struct akin_diag *diag)
{
	struct filler f = { .p = p };
	int err;

	snprintf(f.info.host, sizeof(f.info.host), "synthetic");
	snprintf(f.info.command, sizeof(f.info.command), "synthetic");
	f.info.pid = (u32)getpid();
	err = catalog_session_begin(p->catalog, &f.info, store_lock_session, p,
				    &f.info, diag);
	if (!err)
		err = add_containers(&f, nr / CHUNKS_EACH + 1, diag);
	if (!err)
		err = add_runs(&f, nr, diag);
	if (!err)
		err = catalog_session_end(p->catalog, f.info.number, diag);
	return err;
}

int synthpool_grow(const char *path, u64 nr, struct akin_diag *diag)
{
	struct akin_open_options opt = { .path = path };
	struct akin_pool *p;
	int err;

	err = akin_pool_open(&opt, &p, diag);
	if (err)
		return err;
	err = synthpool_fill(p, nr, diag);
	akin_pool_close(p);
	return err;
}

int synthpool_make(const char *path, u64 nr, struct akin_diag *diag)
{
	struct akin_init_options iopt = { .path = path };
	int err;

	err = akin_pool_init(&iopt, diag);
	return err || nr == 0 ? err : synthpool_grow(path, nr, diag);
}
