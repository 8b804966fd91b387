/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Superblocks, snapshots, labels, the policy, runs. Keys in a superblock are not shown.
 */
#include <stdio.h>

#include "format/format_rulebook.h"
#include "format/format_run.h"
#include "format/format_label.h"
#include "format/format_snapshot.h"
#include "format/format_super.h"
#include "inspect_internal.h"

static void show_super(struct inspect *in, u64 off, const struct super *s)
{
	char version[24];
	u32 i;

	(void)snprintf(version, sizeof(version), "%u.%u", s->version >> 16,
		       s->version & 0xffff);
	print_begin(in, off, "super");
	print_word(in, "version", version);
	print_hex(in, "pool", s->pool.b, sizeof(s->pool.b));
	print_word(in, "role", s->role == SUPER_DATA ? "data" : "metadata");
	print_u64(in, "sequence", s->sequence);
	print_s64(in, "created_sec", s->created_sec);
	print_u64(in, "feat_compat", s->feat_compat);
	print_u64(in, "feat_ro_compat", s->feat_ro_compat);
	print_u64(in, "feat_incompat", s->feat_incompat);
	print_u64(in, "hash", s->hash_id);
	print_u64(in, "chunk_method", s->chunk_method);
	print_u64(in, "chunk_min", s->chunk_min);
	print_u64(in, "chunk_avg", s->chunk_avg);
	print_u64(in, "chunk_max", s->chunk_max);
	print_u64(in, "codec", s->codec_id);
	print_s64(in, "codec_level", s->codec_level);
	print_u64(in, "group_bytes", s->group_bytes);
	print_u64(in, "container_bytes", s->container_bytes);
	print_u64(in, "container_chunks", s->container_chunks);
	print_u64(in, "delta_depth", s->delta_depth);
	print_u64(in, "engine", s->engine);
	print_u64(in, "verify", s->verify);
	print_u64(in, "parity", s->parity);
	print_end(in);
	for (i = 0; i < SUPER_KEY_SLOTS; i++) {
		if (s->keys[i].kind == SUPER_KEY_EMPTY)
			continue;
		print_begin(in, off, "key");
		print_u64(in, "slot", i);
		print_u64(in, "kind", s->keys[i].kind);
		print_u64(in, "kdf", s->keys[i].kdf);
		print_end(in);
	}
}

void inspect_super(struct inspect *in, const u8 *data, size_t len)
{
	struct super s;
	size_t off, n;
	int err;

	/* Each copy by itself: a file that is cut behind its first copy. */
	for (off = 0; off < SUPER_FILE_BYTES; off += SUPER_COPY_BYTES) {
		n = len > off ? len - off : 0;
		if (n > SUPER_COPY_BYTES)
			n = SUPER_COPY_BYTES;
		err = super_decode(n ? data + off : data, n, &s, NULL, NULL);
		if (err)
			(void)print_damage(in, off, "copy", err);
		else
			show_super(in, off, &s);
	}
	if (len > SUPER_FILE_BYTES)
		(void)print_damage(in, SUPER_FILE_BYTES, "end",
				   -AKIN_E_bad_length);
}

static void show_counts(struct inspect *in, const struct snapshot_counts *c)
{
	print_begin(in, 0, "counts");
	print_u64(in, "files", c->files);
	print_u64(in, "dirs", c->dirs);
	print_u64(in, "others", c->others);
	print_u64(in, "bytes", c->bytes);
	print_u64(in, "bytes_read", c->bytes_read);
	print_u64(in, "chunks", c->chunks);
	print_u64(in, "chunks_new", c->chunks_new);
	print_u64(in, "bytes_new", c->bytes_new);
	print_u64(in, "bytes_stored", c->bytes_stored);
	print_u64(in, "bytes_meta", c->bytes_meta);
	print_u64(in, "duration_ns", c->duration_ns);
	print_u64(in, "warnings", c->warnings);
	print_end(in);
}

static void show_strings(struct inspect *in, const char *what, char **v,
			 u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		print_begin(in, 0, what);
		print_text(in, "text", v[i]);
		print_end(in);
	}
}

void inspect_snapshot(struct inspect *in, const u8 *data, size_t len)
{
	struct snapshot s;
	u32 i;
	int err;

	err = snapshot_decode(data, len, &s);
	if (err) {
		(void)print_damage(in, 0, "snapshot", err);
		return;
	}
	print_begin(in, 0, "snapshot");
	print_u64(in, "number", s.number);
	print_hex(in, "id", s.id, sizeof(s.id));
	print_hex(in, "parent", s.parent, sizeof(s.parent));
	print_hex(in, "pool", s.pool.b, sizeof(s.pool.b));
	print_u64(in, "session", s.session);
	print_s64(in, "time_sec", s.time_sec);
	print_u64(in, "time_nsec", s.time_nsec);
	print_s64(in, "utc_offset_sec", s.utc_offset_sec);
	print_u64(in, "flags", s.flags);
	print_text(in, "host", s.host);
	print_text(in, "user", s.user);
	print_text(in, "command", s.command);
	print_end(in);
	show_strings(in, "path", s.paths, s.nr_paths);
	show_strings(in, "tag", s.tags, s.nr_tags);
	print_begin(in, 0, "root");
	print_numbers(in, "hint", s.root_hint.containers, s.root_hint.nr);
	inspect_content(in, 0, &s.root);
	show_counts(in, &s.counts);
	for (i = 0; i < s.nr_containers; i++) {
		print_begin(in, 0, "containers");
		print_u64(in, "first", s.containers[i].first);
		print_u64(in, "nr", s.containers[i].nr);
		print_end(in);
	}
	snapshot_release(&s);
}

