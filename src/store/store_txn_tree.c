/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a transaction, and the tree made of them at its end.
 *
 * Objects come in any order, and trees are built in the order of names; so what
 * is known of an object (its node, encoded, and the hint of its content) stays
 * in memory until the end. That bounds how many there can be.
 *
 * I1. No two objects of a transaction have the same path: txn_add_locked().
 * I2. Sorted as paths are compared here, what lies below a path follows it
 *     directly: a slash sorts before every byte of a name.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "os/clock.h"
#include "store/store_session.h"

#define TABLE_MIN 64

int txn_new(struct akin_session *s, struct txn **out, struct akin_diag *diag)
{
	struct txn *t = mem_zalloc(sizeof(*t));

	if (!t)
		return diag_set(diag, -AKIN_E_nomem, "transaction");
	t->table = mem_calloc(TABLE_MIN, sizeof(*t->table));
	t->nr_slots = TABLE_MIN;
	t->streams = mem_calloc(s->limits.max_open, sizeof(*t->streams));
	if (!t->table || !t->streams) {
		txn_free(t);
		return diag_set(diag, -AKIN_E_nomem, "transaction");
	}
	*out = t;
	return 0;
}

void txn_object_free(struct txn_object *o)
{
	if (!o)
		return;
	mem_free(o->path);
	mem_free(o->record);
	mem_free(o->hint.containers);
	mem_free(o);
}

void txn_free(struct txn *t)
{
	u32 i;

	if (!t)
		return;
	for (i = 0; i < t->nr_objects; i++)
		txn_object_free(t->objects[i]);
	for (i = 0; i < t->nr_spaces; i++) {
		mem_free(t->spaces[i].name);
		snapshot_release(&t->spaces[i].parent);
	}
	mem_free(t->objects);
	mem_free(t->table);
	mem_free(t->spaces);
	mem_free(t->streams);
	mem_free(t);
}

/* Where @path is in the table, or would be. */
static u32 find_slot(const struct txn *t, const char *path)
{
	u32 mask = t->nr_slots - 1, i;

	i = (u32)checksum64(path, strlen(path), 0) & mask;
	while (t->table[i] && strcmp(t->objects[t->table[i] - 1]->path, path))
		i = (i + 1) & mask;
	return i;
}

/* Half full at most. */
static int grow_table(struct txn *t)
{
	u32 *table, i;

	if ((t->nr_objects + 1) * 2 <= t->nr_slots)
		return 0;
	table = mem_calloc(t->nr_slots, 2 * sizeof(*table));
	if (!table)
		return -AKIN_E_nomem;
	mem_free(t->table);
	t->table = table;
	t->nr_slots *= 2;
	for (i = 0; i < t->nr_objects; i++)
		table[find_slot(t, t->objects[i]->path)] = i + 1;
	return 0;
}

static int grow_objects(struct txn *t)
{
	u32 cap = t->cap_objects ? t->cap_objects * 2 : 64;
	void *p;

	if (t->nr_objects < t->cap_objects)
		return 0;
	p = mem_realloc(t->objects, cap * sizeof(*t->objects));
	if (!p)
		return -AKIN_E_nomem;
	t->objects = p;
	t->cap_objects = cap;
	return 0;
}

int txn_add_locked(struct akin_session *s, struct txn *t, struct txn_object *o,
		   struct akin_diag *diag)
{
	size_t bytes = OBJECT_BYTES + strlen(o->path) + o->record_len;
	u32 slot = find_slot(t, o->path);
	int err;

	if (t->table[slot])
		return diag_set(diag, -AKIN_E_exists, "'%s': this transaction "
				"has such an object already", o->path);
	if (t->bytes + bytes > s->object_memory) {
		diag_hint(diag, "End the transaction and begin another, or "
			  "give it more memory.");
		return diag_set(diag, -AKIN_E_too_large, "no more objects in "
				"one transaction: %u are all there is memory "
				"for", t->nr_objects);
	}
	err = grow_table(t);
	if (!err)
		err = grow_objects(t);
	if (err)
		return diag_set(diag, err, "object");
	t->objects[t->nr_objects] = o;
	t->table[find_slot(t, o->path)] = ++t->nr_objects;
	t->bytes += bytes;
	return 0;
}

int object_set_record(struct txn_object *o, const struct node *n)
{
	struct buf b = { 0 };
	u8 *record = NULL;
	int err;

	err = node_encode(n, &b);
	if (!err)
		record = mem_dup(b.data, b.len);
	if (!err && !record)
		err = -AKIN_E_nomem;
	if (!err) {
		mem_free(o->record);
		o->record = record;
		o->record_len = (u32)b.len;
	}
	buf_release(&b);
	return err;
}

/* The node in its record with what is known of it now. */
static int set_content(struct txn_object *o, const struct content *ct,
		       struct akin_diag *diag)
{
	struct node n;
	size_t total;
	int err;

	err = node_decode(o->record, o->record_len, &n, &total);
	if (err)
		return diag_set(diag, err, "object");
	n.content = *ct;
	n.size = ct->bytes;
	err = object_set_record(o, &n);
	node_release(&n);
	return err ? diag_set(diag, err, "object") : 0;
}

int txn_object_done(void *ctx, void *token, const struct content *ct,
		    const struct hint *hint, struct akin_diag *diag)
{
	struct txn_object *o = token;
	int err;

	ingest_get_object_counts(o->stream, &o->counts);
	err = set_content(o, ct, diag);
	if (!err)
		err = store_copy_hint(hint, &o->hint, diag);
	o->bytes = ct->bytes;
	o->done = !err;
	return err;
}

