/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes and listings.
 */
#include "format/format_tree.h"
#include "inspect_internal.h"

static void show_entry(struct inspect *in, u64 off,
		       const struct recipe_entry *e)
{
	static const char *const names[] = { "chunk", "hole", "repeat",
					     "inline" };

	print_begin(in, off, names[e->type]);
	print_u64(in, "len", e->len);
	if (e->type == RECIPE_REPEAT)
		print_u64(in, "count", e->count);
	if (e->type == RECIPE_CHUNK || e->type == RECIPE_REPEAT)
		print_hex(in, "fp", e->fp.b, FP_BYTES);
	if (e->type == RECIPE_INLINE)
		print_bytes(in, "data", e->data, e->len);
	print_end(in);
}

void inspect_content(struct inspect *in, u64 off, const struct content *ct)
{
	static const char *const names[] = { "none", "entries", "root" };
	u32 i;

	print_word(in, "content", names[ct->kind]);
	print_u64(in, "bytes", ct->bytes);
	if (ct->kind == CONTENT_ROOT) {
		print_u64(in, "level", ct->level);
		print_hex(in, "root", ct->root.b, FP_BYTES);
	}
	print_end(in);
	for (i = 0; i < ct->nr; i++)
		show_entry(in, off, &ct->entries[i]);
}

void inspect_piece(struct inspect *in, const u8 *data, size_t len)
{
	struct recipe_piece p;
	u32 i;
	int err;

	err = recipe_piece_decode(data, len, &p);
	if (err) {
		(void)print_damage(in, 0, "piece", err);
		return;
	}
	print_begin(in, 0, p.level ? "node" : "leaf");
	print_u64(in, "level", p.level);
	print_u64(in, "nr", p.nr);
	print_u64(in, "bytes", p.bytes);
	print_end(in);
	for (i = 0; !p.level && i < p.nr; i++)
		show_entry(in, 0, &p.entries[i]);
	for (i = 0; p.level && i < p.nr; i++) {
		print_begin(in, 0, "child");
		print_hex(in, "fp", p.children[i].fp.b, FP_BYTES);
		print_u64(in, "bytes", p.children[i].bytes);
		print_u64(in, "entries", p.children[i].entries);
		print_end(in);
	}
	recipe_piece_release(&p);
}

static void show_metadata(struct inspect *in, const struct node *n)
{
	char mode[16];

	(void)snprintf(mode, sizeof(mode), "%04o", n->mode);
	print_u64(in, "flags", n->flags);
	print_word(in, "mode", mode);
	print_u64(in, "uid", n->uid);
	print_u64(in, "gid", n->gid);
	print_s64(in, "mtime_sec", n->mtime_sec);
	print_u64(in, "mtime_nsec", n->mtime_nsec);
	print_s64(in, "ctime_sec", n->ctime_sec);
	print_u64(in, "ctime_nsec", n->ctime_nsec);
	print_u64(in, "dev", n->dev);
	print_u64(in, "ino", n->ino);
}

static void show_node(struct inspect *in, u64 off, const struct node *n)
{
	static const char *const names[] = { "", "file", "dir", "symlink",
					     "fifo", "socket", "chardev",
					     "blockdev", "stream" };
	u32 i;

	print_begin(in, off, names[n->type]);
	print_text(in, "name", n->name);
	show_metadata(in, n);
	if (n->type == NODE_FILE || n->type == NODE_STREAM)
		print_u64(in, "size", n->size);
	if (n->type == NODE_CHARDEV || n->type == NODE_BLOCKDEV)
		print_u64(in, "rdev", n->rdev);
	if (n->type == NODE_SYMLINK)
		print_bytes(in, "target", n->target, n->target_len);
	inspect_content(in, off, &n->content);
	for (i = 0; i < n->nr_xattrs; i++) {
		print_begin(in, off, "xattr");
		print_text(in, "name", n->xattrs[i].name);
		print_bytes(in, "value", n->xattrs[i].value,
			    n->xattrs[i].len);
		print_end(in);
	}
}

void inspect_listing(struct inspect *in, const u8 *data, size_t len)
{
	struct node n;
	size_t off = 0, total;
	int err;

	while (off < len) {
		err = node_decode(data + off, len - off, &n, &total);
		if (err) {
			(void)print_damage(in, off, "record", err);
			return;
		}
		show_node(in, off, &n);
		node_release(&n);
		off += total;
	}
}
