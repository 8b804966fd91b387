/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The similarity table of a pool, for one backup.
 *
 *	file --load--> table <--directories of containers that are not in it
 *	                 ^ '--added while the backup runs--.
 *	                 '--commit: file <-- table <-------'
 *
 * What is not in the file was stored by backups that look things up otherwise,
 * or the file was lost: the directories say it all again. So there is nothing
 * to repair, and no backup that does not use the table pays for it.
 */
#include "base/mem.h"
#include "container/container_reader.h"
#include "store/store.h"

/* More is worth a word. */
#define SAY_CONTAINERS 64

struct catch_up {
	struct akin_pool *p;
	u64 above, last;
	u64 nr;
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
	struct akin_diag *diag;
};

static int one_container(void *ctx, const struct catalog_container *row)
{
	struct container_reader *r = NULL;
	struct catch_up *cu = ctx;
	int err;

	if (row->number <= cu->above || row->condemned_txn)
		return 0;
	err = store_check_stop(cu->p, cu->diag);
	if (err)
		return err;
	if (++cu->nr == SAY_CONTAINERS && cu->say)
		cu->say(cu->say_ctx, "reading the directories of containers "
			"that are not in the similarity table yet");
	/* One that cannot be read represents nothing. */
	if (!container_open(cu->p->data, &cu->p->super.pool, row->number,
			    row->generation, &r, NULL))
		similar_add(cu->p->depot.similar, container_directory(r), 0);
	container_close(r);
	cu->last = max_u64(cu->last, row->number);
	return 0;
}

static int catch_up(struct akin_pool *p, struct catch_up *cu)
{
	int err;

	cu->above = similar_covered(p->depot.similar);
	err = catalog_each_container(p->catalog, one_container, cu, cu->diag);
	if (!err)
		similar_cover(p->depot.similar, cu->last);
	return err;
}

/* An eighth of what the index has; all of its table's where that is not used. */
static size_t table_budget(const struct akin_pool *p, u8 engine)
{
	return engine == SUPER_ENGINE_SIMILARITY ? p->budget.index / 2 :
						   p->budget.index / 8;
}

size_t store_similar_memory(const struct akin_pool *p, u8 engine)
{
	return engine == SUPER_ENGINE_HYBRID ? table_budget(p, engine) : 0;
}

int store_similar_open(struct akin_pool *p, u8 engine,
		       void (*say)(void *ctx, const char *text), void *ctx,
		       struct akin_diag *diag)
{
	struct catch_up cu = { .p = p, .say = say, .say_ctx = ctx,
			       .diag = diag };
	struct similar_options opt = { 0 };
	struct similar_stats st;
	struct catalog_totals t;
	int err;

	if (engine == SUPER_ENGINE_IDENTITY)
		return 0;
	err = catalog_totals(p->catalog, &t, diag);
	if (err)
		return err;
	opt.meta = p->meta;
	opt.pool = p->super.pool;
	opt.budget_bytes = table_budget(p, engine);
	opt.stored_bytes = t.data_bytes + t.meta_bytes;
	err = similar_new(&opt, &p->depot.similar, diag);
	if (err)
		return err;
	similar_load(p->depot.similar);
	err = catch_up(p, &cu);
	if (err) {
		store_similar_close(p, false);
		return err;
	}
	similar_get_stats(p->depot.similar, &st);
	counters_set(p->counters, similar_bytes, st.bytes);
	p->depot.engine = engine;
	index_set_blind(p->index, engine == SUPER_ENGINE_SIMILARITY);
	return 0;
}

void store_similar_close(struct akin_pool *p, bool commit)
{
	struct similar *s = p->depot.similar;

	p->depot.engine = SUPER_ENGINE_IDENTITY;
	p->depot.similar = NULL;
	if (p->index)
		index_set_blind(p->index, false);
	/* Who comes too late leaves it to the next one, who catches up. */
	if (s && commit && !store_lock_similar(p, true)) {
		ignore_result(similar_save(s, NULL));
		ignore_result(store_lock_similar(p, false));
	}
	similar_free(s);
}
