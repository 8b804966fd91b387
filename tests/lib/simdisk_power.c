/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Around the lying disk: making, cloning, crashing, damaging, looking at it.
 *
 * Cloning and rebooting build, for each inode, a twin in the new disk, then
 * the twins' directories, then drop what no name leads to.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "simdisk_internal.h"
#include "testlib.h"

static void machine_put(struct sim_machine *m)
{
	size_t i;

	if (--m->refs)
		return;
	for (i = 0; i < m->nr_log; i++)
		free(m->log[i].name);
	free(m->log);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

struct simdisk *simdisk_new(const char *label)
{
	struct simdisk *sd = sim_alloc(sizeof(*sd));

	sd->machine = sim_alloc(sizeof(*sd->machine));
	sd->machine->refs = 1;
	akin_assert(pthread_mutex_init(&sd->machine->lock, NULL) == 0);
	sd->label = label;
	sd->root = inode_new(sd, true);
	return sd;
}

void simdisk_free(struct simdisk *sd)
{
	if (!sd)
		return;
	akin_assert(sd->nr_attached == 0);
	sim_drop_name_ops(sd);
	inode_put(sd->root);
	akin_assert(!sd->first);
	machine_put(sd->machine);
	free(sd);
}

void simdisk_join(struct simdisk *sd, struct simdisk *other)
{
	akin_assert(sd->nr_attached == 0 && sd->machine->nr_log == 0);
	other->machine->refs++;
	machine_put(sd->machine);
	sd->machine = other->machine;
}

u64 simdisk_nr_ops(struct simdisk *sd)
{
	u64 nr;

	pthread_mutex_lock(&sd->machine->lock);
	nr = sd->machine->nr_log;
	pthread_mutex_unlock(&sd->machine->lock);
	return nr;
}

void simdisk_crash_at(struct simdisk *sd, u64 nr)
{
	struct sim_machine *m = sd->machine;

	pthread_mutex_lock(&m->lock);
	m->crash_at = nr;
	m->crashed = nr && m->nr_log >= nr;
	pthread_mutex_unlock(&m->lock);
}

bool simdisk_crashed(struct simdisk *sd)
{
	bool crashed;

	pthread_mutex_lock(&sd->machine->lock);
	crashed = sd->machine->crashed;
	pthread_mutex_unlock(&sd->machine->lock);
	return crashed;
}

void simdisk_fail(struct simdisk *sd, const struct sim_fault *fault)
{
	pthread_mutex_lock(&sd->machine->lock);
	sd->fault = *fault;
	sd->fault_seen = 0;
	sd->nr_faults = 0;
	pthread_mutex_unlock(&sd->machine->lock);
}

u64 simdisk_nr_faults(struct simdisk *sd)
{
	u64 nr;

	pthread_mutex_lock(&sd->machine->lock);
	nr = sd->nr_faults;
	pthread_mutex_unlock(&sd->machine->lock);
	return nr;
}

void simdisk_set_capacity(struct simdisk *sd, u64 bytes)
{
	pthread_mutex_lock(&sd->machine->lock);
	sd->capacity = bytes;
	pthread_mutex_unlock(&sd->machine->lock);
}

u64 simdisk_used(struct simdisk *sd)
{
	u64 used;

	pthread_mutex_lock(&sd->machine->lock);
	used = sim_used(sd);
	pthread_mutex_unlock(&sd->machine->lock);
	return used;
}

/* Twins for all inodes, with no contents; each is held once for us. */
static void twins_make(struct simdisk *from, struct simdisk *to)
{
	struct sim_inode *in;

	for (in = from->first; in; in = in->next)
		in->twin = in == from->root ? inode_get(to->root) :
					      inode_new(to, in->is_dir);
}

static void twins_drop(struct simdisk *from)
{
	struct sim_inode *in, *twin;

	for (in = from->first; in; in = in->next) {
		twin = in->twin;
		in->twin = NULL;
		inode_put(twin);
	}
}

static void table_twin(struct sim_table *to, const struct sim_table *from)
{
	size_t i;

	for (i = 0; i < from->nr; i++)
		table_set(to, from->e[i].name, from->e[i].inode->twin);
}

static void table_copy(struct sim_table *to, const struct sim_table *from)
{
	size_t i;

	for (i = 0; i < from->nr; i++)
		table_set(to, from->e[i].name, from->e[i].inode);
}

static void dir_twin(struct sim_inode *dir, const struct sim_table *from)
{
	size_t i;

	for (i = 0; i < from->nr; i++)
		dir_set(dir, from->e[i].name, from->e[i].inode->twin);
}

static void clone_inode(const struct sim_inode *in)
{
	size_t i;

	image_copy(&in->twin->now, &in->now);
	image_copy(&in->twin->durable, &in->durable);
	in->twin->lossy = in->lossy;
	for (i = 0; i < in->nr_pending; i++)
		pending_share(in->twin, &in->pending[i]);
	dir_twin(in->twin, &in->names);
	table_twin(&in->twin->durable_names, &in->durable_names);
}

static void clone_name_op(struct simdisk *to, const struct sim_name_op *op)
{
	struct sim_name_op *copy;
	struct sim_change *c;
	unsigned k;

	to->ops = sim_grow(to->ops, to->nr_ops, &to->cap_ops,
			   sizeof(*to->ops));
	copy = &to->ops[to->nr_ops++];
	memset(copy, 0, sizeof(*copy));
	copy->nr = op->nr;
	for (k = 0; k < op->nr; k++) {
		c = &copy->change[k];
		c->dir = inode_get(op->change[k].dir->twin);
		c->name = sim_strdup(op->change[k].name);
		if (op->change[k].inode)
			c->inode = inode_get(op->change[k].inode->twin);
	}
}

struct simdisk *simdisk_clone(struct simdisk *sd)
{
	struct simdisk *to = simdisk_new(sd->label);
	struct sim_inode *in;
	size_t i;

	pthread_mutex_lock(&sd->machine->lock);
	to->capacity = sd->capacity;
	twins_make(sd, to);
	for (in = sd->first; in; in = in->next)
		clone_inode(in);
	for (i = 0; i < sd->nr_ops; i++)
		clone_name_op(to, &sd->ops[i]);
	twins_drop(sd);
	pthread_mutex_unlock(&sd->machine->lock);
	return to;
}

/* Some sectors of a write arrive; their neighbours keep what they had. */
static void apply_torn(const struct sim_pending *p, struct sim_image *img,
		       struct rng *rng)
{
	size_t done = 0, take;

	while (done < p->blob->len) {
		take = SIM_SECTOR - (p->off + done) % SIM_SECTOR;
		if (take > p->blob->len - done)
			take = p->blob->len - done;
		if (rng_below(rng, 2))
			image_write(img, p->blob->b + done, take,
				    p->off + done);
		done += take;
	}
}

/*
 * Sizes are metadata and arrive in order, as a prefix of what was done; bytes
 * arrive or not each by itself. Losing a later write and keeping an earlier
 * one is what reordering looks like afterwards.
 */
static void reboot_torn(const struct sim_inode *in, struct sim_image *img,
			struct rng *rng)
{
	size_t prefix = (size_t)rng_below(rng, in->nr_pending + 1), i;
	u64 size = img->size;

	for (i = 0; i < in->nr_pending; i++) {
		const struct sim_pending *p = &in->pending[i];

		if (i < prefix)
			size = p->size_after;
		if (p->kind == PENDING_WRITE) {
			switch (rng_below(rng, 3)) {
			case 0:
				pending_apply(p, img);
				break;
			case 1:
				apply_torn(p, img, rng);
				break;
			}
		} else if (i < prefix) {
			pending_apply(p, img);
		}
	}
	image_truncate(img, size);
}

static void reboot_inode(const struct sim_inode *in, enum sim_mode mode,
			 struct rng *rng)
{
	struct sim_image *img = &in->twin->now;
	size_t i;

	image_copy(img, &in->durable);
	if (mode == SIM_KEEP) {
		for (i = 0; i < in->nr_pending; i++)
			pending_apply(&in->pending[i], img);
	} else if (mode != SIM_LOSE) {
		reboot_torn(in, img, rng);
	}
	image_copy(&in->twin->durable, img);
	dir_twin(in->twin, &in->durable_names);
}

/*
 * Which pending name operations arrived. For SIM_TORN each directory keeps a
 * prefix: it ends at a random place, and with an operation that the other
 * directory of a rename has lost.
 */
static bool keep_name_op(const struct sim_name_op *op, enum sim_mode mode,
			 u64 nr_ops, struct rng *rng)
{
	bool keep;
	unsigned k;

	if (mode != SIM_TORN)
		return mode == SIM_KEEP || (mode == SIM_WILD &&
					    rng_below(rng, 2));
	keep = rng_below(rng, nr_ops + 1) != 0;
	for (k = 0; k < op->nr; k++)
		keep &= !op->change[k].dir->twin->ended;
	for (k = 0; k < op->nr && !keep; k++)
		op->change[k].dir->twin->ended = true;
	return keep;
}

static void reboot_names(struct simdisk *sd, enum sim_mode mode,
			 struct rng *rng)
{
	const struct sim_change *c;
	struct sim_inode *in;
	size_t i;
	unsigned k;

	for (i = 0; i < sd->nr_ops; i++) {
		if (!keep_name_op(&sd->ops[i], mode, sd->nr_ops, rng))
			continue;
		for (k = 0; k < sd->ops[i].nr; k++) {
			c = &sd->ops[i].change[k];
			dir_set(c->dir->twin, c->name,
				c->inode ? c->inode->twin : NULL);
		}
	}
	for (in = sd->first; in; in = in->next)
		table_copy(&in->twin->durable_names, &in->twin->names);
}

struct simdisk *simdisk_reboot(struct simdisk *sd, u64 seed,
			       enum sim_mode mode)
{
	struct simdisk *to = simdisk_new(sd->label);
	struct rng rng = { seed };
	struct sim_inode *in;

	pthread_mutex_lock(&sd->machine->lock);
	to->capacity = sd->capacity;
	twins_make(sd, to);
	for (in = sd->first; in; in = in->next)
		reboot_inode(in, mode, &rng);
	reboot_names(sd, mode, &rng);
	twins_drop(sd);
	pthread_mutex_unlock(&sd->machine->lock);
	return to;
}

static void patch(struct simdisk *sd, const char *name, u64 off, u8 and,
		  u8 xor)
{
	struct sim_inode *in;
	size_t i;

	pthread_mutex_lock(&sd->machine->lock);
	in = sim_lookup(sd, name);
	akin_assert(in && !in->is_dir && off < in->now.size);
	image_patch(&in->now, off, and, xor);
	image_patch(&in->durable, off, and, xor);
	for (i = 0; i < in->nr_pending; i++)
		pending_patch(&in->pending[i], off, and, xor);
	pthread_mutex_unlock(&sd->machine->lock);
}

void simdisk_flip_bit(struct simdisk *sd, const char *name, u64 off,
		      unsigned bit)
{
	patch(sd, name, off, 0xff, (u8)(1u << (bit & 7)));
}

void simdisk_poke(struct simdisk *sd, const char *name, u64 off,
		  const void *data, size_t n)
{
	const u8 *p = data;
	size_t i;

	for (i = 0; i < n; i++)
		patch(sd, name, off + i, 0, p[i]);
}

struct names {
	struct sim_name *v;
	size_t nr, cap;
};

static void names_walk(const struct sim_inode *dir, const char *prefix,
		       struct names *out)
{
	const struct sim_entry *e;
	struct sim_name *n;
	char *path;
	size_t i, size;

	for (i = 0; i < dir->names.nr; i++) {
		e = &dir->names.e[i];
		size = strlen(prefix) + strlen(e->name) + 2;
		path = sim_alloc(size);
		snprintf(path, size, "%s%s%s", prefix, *prefix ? "/" : "",
			 e->name);
		out->v = sim_grow(out->v, out->nr, &out->cap, sizeof(*out->v));
		n = &out->v[out->nr++];
		n->path = path;
		n->size_bytes = e->inode->now.size;
		n->is_dir = e->inode->is_dir;
		names_walk(e->inode, path, out);
	}
}

static int name_compare(const void *a, const void *b)
{
	const struct sim_name *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static struct names names_all(const struct simdisk *sd)
{
	struct names out = { 0 };

	names_walk(sd->root, "", &out);
	if (out.nr)
		qsort(out.v, out.nr, sizeof(*out.v), name_compare);
	return out;
}

struct sim_name *simdisk_names(struct simdisk *sd, size_t *nr_ret)
{
	struct names out;

	pthread_mutex_lock(&sd->machine->lock);
	out = names_all(sd);
	pthread_mutex_unlock(&sd->machine->lock);
	*nr_ret = out.nr;
	return out.v;
}

void simdisk_names_free(struct sim_name *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		free(names[i].path);
	free(names);
}

/* FNV-1a: any difference will do, speed will not matter. */
static u64 hash_bytes(u64 h, const void *data, size_t n)
{
	const u8 *p = data;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

u64 simdisk_hash(struct simdisk *sd)
{
	u64 h = 0xcbf29ce484222325ull, off;
	struct sim_inode *in;
	struct names all;
	u8 page[SIM_PAGE];
	size_t i;

	pthread_mutex_lock(&sd->machine->lock);
	all = names_all(sd);
	for (i = 0; i < all.nr; i++) {
		in = sim_lookup(sd, all.v[i].path);
		h = hash_bytes(h, all.v[i].path, strlen(all.v[i].path) + 1);
		h = hash_bytes(h, &in->now.size, sizeof(in->now.size));
		h = hash_bytes(h, &in->is_dir, sizeof(in->is_dir));
		for (off = 0; off < in->now.size; off += SIM_PAGE) {
			image_read(&in->now, page, SIM_PAGE, off);
			h = hash_bytes(h, page, SIM_PAGE);
		}
	}
	pthread_mutex_unlock(&sd->machine->lock);
	simdisk_names_free(all.v, all.nr);
	return h;
}
