/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inodes, directories, and name operations that are not durable yet.
 */
#include <stdlib.h>

#include "base/check.h"
#include "simdisk_internal.h"

struct sim_inode *inode_new(struct simdisk *sd, bool is_dir)
{
	struct sim_inode *in = sim_alloc(sizeof(*in));

	in->sd = sd;
	in->is_dir = is_dir;
	in->refs = 1;
	in->prev = sd->last;
	if (sd->last)
		sd->last->next = in;
	else
		sd->first = in;
	sd->last = in;
	return in;
}

struct sim_inode *inode_get(struct sim_inode *in)
{
	in->refs++;
	return in;
}

void inode_put(struct sim_inode *in)
{
	if (!in || --in->refs)
		return;
	akin_assert(in->nr_open == 0 && in->nr_locks == 0);
	if (in->prev)
		in->prev->next = in->next;
	else
		in->sd->first = in->next;
	if (in->next)
		in->next->prev = in->prev;
	else
		in->sd->last = in->prev;
	image_release(&in->now);
	image_release(&in->durable);
	pending_clear(in);
	free(in->pending);
	free(in->locks);
	table_release(&in->names);
	table_release(&in->durable_names);
	free(in);
}

/* Where @name is or would be. */
static size_t table_index(const struct sim_table *t, const char *name,
			  bool *found)
{
	size_t lo = 0, hi = t->nr, mid;
	int c;

	*found = false;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		c = strcmp(t->e[mid].name, name);
		if (c == 0) {
			*found = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct sim_inode *table_find(const struct sim_table *t, const char *name)
{
	bool found;
	size_t i = table_index(t, name, &found);

	return found ? t->e[i].inode : NULL;
}

static void table_remove(struct sim_table *t, size_t i)
{
	struct sim_entry old = t->e[i];

	t->nr--;
	memmove(&t->e[i], &t->e[i + 1], (t->nr - i) * sizeof(*t->e));
	free(old.name);
	inode_put(old.inode);
}

void table_set(struct sim_table *t, const char *name, struct sim_inode *in)
{
	bool found;
	size_t i = table_index(t, name, &found);
	struct sim_inode *old;

	if (!in) {
		if (found)
			table_remove(t, i);
		return;
	}
	if (found) {
		old = t->e[i].inode;
		t->e[i].inode = inode_get(in);
		inode_put(old);
		return;
	}
	t->e = sim_grow(t->e, t->nr, &t->cap, sizeof(*t->e));
	memmove(&t->e[i + 1], &t->e[i], (t->nr - i) * sizeof(*t->e));
	t->e[i].name = sim_strdup(name);
	t->e[i].inode = inode_get(in);
	t->nr++;
}

void dir_set(struct sim_inode *dir, const char *name, struct sim_inode *in)
{
	struct sim_inode *old = table_find(&dir->names, name);

	if (old)
		old->nr_names--;
	if (in)
		in->nr_names++;
	table_set(&dir->names, name, in);
}

void table_release(struct sim_table *t)
{
	while (t->nr)
		table_remove(t, t->nr - 1);
	free(t->e);
	memset(t, 0, sizeof(*t));
}

/* One step down; skips '/' and a "." component. */
static struct sim_inode *step(struct sim_inode *dir, const char *p, size_t n)
{
	char name[256];

	if (n == 1 && p[0] == '.')
		return dir;
	if (!dir->is_dir || n >= sizeof(name))
		return NULL;
	memcpy(name, p, n);
	name[n] = 0;
	return table_find(&dir->names, name);
}

struct sim_inode *sim_lookup(struct simdisk *sd, const char *path)
{
	struct sim_inode *in = sd->root;
	size_t n;

	while (in && *path) {
		n = strcspn(path, "/");
		in = step(in, path, n);
		path += n;
		path += *path == '/';
	}
	return in;
}

struct sim_inode *sim_parent(struct simdisk *sd, const char *path,
			     const char **last_ret)
{
	struct sim_inode *in = sd->root;
	const char *slash;

	while (in && (slash = strchr(path, '/'))) {
		in = step(in, path, (size_t)(slash - path));
		path = slash + 1;
	}
	*last_ret = path;
	return in && in->is_dir ? in : NULL;
}

void sim_change_names(struct simdisk *sd, const struct sim_change *change,
		      unsigned nr)
{
	struct sim_name_op *op;
	unsigned i;

	sd->ops = sim_grow(sd->ops, sd->nr_ops, &sd->cap_ops,
			   sizeof(*sd->ops));
	op = &sd->ops[sd->nr_ops++];
	memset(op, 0, sizeof(*op));
	op->nr = nr;
	for (i = 0; i < nr; i++) {
		op->change[i].dir = inode_get(change[i].dir);
		op->change[i].name = sim_strdup(change[i].name);
		if (change[i].inode)
			op->change[i].inode = inode_get(change[i].inode);
	}
	for (i = 0; i < nr; i++)
		dir_set(op->change[i].dir, op->change[i].name,
			op->change[i].inode);
}

static void op_release(struct sim_name_op *op)
{
	unsigned i;

	for (i = 0; i < op->nr; i++) {
		free(op->change[i].name);
		inode_put(op->change[i].inode);
		inode_put(op->change[i].dir);
	}
}

void sim_drop_name_ops(struct simdisk *sd)
{
	size_t i;

	for (i = 0; i < sd->nr_ops; i++)
		op_release(&sd->ops[i]);
	free(sd->ops);
	sd->ops = NULL;
	sd->nr_ops = sd->cap_ops = 0;
}

static bool op_touches(const struct sim_name_op *op,
		       const struct sim_inode *dir)
{
	return op->change[0].dir == dir ||
	       (op->nr == 2 && op->change[1].dir == dir);
}

static bool ops_share_name(const struct sim_name_op *a,
			   const struct sim_name_op *b)
{
	unsigned i, j;

	for (i = 0; i < a->nr; i++) {
		for (j = 0; j < b->nr; j++) {
			if (a->change[i].dir == b->change[j].dir &&
			    strcmp(a->change[i].name, b->change[j].name) == 0)
				return true;
		}
	}
	return false;
}

/*
 * Which operations a sync of @dir makes durable: its own, and, from the newest
 * back, those that touched a name in another directory before one of these
 * did. Without the latter, an older change would come after a newer one.
 */
static void mark_commit(struct simdisk *sd, struct sim_inode *dir, bool *mark)
{
	size_t i, j;

	for (i = sd->nr_ops; i-- > 0;) {
		mark[i] = op_touches(&sd->ops[i], dir);
		for (j = i + 1; j < sd->nr_ops && !mark[i]; j++) {
			mark[i] = mark[j] && sd->ops[j].nr == 2 &&
				  ops_share_name(&sd->ops[i], &sd->ops[j]);
		}
	}
}

void sim_commit_dir(struct simdisk *sd, struct sim_inode *dir)
{
	struct sim_name_op *op;
	size_t i, left = 0;
	bool *mark;
	unsigned k;

	if (!sd->nr_ops)
		return;
	mark = sim_alloc(sd->nr_ops);
	mark_commit(sd, dir, mark);
	for (i = 0; i < sd->nr_ops; i++) {
		op = &sd->ops[i];
		if (!mark[i]) {
			sd->ops[left++] = *op;
			continue;
		}
		for (k = 0; k < op->nr; k++)
			table_set(&op->change[k].dir->durable_names,
				  op->change[k].name, op->change[k].inode);
		op_release(op);
	}
	sd->nr_ops = left;
	free(mark);
}

u64 sim_used(const struct simdisk *sd)
{
	const struct sim_inode *in;
	u64 pages = 0;

	for (in = sd->first; in; in = in->next) {
		if (in->nr_names || in->nr_open || in == sd->root)
			pages += 1 + in->now.nr_alloc;
	}
	return pages * SIM_PAGE;
}
