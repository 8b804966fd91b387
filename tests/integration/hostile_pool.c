/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_pool POOL OUT: adds snapshots that no backup makes to a pool, each
 * with a tag that says how it tries to write to the directory OUT when it is
 * restored elsewhere. All checksums and fingerprints are right: what writes
 * such a pool is a program that means it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "format/format_tree.h"
#include "ingest/stream.h"
#include "recipe/hintset.h"
#include "store/store.h"

static struct akin_diag diag;

static void must(int err)
{
	if (!err)
		return;
	(void)fprintf(stderr, "hostile_pool: %s\n", diag.text);
	exit(1);
}

/* One snapshot in the making. */
struct evil {
	struct akin_pool *p;
	struct session *s;
	struct ingest_stream *st;
	struct buf listing;
	struct hintset hint;
};

/*
 * A record of @n with @name in it, whatever that is: @name is encoded with 'z'
 * for each byte that would be refused, and put in behind the encoder's back.
 */
static void add(struct evil *e, struct node *n, const char *name, size_t len)
{
	char plain[256];
	size_t from = e->listing.len, i;
	u8 *at;

	for (i = 0; i < len; i++)
		plain[i] = name[i] && name[i] != '/' && name[i] != '.' ?
				   name[i] : 'z';
	plain[len] = 0;
	n->name = plain;
	must(node_encode(n, &e->listing));
	at = memmem(e->listing.data + from, e->listing.len - from, plain, len);
	if (!at)
		abort();
	memcpy(at, name, len);
}

static void add_file(struct evil *e, const char *name, size_t len, u32 flags)
{
	static const char text[] = "evil\n";
	struct node n = { .type = NODE_FILE, .mode = 0644, .dev = 1, .ino = 1,
			  .size = sizeof(text) - 1, .flags = flags };
	struct recipe_entry *in = &n.content.entries[0];

	n.content.kind = CONTENT_ENTRIES;
	n.content.nr = 1;
	n.content.bytes = n.size;
	in->type = RECIPE_INLINE;
	in->len = n.size;
	in->count = 1;
	in->data = (const u8 *)text;
	add(e, &n, name, len);
}

static void add_link(struct evil *e, const char *name, const char *target,
		     u32 flags)
{
	struct node n = { .type = NODE_SYMLINK, .mode = 0777, .dev = 1,
			  .ino = 1, .flags = flags };

	n.target = (const u8 *)target;
	n.target_len = (u32)strlen(target);
	add(e, &n, name, strlen(name));
}

/* The records so far become the content of a directory. */
static struct content store_listing(struct evil *e)
{
	struct content ct = { .kind = CONTENT_ENTRIES, .nr = 1 };
	struct hint none = { 0 };
	u64 container;

	ct.bytes = e->listing.len;
	ct.entries[0].type = RECIPE_CHUNK;
	ct.entries[0].len = e->listing.len;
	ct.entries[0].count = 1;
	must(ingest_store_piece(e->st, &e->listing, &none, &ct.entries[0].fp,
				&container, &diag));
	hintset_add(&e->hint, container);
	buf_reset(&e->listing);
	return ct;
}

static void add_dir(struct evil *e, const char *name, const struct content *ct)
{
	struct node n = { .type = NODE_DIR, .mode = 0755, .content = *ct };

	add(e, &n, name, strlen(name));
}

static void begin(struct evil *e, struct akin_pool *p)
{
	struct session_options sopt = { .lock = store_lock_session };
	struct ingest_options iopt = { 0 };

	memset(e, 0, sizeof(*e));
	e->p = p;
	sopt.lock_ctx = p;
	must(session_begin(&p->depot, p->catalog, &sopt, &e->s, &diag));
	p->reserve_session = session_number(e->s);
	must(ingest_stream_open(e->s, &iopt, &e->st, &diag));
}

static void commit(struct evil *e, const char *tag)
{
	char *tags[1] = { (char *)tag }, *paths[1] = { (char *)"/" };
	struct snapshot snap = { .tags = tags, .nr_tags = 1, .paths = paths,
				 .nr_paths = 1, .host = (char *)"evil" };

	snap.root = store_listing(e);
	must(ingest_stream_close(e->st, &diag));
	snprintf((char *)snap.id, sizeof(snap.id), "%s", tag);
	snap.root_hint = e->hint.hint;
	must(session_commit(e->s, &snap, &diag));
	e->p->reserve_session = 0;
	store_unlock_session(e->p, session_number(e->s));
	session_free(e->s);
	hintset_release(&e->hint);
	buf_release(&e->listing);
}

static void fill(struct akin_pool *p, const char *out)
{
	struct content inner;
	char path[256];
	struct evil e;

	snprintf(path, sizeof(path), "%s/evil", out);
	begin(&e, p);
	add_file(&e, "..", 2, 0);
	commit(&e, "dotdot");
	begin(&e, p);
	add_file(&e, "../evil", 7, 0);
	commit(&e, "climbs");
	begin(&e, p);
	add_file(&e, path, strlen(path), 0);
	commit(&e, "absolute");
	begin(&e, p);
	add_file(&e, "a\0b", 3, 0);
	commit(&e, "nul");
	begin(&e, p);
	add_link(&e, "d", out, 0);
	add_file(&e, "d/evil", 6, 0);
	commit(&e, "through-slash");

	begin(&e, p);
	add_file(&e, "evil", 4, 0);
	inner = store_listing(&e);
	add_link(&e, "d", out, 0);
	add_dir(&e, "d", &inner);
	commit(&e, "through-dir");

	begin(&e, p);
	add_file(&e, "evil", 4, 0);
	inner = store_listing(&e);
	add_dir(&e, "..", &inner);
	commit(&e, "dotdot-dir");

	/* Two names of one inode: a link out of the tree, and a file. */
	begin(&e, p);
	snprintf(path, sizeof(path), "%s/victim", out);
	add_link(&e, "a", path, NODE_LINKED);
	add_file(&e, "b", 1, NODE_LINKED);
	commit(&e, "hard-link");
}

int main(int argc, char **argv)
{
	struct akin_open_options opt = { 0 };
	struct akin_pool *p;

	if (argc != 3)
		return 2;
	opt.path = argv[1];
	must(akin_pool_open(&opt, &p, &diag));
	fill(p, argv[2]);
	akin_pool_close(p);
	return 0;
}
