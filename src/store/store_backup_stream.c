/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backup of one stream: a snapshot whose root holds one named object.
 */
#include "base/mem.h"
#include "os/clock.h"
#include "store/store_backup.h"

static int read_all(struct backup *b,
		    long (*read)(void *ctx, void *buf, size_t cap,
				 struct akin_diag *diag),
		    void *read_ctx, struct akin_diag *diag)
{
	size_t cap;
	u8 *buf;
	long n;
	int err;

	for (;;) {
		err = ingest_room(b->stream, &buf, &cap, diag);
		if (err)
			return err;
		n = read(read_ctx, buf, cap, diag);
		if (n < 0)
			return diag_set(diag, (int)n, "%s",
					akin_strerror((int)n));
		if (n == 0)
			return 0;
		if ((size_t)n > cap)
			return diag_set(diag, -AKIN_E_usage, "the reader "
					"returned more than it was asked for");
		ingest_filled(b->stream, (size_t)n);
		err = backup_pace(b, (u64)n, diag);
		if (err)
			return err;
	}
}

static int stream_node(const char *name, struct backup_token **out,
		       struct akin_diag *diag)
{
	struct backup_token *t;
	char *copy;

	t = backup_token_new(diag);
	if (!t)
		return -AKIN_E_nomem;
	copy = mem_strdup(name);
	if (!copy) {
		backup_token_free(t);
		return diag_set(diag, -AKIN_E_nomem, "name");
	}
	t->node.memory = copy;
	t->node.name = copy;
	t->node.type = NODE_STREAM;
	t->node.mode = 0600;
	clock_wall(&t->node.mtime_sec, &t->node.mtime_nsec);
	t->node.ctime_sec = t->node.mtime_sec;
	t->node.ctime_nsec = t->node.mtime_nsec;
	*out = t;
	return 0;
}

/* What the last snapshot of that name holds; NULL if there is none. */
static struct predecessor *find_predecessor(struct backup *b, const char *name)
{
	const char *paths[1] = { name };
	struct predecessor *p = NULL;
	struct snapshot s = { 0 };
	struct hint hint;
	struct node node;

	if (store_find_parent(b->p, b->snap.host, paths, 1, false, &s,
			      NULL))
		return NULL;
	if (!store_lookup(b->p, &s, name, &node, &hint, NULL)) {
		p = predecessor_new(&node.content, &hint);
		node_release(&node);
		mem_free(hint.containers);
	}
	snapshot_release(&s);
	return p;
}

static int feed(struct backup *b, const char *name,
		long (*read)(void *ctx, void *buf, size_t cap,
			     struct akin_diag *diag),
		int (*finish)(void *ctx, struct akin_diag *diag),
		void *read_ctx, struct akin_diag *diag)
{
	struct backup_token *t = NULL;
	int err;

	backup_current(b, name);
	err = ingest_object_begin_after(b->stream, find_predecessor(b, name),
					diag);
	if (!err)
		err = read_all(b, read, read_ctx, diag);
	if (!err && finish)
		err = finish(read_ctx, diag);
	if (!err)
		err = stream_node(name, &t, diag);
	if (!err)
		err = ingest_object_end(b->stream, TAKE(t), diag);
	if (!err)
		backup_count_file(b);
	return err;
}

int akin_backup_stream(struct akin_pool *p,
		       const struct akin_backup_options *opt, const char *name,
		       long (*read)(void *ctx, void *buf, size_t cap,
				    struct akin_diag *diag),
		       int (*finish)(void *ctx, struct akin_diag *diag),
		       void *read_ctx, struct akin_backup_result *out,
		       struct akin_diag *diag)
{
	const char *paths[1] = { name };
	struct backup b = { 0 };
	int err;

	if (!*name || strlen(name) > NODE_NAME_MAX || strchr(name, '/') ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return diag_set(diag, -AKIN_E_usage, "'%s': a stream's name is "
				"1 to %d bytes without '/'", name,
				NODE_NAME_MAX);
	err = backup_begin(&b, p, opt, paths, 1, diag);
	b.snap.flags |= SNAPSHOT_OBJECTS;
	if (!err)
		err = feed(&b, name, read, finish, read_ctx, diag);
	return backup_finish(&b, err, out, diag);
}