/* I2 */
static int compare_paths(const char *a, const char *b)
{
	unsigned char x, y;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	x = (unsigned char)*a;
	y = (unsigned char)*b;
	if (!x || !y)
		return (x > y) - (x < y);
	x = x == '/' ? 0 : x;
	y = y == '/' ? 0 : y;
	return (x > y) - (x < y);
}

static int compare_objects(const void *pa, const void *pb)
{
	const struct txn_object *const *a = pa, *const *b = pb;

	return compare_paths((*a)->path, (*b)->path);
}

static bool is_below(const char *path, const char *above, size_t len)
{
	return strncmp(path, above, len) == 0 && path[len] == '/';
}

/* A directory that the builder is in. */
struct level {
	const char *path;
	u32 len;		/* its own path is so much of it */
	struct txn_object *object;	/* NULL: only above objects */
};

struct build {
	struct txn *txn;
	struct level *levels;
	u32 nr, cap;
};

/* A token made of @o, whose memory goes with it. */
static int object_token(struct txn_object *o, struct backup_token **out,
			struct akin_diag *diag)
{
	struct backup_token *t = backup_token_new(diag);
	size_t total;
	int err;

	if (!t)
		return -AKIN_E_nomem;
	err = node_decode(o->record, o->record_len, &t->node, &total);
	if (err) {
		backup_token_free(t);
		return diag_set(diag, err, "object");
	}
	t->hint = o->hint;
	memset(&o->hint, 0, sizeof(o->hint));
	*out = t;
	return 0;
}

/* A directory that is only there because of what is below it. */
static int plain_token(const struct level *l, struct backup_token **out,
		       struct akin_diag *diag)
{
	struct backup_token *t = backup_token_new(diag);
	const char *end = l->path + l->len, *name = end;
	char *copy;

	if (!t)
		return -AKIN_E_nomem;
	while (name > l->path && name[-1] != '/')
		name--;
	copy = mem_zalloc((size_t)(end - name) + 1);
	if (!copy) {
		backup_token_free(t);
		return diag_set(diag, -AKIN_E_nomem, "name");
	}
	memcpy(copy, name, (size_t)(end - name));
	t->node.memory = copy;
	t->node.name = copy;
	t->node.type = NODE_DIR;
	t->node.mode = 0755;
	clock_wall(&t->node.mtime_sec, &t->node.mtime_nsec);
	t->node.ctime_sec = t->node.mtime_sec;
	t->node.ctime_nsec = t->node.mtime_nsec;
	*out = t;
	return 0;
}

static int enter(struct build *w, const char *path, u32 len,
		 struct txn_object *o, struct akin_diag *diag)
{
	u32 cap = w->cap ? w->cap * 2 : 32;
	struct level *p;

	if (w->nr == w->cap) {
		p = mem_realloc(w->levels, cap * sizeof(*p));
		if (!p)
			return diag_set(diag, -AKIN_E_nomem, "path");
		w->levels = p;
		w->cap = cap;
	}
	w->levels[w->nr].path = path;
	w->levels[w->nr].len = len;
	w->levels[w->nr++].object = o;
	w->txn->b.dirs++;
	return ingest_mark(w->txn->b.stream, MARK_DIR_BEGIN, NULL, diag);
}

static int leave(struct build *w, struct akin_diag *diag)
{
	struct level *l = &w->levels[--w->nr];
	struct backup_token *t = NULL;
	int err;

	err = l->object ? object_token(l->object, &t, diag) :
			  plain_token(l, &t, diag);
	return err ? err : ingest_mark(w->txn->b.stream, MARK_DIR_END, TAKE(t),
				       diag);
}

static int add_object(struct build *w, struct txn_object *o,
		      struct akin_diag *diag)
{
	struct backup_token *t = NULL;
	const char *slash;
	struct level *top;
	u32 from = 0;
	int err = 0;

	for (; w->nr && !err; err = leave(w, diag)) {
		top = &w->levels[w->nr - 1];
		if (is_below(o->path, top->path, top->len))
			break;
	}
	if (w->nr)
		from = w->levels[w->nr - 1].len + 1;
	while (!err && (slash = strchr(o->path + from, '/'))) {
		from = (u32)(slash - o->path);
		err = enter(w, o->path, from, NULL, diag);
		from++;
	}
	if (!err && o->is_dir)
		return enter(w, o->path, (u32)strlen(o->path), o, diag);
	if (!err)
		err = object_token(o, &t, diag);
	if (err)
		return err;
	w->txn->b.files++;
	return ingest_mark(w->txn->b.stream, MARK_KEPT, TAKE(t), diag);
}

int txn_build_tree(struct txn *t, struct akin_diag *diag)
{
	struct build w = { .txn = t };
	const struct txn_object *o;
	u32 i;
	int err = 0;

	qsort(t->objects, t->nr_objects, sizeof(*t->objects), compare_objects);
	for (i = 1; i < t->nr_objects; i++) {
		o = t->objects[i - 1];
		if (!o->is_dir && is_below(t->objects[i]->path, o->path,
					   strlen(o->path)))
			return diag_set(diag, -AKIN_E_usage, "'%s' lies below "
					"'%s', which has data",
					t->objects[i]->path, o->path);
	}
	for (i = 0; !err && i < t->nr_objects; i++) {
		if (!t->objects[i]->dropped)
			err = add_object(&w, t->objects[i], diag);
	}
	while (!err && w.nr)
		err = leave(&w, diag);
	mem_free(w.levels);
	return err;
}
