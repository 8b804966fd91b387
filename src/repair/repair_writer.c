/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a generation; see repair_writer.h.
 */
#include "base/mem.h"
#include "repair/repair_writer.h"

#define WRITE_BYTES (256 * KiB)

struct repair_writer {
	struct disk *data;
	char name[FORMAT_NAME_MAX];
	struct file *file;
	struct buf out;			/* to be written at @off */
	u64 off;
	bool sealed;
	struct directory to;		/* owned, but for the hints' numbers */
	u32 cap_entries, cap_groups, cap_bases;
	u32 nr_open;			/* entries of the group that comes */
};

static int flush_out(struct repair_writer *w, size_t at_least,
		     struct akin_diag *diag)
{
	int err = buf_error(&w->out);

	if (err)
		return diag_set(diag, err, "new generation");
	if (w->out.len < at_least || !w->out.len)
		return 0;
	err = file_pwrite(w->file, w->out.data, w->out.len, w->off, diag);
	w->off += w->out.len;
	buf_reset(&w->out);
	return err;
}

int repair_writer_open(struct disk *data, const struct container_header *h,
		       struct repair_writer **out, struct akin_diag *diag)
{
	struct repair_writer *w = mem_zalloc(sizeof(*w));
	u8 head[CONTAINER_HEADER_BYTES];
	int err;

	if (!w)
		return diag_set(diag, -AKIN_E_nomem, "new generation");
	w->data = data;
	w->to.container = h->number;
	w->to.generation = h->generation;
	w->to.kind = h->kind;
	container_header_encode(h, head);
	buf_put(&w->out, head, sizeof(head));
	format_container_name(h->number, h->generation, w->name);
	err = disk_open(data, w->name, DISK_WRITE | DISK_CREATE | DISK_TRUNC,
			&w->file, diag);
	if (err) {
		w->file = NULL;
		repair_writer_free(w);
		return err;
	}
	*out = w;
	return 0;
}

void repair_writer_free(struct repair_writer *w)
{
	if (!w)
		return;
	/* Synced, or of no use. */
	ignore_result(file_close(w->file, NULL));
	if (w->file && !w->sealed)
		/* What stays is nobody's, and goes with a reclaim. */
		ignore_result(disk_unlink(w->data, w->name, NULL));
	buf_release(&w->out);
	mem_free(w->to.entries);
	mem_free(w->to.groups);
	mem_free(w->to.bases);
	mem_free(w->to.hints);
	mem_free(w->to.sketches);
	mem_free(w);
}

static int grow_entries(struct repair_writer *w)
{
	u32 cap = w->cap_entries ? w->cap_entries * 2 : 256;
	struct directory *d = &w->to;
	struct dir_sketch *sketches;
	struct dir_entry *entries;
	struct hint *hints;

	if (d->nr_entries < w->cap_entries)
		return 0;
	entries = mem_realloc(d->entries, cap * sizeof(*entries));
	if (entries)
		d->entries = entries;
	hints = mem_realloc(d->hints, cap * sizeof(*hints));
	if (hints)
		d->hints = hints;
	sketches = mem_realloc(d->sketches, cap * sizeof(*sketches));
	if (sketches)
		d->sketches = sketches;
	if (!entries || !hints || !sketches)
		return -AKIN_E_nomem;
	w->cap_entries = cap;
	return 0;
}

int repair_writer_entry(struct repair_writer *w, const struct dir_entry *e,
			const struct hint *hint,
			const struct dir_sketch *sketch, struct akin_diag *diag)
{
	struct directory *d = &w->to;
	u32 n = d->nr_entries;

	if (grow_entries(w))
		return diag_set(diag, -AKIN_E_nomem, "new generation");
	d->entries[n] = *e;
	d->entries[n].group = d->nr_groups;
	memset(&d->hints[n], 0, sizeof(d->hints[n]));
	memset(&d->sketches[n], 0, sizeof(d->sketches[n]));
	if (hint)
		d->hints[n] = *hint;
	if (sketch)
		d->sketches[n] = *sketch;
	d->nr_entries++;
	w->nr_open++;
	return 0;
}

