/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin ls and akin find: nodes of a snapshot, streaming.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_signal.h"
#include "cli_text.h"

struct node_kind {
	const char *name;
	char letter;
};

static const struct node_kind kinds[] = {
	[AKIN_NODE_FILE] = { "file", '-' },
	[AKIN_NODE_DIR] = { "dir", 'd' },
	[AKIN_NODE_SYMLINK] = { "symlink", 'l' },
	[AKIN_NODE_FIFO] = { "fifo", 'p' },
	[AKIN_NODE_SOCKET] = { "socket", 's' },
	[AKIN_NODE_CHARDEV] = { "chardev", 'c' },
	[AKIN_NODE_BLOCKDEV] = { "blockdev", 'b' },
	[AKIN_NODE_STREAM] = { "stream", '-' },
};

static const struct node_kind *kind_of(const struct akin_node *n)
{
	static const struct node_kind unknown = { "unknown", '?' };

	if ((unsigned)n->type >= CLI_ARRAY_SIZE(kinds) || !kinds[n->type].name)
		return &unknown;
	return &kinds[n->type];
}

void cli_node_json(struct cli *c, const struct akin_node *n)
{
	struct cli_json *j = &c->json;

	cli_json_name(j, "path", n->path);
	cli_json_text(j, "kind", kind_of(n)->name);
	cli_json_uint(j, "mode", n->mode);
	cli_json_uint(j, "uid", n->uid);
	cli_json_uint(j, "gid", n->gid);
	cli_json_uint(j, "size", n->size);
	cli_json_time(j, "mtime", n->mtime_sec, n->mtime_nsec);
	cli_json_time(j, "ctime", n->ctime_sec, n->ctime_nsec);
	cli_json_uint(j, "ino", n->ino);
	if (n->type == AKIN_NODE_CHARDEV || n->type == AKIN_NODE_BLOCKDEV)
		cli_json_uint(j, "rdev", n->rdev);
	if (n->type == AKIN_NODE_SYMLINK)
		cli_json_bytes(j, "target", n->target, n->target_len);
	cli_json_uint(j, "xattrs", n->nr_xattrs);
	cli_json_bool(j, "linked", n->linked);
	if (n->changed)
		cli_json_bool(j, "changed", true);
	if (n->unreadable)
		cli_json_bool(j, "unreadable", true);
	if (n->partial)
		cli_json_bool(j, "partial", true);
}

/* The low twelve bits, as ls shows them. */
static void mode_text(uint32_t mode, char letter, char out[11])
{
	static const char rwx[] = "rwxrwxrwx";
	static const char special[] = "sst";
	int i;

	out[0] = letter;
	for (i = 0; i < 9; i++)
		out[1 + i] = mode & (0400u >> i) ? rwx[i] : '-';
	for (i = 0; i < 3; i++) {
		if (mode & (04000u >> i))
			out[3 * i + 3] = (char)(out[3 * i + 3] == 'x' ?
				special[i] : special[i] - 'a' + 'A');
	}
	out[10] = 0;
}

static void print_long(const struct akin_node *n)
{
	char mode[11], time[CLI_UNIT_TEXT];

	mode_text(n->mode, kind_of(n)->letter, mode);
	printf("%s %5" PRIu32 " %5" PRIu32 " %12" PRIu64 " %s ", mode, n->uid,
	       n->gid, n->size, cli_time_text(n->mtime_sec, time));
}

void cli_node_print(struct cli *c, const char *prefix,
		    const struct akin_node *n)
{
	struct cli_str *t = &c->text, name = { 0 };

	if (c->args.long_format)
		print_long(n);
	cli_str_reset(t);
	/* Quoted as one word, prefix and all. */
	cli_str_add(&name, prefix);
	cli_str_add(&name, n->path);
	cli_quote(t, name.s, name.len);
	cli_str_release(&name);
	if (c->args.long_format && n->type == AKIN_NODE_SYMLINK) {
		cli_str_add(t, " -> ");
		cli_quote(t, (const char *)n->target, n->target_len);
	}
	if (c->args.long_format && n->unreadable)
		cli_str_add(t, "  (not fully read)");
	else if (c->args.long_format && n->partial)
		cli_str_add(t, "  (in part)");
	else if (c->args.long_format && n->changed)
		cli_str_add(t, "  (changed while it was read)");
	cli_str_addc(t, '\n');
	if (fwrite(t->s, 1, t->len, stdout) != t->len)
		return;
}

struct listing {
	struct cli *c;
	const char *top;	/* the path that was asked for */
};

