/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only one snapshot needs, and what forgetting several would free: asked
 * of reclaiming itself, in a rehearsal.
 *
 *	reclaim		what is free already is nobody's merit
 *	mark		what is dead nevertheless: too little to be copied
 *	for each:	forget, mark, undelete
 *	forget all, reclaim
 */
#include "base/mem.h"
#include "store/store.h"

struct sole {
	struct akin_pool *p;
	const struct akin_sole_options *opt;
	struct akin_diag *diag;
};

static int reclaim(struct sole *s, bool dry_run, struct akin_gc_result *out)
{
	struct akin_gc_options opt = { .dry_run = dry_run,
				       .progress = s->opt->progress,
				       .ctx = s->opt->ctx };

	return akin_gc(s->p, &opt, out, s->diag);
}

/* Bytes that nobody needs, in whatever container they are. */
static int dead_bytes(struct sole *s, u64 *out)
{
	struct akin_gc_result r;
	int err = reclaim(s, true, &r);

	*out = r.dead_bytes + r.partly_dead_bytes + r.kept_below_bytes;
	return err;
}

static int forget(struct sole *s, const u64 *numbers, u32 nr)
{
	struct akin_forget_options opt = { .snapshots = numbers,
					   .nr_snapshots = nr };
	struct akin_forget_result r;
	u32 i;
	int err = 0;

	/* It is only a question. */
	for (i = 0; !err && i < nr; i++)
		err = akin_snapshot_unprotect(s->p, numbers[i], s->diag);
	return err ? err : akin_forget(s->p, &opt, &r, s->diag);
}

static int sole_bytes(struct sole *s, u64 number, u64 dead, u64 *out)
{
	u64 now = 0;
	int err;

	err = forget(s, &number, 1);
	if (!err)
		err = dead_bytes(s, &now);
	*out = now - min_u64(now, dead);
	return err ? err : akin_snapshot_undelete(s->p, number, s->diag);
}

int akin_stats_sole(struct akin_pool *p, const struct akin_sole_options *opt,
		    uint64_t *bytes, struct akin_gc_result *all,
		    struct akin_diag *diag)
{
	struct sole s = { p, opt, diag };
	u64 dead = 0;
	u32 i;
	int err;

	memset(all, 0, sizeof(*all));
	if (!p->rehearse)
		return diag_set(diag, -AKIN_E_usage, "what forgetting would "
				"free is found out in a rehearsal only");
	err = reclaim(&s, false, all);
	if (!err)
		err = dead_bytes(&s, &dead);
	for (i = 0; !err && i < opt->nr_snapshots; i++)
		err = sole_bytes(&s, opt->snapshots[i], dead, &bytes[i]);
	if (!err)
		err = forget(&s, opt->snapshots, opt->nr_snapshots);
	return err ? err : reclaim(&s, false, all);
}
