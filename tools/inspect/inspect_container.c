/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers. With a sound directory every group is tried where the directory
 * says it is; without one, groups are read from the header on until one does
 * not decode.
 */
#include "format/format_container.h"
#include "inspect_internal.h"

static const char *kind_name(u8 kind)
{
	return kind == CONTAINER_METADATA ? "metadata" : "data";
}

/* The container's number, 0 if the header does not tell. */
static u64 show_header(struct inspect *in, const u8 *data, size_t len)
{
	struct container_header h;
	int err;

	err = len < CONTAINER_HEADER_BYTES ? -AKIN_E_short_read :
		      container_header_decode(data, &h);
	if (err) {
		(void)print_damage(in, 0, "header", err);
		return 0;
	}
	print_begin(in, 0, "container");
	print_u64(in, "number", h.number);
	print_u64(in, "generation", h.generation);
	print_word(in, "kind", kind_name(h.kind));
	print_u64(in, "session", h.session);
	print_hex(in, "pool", h.pool.b, sizeof(h.pool.b));
	print_hex(in, "salt", h.salt, sizeof(h.salt));
	print_u64(in, "cipher", h.cipher);
	print_u64(in, "key_slot", h.key_slot);
	print_u64(in, "parity", h.parity);
	print_end(in);
	return h.number;
}

static int show_footer(struct inspect *in, const u8 *data, size_t len,
		       struct container_footer *f)
{
	const size_t off = len - CONTAINER_FOOTER_BYTES;
	int err;

	if (len < CONTAINER_HEADER_BYTES + CONTAINER_FOOTER_BYTES)
		return print_damage(in, len, "footer", -AKIN_E_short_read);
	err = container_footer_decode(data + off, f);
	if (!err && f->dir_off + f->dir_len > off)
		err = -AKIN_E_bad_length;
	if (err)
		return print_damage(in, off, "footer", err);
	print_begin(in, off, "footer");
	print_u64(in, "number", f->number);
	print_u64(in, "generation", f->generation);
	print_u64(in, "dir_off", f->dir_off);
	print_u64(in, "dir_len", f->dir_len);
	print_end(in);
	return 0;
}

static void show_group(struct inspect *in, u64 off,
		       const struct group_header *g, size_t total)
{
	u32 i;

	print_begin(in, off, "group");
	print_u64(in, "number", g->number);
	print_u64(in, "len", total);
	print_u64(in, "codec", g->codec_id);
	print_u64(in, "flags", g->flags);
	print_u64(in, "depth", g->depth);
	print_u64(in, "raw_len", g->raw_len);
	print_u64(in, "stored_len", g->stored_len);
	print_u64(in, "chunks", g->nr_chunks);
	print_u64(in, "refs", g->nr_refs);
	print_u64(in, "ref_raw_len", g->ref_raw_len);
	print_end(in);
	for (i = 0; i < g->nr_refs; i++) {
		print_begin(in, off, "ref");
		print_u64(in, "container", g->refs[i].container);
		print_u64(in, "entry", g->refs[i].entry);
		print_u64(in, "nr", g->refs[i].nr);
		print_end(in);
	}
}

/* Bytes of the group, 0 if it is damaged. @chunks: list them too. */
static size_t try_group(struct inspect *in, const u8 *data, u64 off, u64 end,
			u64 container, bool chunks)
{
	struct group_header g;
	const u8 *payload;
	size_t total;
	u32 i;
	int err;

	err = group_decode(data + off, end - off, container, &g, &payload,
			   &total);
	if (err) {
		(void)print_damage(in, off, "group", err);
		return 0;
	}
	show_group(in, off, &g, total);
	for (i = 0; chunks && i < g.nr_chunks; i++) {
		print_begin(in, off, "chunk");
		print_u64(in, "entry", g.chunks[i].entry);
		print_u64(in, "len", g.chunks[i].len);
		print_end(in);
	}
	group_header_release(&g);
	return total;
}

static void show_directory(struct inspect *in, u64 off,
			   const struct directory *d)
{
	print_begin(in, off, "directory");
	print_u64(in, "number", d->container);
	print_u64(in, "generation", d->generation);
	print_word(in, "kind", kind_name(d->kind));
	print_u64(in, "entries", d->nr_entries);
	print_u64(in, "groups", d->nr_groups);
	print_numbers(in, "bases", d->bases, d->nr_bases);
	print_hex(in, "first_leaf", d->first_leaf.b, FP_BYTES);
	print_end(in);
}