static int on_node(void *ctx, const struct akin_node *n)
{
	struct listing *l = ctx;
	struct cli *c = l->c;
	const char *path = n->path;

	/* A directory stands for what is in it; the root has no name. */
	if (n->type == AKIN_NODE_DIR &&
	    (!*path || strcmp(path, "/") == 0 ||
	     (c->args.one_level && strcmp(path, l->top) == 0)))
		return 0;
	if (c->args.json) {
		cli_json_begin(&c->json, "node");
		cli_node_json(c, n);
		cli_json_end(&c->json, stdout);
	} else {
		cli_node_print(c, "", n);
	}
	return cli_output_error(c);
}

int cli_cmd_ls(struct cli *c)
{
	struct listing l = { .c = c };
	struct cli_name name = { 0 };
	int err;

	err = cli_open(c, true);
	if (!err)
		err = cli_resolve(c, c->args.operands.v[0], &name);
	if (!err) {
		l.top = name.path ? name.path : "/";
		err = akin_snapshot_list(c->pool, name.snapshot, l.top,
					 !c->args.one_level, on_node, &l,
					 &c->diag);
	}
	cli_name_release(&name);
	return err;
}

/* find ----------------------------------------------------------------------*/

struct search {
	struct cli *c;
	struct found {
		uint64_t number;
		char id[33];
	} *snaps;
	uint32_t nr, cap;
	const struct found *now;
	uint64_t nr_found;
};

static void add_snapshot(struct search *s, uint64_t number, const char *id)
{
	struct found *f;

	if (s->nr == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->snaps = cli_realloc(s->snaps, s->cap * sizeof(*s->snaps));
	}
	f = &s->snaps[s->nr++];
	f->number = number;
	memcpy(f->id, id, sizeof(f->id));
}

static int on_snapshot(void *ctx, const struct akin_snapshot *snap)
{
	add_snapshot(ctx, snap->number, snap->id);
	return 0;
}

static int choose_snapshots(struct search *s)
{
	struct cli *c = s->c;
	struct akin_snapshot_filter filter = cli_filter(c);
	struct cli_name name;
	uint32_t i;
	int err;

	if (!c->args.snapshots.nr)
		return akin_snapshot_each(c->pool, &filter, on_snapshot, s,
					  &c->diag);
	for (i = 0; i < c->args.snapshots.nr; i++) {
		err = cli_resolve(c, c->args.snapshots.v[i], &name);
		if (err)
			return err;
		if (!name.path)
			add_snapshot(s, name.snapshot, name.id);
		else
			err = cli_fail(&c->diag, -AKIN_E_usage,
				       "--snapshot: '%s': a snapshot, without "
				       "a path", c->args.snapshots.v[i]);
		cli_name_release(&name);
		if (err)
			return err;
	}
	return 0;
}

static bool matches(struct cli *c, const struct akin_node *n)
{
	const char *pattern;
	uint32_t i;

	for (i = 0; i < c->args.operands.nr; i++) {
		pattern = c->args.operands.v[i];
		if (fnmatch(pattern, strchr(pattern, '/') ? n->path : n->name,
			    FNM_PATHNAME) == 0)
			return true;
	}
	return false;
}

static int on_candidate(void *ctx, const struct akin_node *n)
{
	struct search *s = ctx;
	struct cli *c = s->c;
	char prefix[16];

	if (!n->name || !*n->name || !matches(c, n))
		return 0;
	s->nr_found++;
	if (c->args.json) {
		cli_json_begin(&c->json, "match");
		cli_json_text(&c->json, "snapshot", s->now->id);
		cli_node_json(c, n);
		cli_json_end(&c->json, stdout);
	} else {
		snprintf(prefix, sizeof(prefix), "%.8s:", s->now->id);
		cli_node_print(c, prefix, n);
	}
	return cli_output_error(c);
}

int cli_cmd_find(struct cli *c)
{
	struct search s = { .c = c };
	uint32_t i;
	int err;

	err = cli_open(c, true);
	if (!err)
		err = choose_snapshots(&s);
	for (i = 0; !err && i < s.nr; i++) {
		s.now = &s.snaps[i];
		err = akin_snapshot_list(c->pool, s.now->number, "/", true,
					 on_candidate, &s, &c->diag);
		if (!c->args.snapshots.nr && cli_gone(c, err))
			err = 0;
		if (!err && cli_signal_received())
			err = cli_fail(&c->diag, -AKIN_E_interrupted,
				       "interrupted");
	}
	if (!err && !s.nr_found && !c->args.quiet && !c->args.json)
		cli_term_message(CLI_NOTE, 0, NULL, "nothing found", NULL);
	free(s.snaps);
	return err;
}
