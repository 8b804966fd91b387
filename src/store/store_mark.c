/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks for damage that reading has come upon, when the handle is closed: so
 * that the next backup reads the files again that need it, and stores it anew.
 *
 * A place that could not be read may be sound itself, and what its group was
 * compressed against is not. So its group is read once more; if that fails
 * again all of its chunks are marked, and what the failure names as the cause
 * is looked at in the same way. A container in which a group is bad by itself
 * is read as a whole: holes are longer than groups. What else stands on all
 * that, and has not been read, a check finds by its references.
 */
#include "base/mem.h"
#include "os/clock.h"
#include "store/store.h"
#include "verify/verify_content.h"

/* Groups in one go: some thousand are a dying disk, and a check's business. */
#define MARK_GROUPS 256
/* Of a few MiB each, on the way out of a process. */
#define MARK_CONTAINERS 16

struct mark {
	struct akin_pool *p;
	struct depot_damage seen;	/* places looked at */
	struct place todo[MARK_GROUPS];
	u32 nr, done;
	u64 whole[MARK_CONTAINERS];	/* read as a whole */
	u32 nr_whole;
};

static int add_place(void *ctx, const struct place *at)
{
	struct mark *m = ctx;

	if (m->nr == MARK_GROUPS || at->entry == DAMAGE_WHOLE ||
	    depot_damage_marked(&m->seen, at))
		return 0;
	m->todo[m->nr++] = *at;
	return depot_damage_add(&m->seen, at, NULL);
}

static int mark_group(struct mark *m, const struct directory *d, u32 index,
		      int code)
{
	const struct dir_group *g = &d->groups[index];
	struct catalog_damage *rows;
	struct place at = { .container = d->container };
	u32 i, nsec;
	int err = 0;

	rows = mem_calloc(g->nr, sizeof(*rows));
	if (!rows)
		return -AKIN_E_nomem;
	for (i = 0; !err && i < g->nr; i++) {
		at.entry = d->entries[g->first + i].entry;
		rows[i].place = at;
		rows[i].fp = d->entries[g->first + i].fp;
		rows[i].code = code;
		clock_wall(&rows[i].found_sec, &nsec);
		/* The others of its group need no look of their own. */
		err = depot_damage_add(&m->seen, &at, NULL);
	}
	if (!err)
		err = catalog_mark_damaged(m->p->catalog, rows, g->nr, NULL);
	mem_free(rows);
	return err;
}

/* Read a group, and mark it if that fails: 1 if it is bad by itself. */
static int try_group(struct mark *m, struct container_reader *r, u32 index)
{
	struct group_test test = { 0 };
	int err;

	err = groupcache_test(m->p->depot.groups, &m->p->dec, r, index, &test,
			      NULL);
	if (!err || !verify_is_damage(err))
		return err;
	err = mark_group(m, container_directory(r), index, err);
	if (!err && test.base.container)
		err = add_place(m, &test.base);
	return err ? err : !test.base.container;
}

static int try_all(struct mark *m, struct container_reader *r)
{
	const struct directory *d = container_directory(r);
	u32 i;
	int err = 0;

	for (i = 0; i < m->nr_whole; i++)
		if (m->whole[i] == d->container)
			return 0;
	if (m->nr_whole == MARK_CONTAINERS)
		return 0;
	m->whole[m->nr_whole++] = d->container;
	for (i = 0; err >= 0 && i < d->nr_groups; i++)
		err = try_group(m, r, i);
	return err < 0 ? err : 0;
}

static int look_at(struct mark *m, const struct place *at)
{
	struct dircache *dirs = m->p->depot.dirs;
	struct container_reader *r;
	const struct directory *d;
	long index;
	int err;

	err = dircache_get(dirs, at->container, &r, NULL);
	if (err)
		return 0;	/* a check sees that without reading */
	d = container_directory(r);
	index = container_entry_index(d, at->entry);
	if (index >= 0)
		err = try_group(m, r, d->entries[index].group);
	if (err > 0)
		err = try_all(m, r);
	dircache_put(dirs, at->container);
	return err;
}

void store_mark_found(struct akin_pool *p)
{
	struct mark *m;
	int err;

	if (!depot_damage_any(&p->depot.found))
		return;
	m = mem_zalloc(sizeof(*m));
	if (!m)
		return;
	m->p = p;
	/* What was read badly once may lie in memory. */
	groupcache_clear(p->depot.groups);
	err = depot_damage_each(&p->depot.found, add_place, m);
	while (!err && m->done < m->nr)
		err = look_at(m, &m->todo[m->done++]);
	depot_damage_release(&m->seen);
	depot_damage_release(&p->depot.found);
	mem_free(m);
}
