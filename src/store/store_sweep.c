/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the index that nobody names: what a process that died left in
 * "runs" and "tmp" of the metadata directory.
 *
 * A run without a name belongs to a session that has not committed it yet, or
 * to nobody. Nothing in the file says which: its number was reserved, and the
 * header comes last. So nothing is removed while any session but our own
 * lives; that is one test of the range of their bytes in the lock file. The
 * order decides:
 *
 *	1. list the files
 *	2. nobody else lives: so who made them has committed them, or never will
 *	3. ask the catalog which of them it names
 *
 * Who begins a session after 2 has files that are not in the list. Numbers are
 * never reused, so a name in it means one file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "store/store.h"

/* For one backup: what is more waits for the next. */
#define SWEEP_MAX 1024

struct sweep {
	struct akin_pool *p;
	u64 *runs;		/* numbers of candidates; 0: not one any more */
	u32 nr_runs;
	char (*temps)[FORMAT_NAME_MAX];
	u32 nr_temps;
};

static int one_run(void *ctx, const char *name, bool is_dir)
{
	struct sweep *s = ctx;
	char own[FORMAT_NAME_MAX];
	u64 number;

	number = strtoull(name, NULL, 16);
	format_run_name(number, own);
	/* Whatever is not ours stays. */
	if (is_dir || !number || strcmp(own + strlen(DIR_RUNS "/"), name))
		return 0;
	if (index_has_run(s->p->index, number))
		return 0;
	s->runs[s->nr_runs++] = number;
	return s->nr_runs == SWEEP_MAX;
}

static int one_temp(void *ctx, const char *name, bool is_dir)
{
	struct sweep *s = ctx;

	if (is_dir || strncmp(name, "tmp-", 4) != 0)
		return 0;
	if (snprintf(s->temps[s->nr_temps], FORMAT_NAME_MAX, "%s/%s", DIR_TMP,
		     name) >= FORMAT_NAME_MAX)
		return 0;
	return ++s->nr_temps == SWEEP_MAX;
}

static int spare_named(void *ctx, const struct catalog_run *run)
{
	struct sweep *s = ctx;
	u32 i;

	for (i = 0; i < s->nr_runs; i++)
		if (s->runs[i] == run->number)
			s->runs[i] = 0;
	return 0;
}

static void unlink_found(struct sweep *s)
{
	char name[FORMAT_NAME_MAX];
	u32 i;

	for (i = 0; i < s->nr_runs; i++) {
		if (!s->runs[i])
			continue;
		format_run_name(s->runs[i], name);
		/* The next backup tries again. */
		ignore_result(disk_unlink(s->p->meta, name, NULL));
	}
	/* Normally they have no names; who has one open keeps it. */
	for (i = 0; i < s->nr_temps; i++)
		ignore_result(disk_unlink(s->p->meta, s->temps[i], NULL));
}

void store_sweep(struct akin_pool *p)
{
	struct sweep s = { .p = p };
	int err;

	s.runs = mem_calloc(SWEEP_MAX, sizeof(*s.runs));
	s.temps = mem_calloc(SWEEP_MAX, sizeof(*s.temps));
	if (!s.runs || !s.temps)
		goto out;
	err = disk_list(p->meta, DIR_RUNS, one_run, &s, NULL);
	if (err >= 0)
		err = disk_list(p->meta, DIR_TMP, one_temp, &s, NULL);
	if (err < 0 || !(s.nr_runs + s.nr_temps) || !store_lives_alone(p))
		goto out;
	if (s.nr_runs && catalog_each_run(p->catalog, spare_named, &s, NULL))
		goto out;
	unlink_found(&s);
out:
	mem_free(s.runs);
	mem_free(s.temps);
}
