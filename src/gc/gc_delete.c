/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condemning and deleting.
 *
 *	condemn   batches, high container numbers first, so that nothing that
 *		  is not condemned ever stands on something that is
 *	move      the own lock to what the catalog says now
 *	test      is there a lock on a number below?
 *	bury      tombstones that are missing
 *	un-name   what is still condemned, by numbers that passed the test
 *	unlink    its files
 */
#include "container/container_parity.h"
#include "gc/gc_internal.h"

int gc_condemn_dead(struct gc *g, struct akin_diag *diag)
{
	bool grown = false;
	u32 at = 0, nr;
	u64 txn = 0;
	int err = 0;

	g->progress.phase = "condemning";
	while (!err && at < g->nr_dead) {
		err = gc_tick(g, diag);
		if (err)
			break;
		nr = (u32)min_u64(g->nr_dead - at, CATALOG_BATCH);
		err = catalog_condemn(g->catalog, g->marked, g->dead + at, nr,
				      NULL, 0, &txn, &grown, diag);
		if (err || grown)
			break;
		g->condemned = txn;
		at += nr;
	}
	if (err)
		return err;
	return grown ? 0 : 1;
}

void gc_unlink(struct gc *g, u64 container, u32 generation, u64 *bytes_ret)
{
	const struct container_id id = { container, generation };
	char name[FORMAT_NAME_MAX];
	struct disk_stat st;

	/* First, so that there is none without a container. */
	ignore_result(container_parity_remove(g->depot->data, &id, bytes_ret,
					      NULL));
	format_container_name(container, generation, name);
	if (disk_stat(g->depot->data, name, &st, NULL))
		return;
	if (!disk_unlink(g->depot->data, name, NULL))
		*bytes_ret += st.size_bytes;
}

/* The highest number whose condemned may go; 0: none. */
static int test_locks(struct gc *g, u64 *upto_ret, struct akin_diag *diag)
{
	struct catalog_numbers n;
	u64 held = 0;
	int err;

	err = catalog_numbers(g->catalog, &n, diag);
	if (!err)
		err = g->opt->lock_below(g->opt->store, n.condemn_txn, &held,
					 diag);
	if (err)
		return err;
	/* Who has locked a number may use what was condemned above it. */
	*upto_ret = held ? held : n.condemn_txn;
	g->result->held_txn = held;
	return 0;
}

static int unname_all(struct gc *g, u64 upto, struct akin_diag *diag)
{
	struct catalog_generation batch[CATALOG_BATCH];
	u32 nr, i;
	u64 bytes;
	int err;

	do {
		err = gc_tick(g, diag);
		if (!err)
			err = catalog_unname(g->catalog, upto, batch, &nr,
					     diag);
		if (err)
			return err;
		gc_at(g, GC_UNNAMED);
		for (i = 0; i < nr; i++) {
			gc_unlink(g, batch[i].container, batch[i].generation,
				  &bytes);
			g->result->deleted_files++;
			g->result->deleted_bytes += bytes;
			g->progress.bytes += bytes;
			g->progress.containers++;
		}
	} while (nr);
	return 0;
}

int gc_delete(struct gc *g, bool *held_ret, struct akin_diag *diag)
{
	u64 upto = 0;
	int err;

	g->progress.phase = "deleting";
	gc_at(g, GC_CONDEMNED);
	err = g->opt->move_lock(g->opt->store, diag);
	if (!err)
		err = test_locks(g, &upto, diag);
	if (err)
		return err;
	*held_ret = g->result->held_txn != 0;
	gc_at(g, GC_TESTED);
	if (!g->buried)
		err = gc_bury_forgotten(g, diag);
	g->buried = true;
	return err ? err : unname_all(g, upto, diag);
}