void inspect_label(struct inspect *in, const u8 *data, size_t len)
{
	struct label l;
	int err;

	err = label_decode(data, len, &l);
	if (err) {
		(void)print_damage(in, 0, "label", err);
		return;
	}
	print_begin(in, 0, "label");
	print_u64(in, "number", l.number);
	print_hex(in, "id", l.id, sizeof(l.id));
	print_hex(in, "pool", l.pool.b, sizeof(l.pool.b));
	print_u64(in, "txn", l.txn);
	print_u64(in, "flags", l.flags);
	print_s64(in, "until_sec", l.until_sec);
	print_u64(in, "until_age_sec", l.until_age_sec);
	print_end(in);
	show_strings(in, "tag", l.tags, l.nr_tags);
	label_release(&l);
}

void inspect_rulebook(struct inspect *in, const u8 *data, size_t len)
{
	struct rulebook r;
	u32 i;
	int err;

	err = rulebook_decode(data, len, &r);
	if (err) {
		(void)print_damage(in, 0, "policy", err);
		return;
	}
	print_begin(in, 0, "policy");
	print_hex(in, "pool", r.pool.b, sizeof(r.pool.b));
	print_u64(in, "txn", r.txn);
	print_u64(in, "rules", r.nr);
	print_end(in);
	for (i = 0; i < r.nr; i++) {
		print_begin(in, 0, "rule");
		print_text(in, "name", r.names[i]);
		print_text(in, "value", r.values[i]);
		print_end(in);
	}
	rulebook_release(&r);
}

/* Runs --------------------------------------------------------------------*/

/* The level whose extent holds page @at of the file; -1: none. An extent ends
 * where the next one starts. */
static int run_level_at(const struct run_header *h, u64 at)
{
	int i, best = -1;

	for (i = RUN_LEVELS - 1; i >= 0; i--)
		if (h->levels[i].nr_pages && h->levels[i].first_page <= at)
			best = i;
	return best;
}

static void show_run(struct inspect *in, const struct run_header *h)
{
	u32 i;

	print_begin(in, 0, "run");
	print_u64(in, "number", h->number);
	print_hex(in, "pool", h->pool.b, sizeof(h->pool.b));
	print_u64(in, "entries", h->nr_entries);
	print_end(in);
	for (i = 0; i < RUN_LEVELS; i++) {
		if (!h->levels[i].nr_pages)
			continue;
		print_begin(in, 0, "level");
		print_u64(in, "level", i);
		print_u64(in, "first_page", h->levels[i].first_page);
		print_u64(in, "pages", h->levels[i].nr_pages);
		print_u64(in, "entries", h->levels[i].nr_entries);
		print_end(in);
	}
}

static void show_run_page(struct inspect *in, const u8 *data, u64 at,
			  const struct run_header *h)
{
	const u64 off = at * RUN_PAGE_BYTES;
	struct run_entry e[RUN_PAGE_ENTRIES];
	int level = run_level_at(h, at), err;
	char prefix[24];
	bool spilled;
	u64 page;
	u32 nr, i;

	if (level < 0) {
		(void)print_damage(in, off, "page", -AKIN_E_bad_order);
		return;
	}
	page = at - h->levels[level].first_page;
	err = run_page_decode(data, h->number, page, e, &nr, &spilled);
	if (err) {
		(void)print_damage(in, off, "page", err);
		return;
	}
	print_begin(in, off, "page");
	print_u64(in, "level", (u64)level);
	print_u64(in, "page", page);
	print_u64(in, "entries", nr);
	print_u64(in, "spilled", spilled);
	print_end(in);
	for (i = 0; i < nr; i++) {
		/* Too large for a JSON number. */
		(void)snprintf(prefix, sizeof(prefix), "%016llx",
			       (unsigned long long)e[i].prefix);
		print_begin(in, off + RUN_PAGE_HEADER_BYTES +
				    (u64)i * RUN_ENTRY_BYTES, "entry");
		print_word(in, "prefix", prefix);
		print_u64(in, "container", e[i].container);
		print_u64(in, "entry", e[i].entry);
		print_end(in);
	}
}

int inspect_run(struct inspect *in)
{
	u8 data[RUN_PAGE_BYTES];
	struct run_header h;
	u64 at;
	int err;

	if (in->size < RUN_PAGE_BYTES) {
		(void)print_damage(in, 0, "run", -AKIN_E_short_read);
		return 0;
	}
	err = file_pread(in->file, data, sizeof(data), 0, in->diag);
	if (err)
		return err;
	err = run_header_decode(data, &h);
	if (err) {
		(void)print_damage(in, 0, "run", err);
		return 0;
	}
	show_run(in, &h);
	for (at = 1; at < in->size / RUN_PAGE_BYTES; at++) {
		err = file_pread(in->file, data, sizeof(data),
				 at * RUN_PAGE_BYTES, in->diag);
		if (err)
			return err;
		show_run_page(in, data, at, &h);
	}
	if (in->size % RUN_PAGE_BYTES)
		(void)print_damage(in, at * RUN_PAGE_BYTES, "page",
				   -AKIN_E_short_read);
	return 0;
}