/* In the order of the bytes in the file. */
static void print_sketch(struct inspect *in, const struct dir_sketch *s)
{
	u8 bytes[4 * DIR_SKETCH_PARTS];
	u32 k;

	for (k = 0; k < DIR_SKETCH_PARTS; k++)
		put_le32(bytes + 4 * k, s->part[k]);
	print_hex(in, "sketch", bytes, sizeof(bytes));
}

static void show_entries(struct inspect *in, const struct directory *d,
			 const struct dir_group *g)
{
	const struct dir_entry *e;
	u32 i;

	for (i = g->first; i < g->first + g->nr; i++) {
		e = &d->entries[i];
		print_begin(in, g->off, "entry");
		print_u64(in, "entry", e->entry);
		print_hex(in, "fp", e->fp.b, FP_BYTES);
		print_u64(in, "len", e->len);
		print_u64(in, "raw_off", e->raw_off);
		print_u64(in, "salt", e->fp_salt);
		if (d->hints)
			print_numbers(in, "hint", d->hints[i].containers,
				      d->hints[i].nr);
		if (d->sketches)
			print_sketch(in, &d->sketches[i]);
		print_end(in);
	}
}

static int read_directory(struct inspect *in, const u8 *data,
			  const struct container_footer *f, u64 number,
			  struct directory *d)
{
	int err;

	err = directory_decode(data + f->dir_off, f->dir_len, d);
	if (err)
		return print_damage(in, f->dir_off, "directory", err);
	show_directory(in, f->dir_off, d);
	if (d->container != f->number || d->generation != f->generation ||
	    (number && d->container != number))
		(void)print_damage(in, f->dir_off, "directory",
				   -AKIN_E_bad_identity);
	return 0;
}

static void groups_by_directory(struct inspect *in, const u8 *data,
				const struct container_footer *f,
				const struct directory *d)
{
	const struct dir_group *g;
	size_t got;
	u32 i;

	for (i = 0; i < d->nr_groups; i++) {
		g = &d->groups[i];
		if (g->off + g->len > f->dir_off) {
			(void)print_damage(in, g->off, "group",
					   -AKIN_E_bad_length);
			continue;
		}
		got = try_group(in, data, g->off, g->off + g->len,
				d->container, false);
		if (got && got != g->len)
			(void)print_damage(in, g->off, "group",
					   -AKIN_E_bad_length);
		show_entries(in, d, g);
	}
}

static void groups_by_scan(struct inspect *in, const u8 *data, size_t end,
			   u64 container)
{
	u64 off = CONTAINER_HEADER_BYTES;
	size_t got;

	while (off < end) {
		got = try_group(in, data, off, end, container, true);
		if (!got)
			return;
		off += got;
	}
}

void inspect_container(struct inspect *in, const u8 *data, size_t len)
{
	struct container_footer f;
	struct directory d = { 0 };
	u64 number = show_header(in, data, len);
	size_t end = len;

	if (!show_footer(in, data, len, &f)) {
		if (number && f.number != number)
			(void)print_damage(in, len - CONTAINER_FOOTER_BYTES,
					   "footer", -AKIN_E_bad_identity);
		if (!read_directory(in, data, &f, number, &d)) {
			groups_by_directory(in, data, &f, &d);
			directory_release(&d);
			return;
		}
		end = f.dir_off;
		number = number ? number : f.number;
	}
	if (number)
		groups_by_scan(in, data, end, number);
}

void inspect_directory(struct inspect *in, const u8 *data, size_t len)
{
	struct directory d;
	u32 i;
	int err;

	err = directory_decode(data, len, &d);
	if (err) {
		(void)print_damage(in, 0, "directory", err);
		return;
	}
	show_directory(in, 0, &d);
	for (i = 0; i < d.nr_groups; i++) {
		print_begin(in, d.groups[i].off, "row");
		print_u64(in, "group", d.groups[i].number);
		print_u64(in, "len", d.groups[i].len);
		print_u64(in, "raw_len", d.groups[i].raw_len);
		print_u64(in, "codec", d.groups[i].codec_id);
		print_u64(in, "depth", d.groups[i].depth);
		print_end(in);
		show_entries(in, &d, &d.groups[i]);
	}
	directory_release(&d);
}