static int add_group(struct repair_writer *w, const struct dir_group *row)
{
	u32 cap = w->cap_groups ? w->cap_groups * 2 : 64;
	struct directory *d = &w->to;
	struct dir_group *p;

	if (d->nr_groups == w->cap_groups) {
		p = mem_realloc(d->groups, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		d->groups = p;
		w->cap_groups = cap;
	}
	d->groups[d->nr_groups++] = *row;
	return 0;
}

int repair_writer_group(struct repair_writer *w, const struct group_header *h,
			const void *bytes, size_t len, struct akin_diag *diag)
{
	struct dir_group row = { 0 };
	u32 i;
	int err;

	row.number = h->number;
	row.off = w->off + w->out.len;
	row.len = (u32)len;
	row.raw_len = h->raw_len;
	row.first = w->to.nr_entries - w->nr_open;
	row.nr = w->nr_open;
	row.codec_id = h->codec_id;
	row.depth = h->depth;
	w->nr_open = 0;
	err = add_group(w, &row);
	for (i = 0; !err && i < h->nr_refs; i++)
		err = directory_add_base(&w->to, &w->cap_bases,
					 h->refs[i].container);
	if (err)
		return diag_set(diag, err, "new generation");
	return repair_writer_bytes(w, bytes, len, diag);
}

int repair_writer_base(struct repair_writer *w, u64 container,
		       struct akin_diag *diag)
{
	int err = directory_add_base(&w->to, &w->cap_bases, container);

	return err ? diag_set(diag, err, "new generation") : 0;
}

int repair_writer_bytes(struct repair_writer *w, const void *bytes, size_t len,
			struct akin_diag *diag)
{
	buf_put(&w->out, bytes, len);
	return flush_out(w, WRITE_BYTES, diag);
}

void repair_writer_first_leaf(struct repair_writer *w, const struct fp *leaf)
{
	w->to.first_leaf = *leaf;
}

static bool has_sketch(const struct directory *d)
{
	static const struct dir_sketch none;
	u32 i;

	for (i = 0; i < d->nr_entries; i++)
		if (memcmp(&d->sketches[i], &none, sizeof(none)))
			return true;
	return false;
}

/* The directory to write: hints are for metadata only, sketches for those that
 * have any. */
static void shape(struct repair_writer *w)
{
	struct directory *d = &w->to;

	if (d->kind != CONTAINER_METADATA) {
		mem_free(d->hints);
		d->hints = NULL;
	}
	if (!has_sketch(d)) {
		mem_free(d->sketches);
		d->sketches = NULL;
	}
}

static int write_tail(struct repair_writer *w, const struct directory *d,
		      struct repair_sealed *out, struct akin_diag *diag)
{
	u8 foot[CONTAINER_FOOTER_BYTES];
	struct container_footer f = { 0 };
	struct buf dir = { 0 };
	u32 i;
	int err;

	err = directory_encode(d, &dir);
	if (err) {
		buf_release(&dir);
		return diag_set(diag, err, "new generation: directory: %s",
				akin_strerror(err));
	}
	f.number = d->container;
	f.generation = d->generation;
	f.dir_off = w->off + w->out.len;
	f.dir_len = (u32)dir.len;
	buf_put(&w->out, dir.data, dir.len);
	buf_release(&dir);
	container_footer_encode(&f, foot);
	buf_put(&w->out, foot, sizeof(foot));
	err = flush_out(w, 0, diag);
	memset(out, 0, sizeof(*out));
	out->file_bytes = w->off;
	out->dir_off = f.dir_off;
	out->dir_len = f.dir_len;
	out->nr_entries = d->nr_entries;
	for (i = 0; i < d->nr_groups; i++)
		out->raw_bytes += d->groups[i].raw_len;
	return err;
}

int repair_writer_seal(struct repair_writer *w, struct directory *known,
		       struct repair_sealed *out, struct akin_diag *diag)
{
	char folder[FORMAT_NAME_MAX];
	int err;

	if (known)
		known->generation = w->to.generation;
	else
		shape(w);
	err = write_tail(w, known ? known : &w->to, out, diag);
	if (!err)
		err = file_sync(w->file, diag);
	memcpy(folder, w->name, sizeof(folder));
	*strrchr(folder, '/') = 0;
	if (!err)
		err = disk_sync_dir(w->data, folder, diag);
	w->sealed = !err;
	return err;
}
