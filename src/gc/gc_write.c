/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One new generation of a container: the entries that are kept, under their old
 * numbers.
 *
 *	group kept whole       copied byte for byte, references and all, unless
 *			       it leaves bases (gc_rebase.c)
 *	group kept in part     decoded; what is kept gathers, with that of the
 *			       groups behind it, in a new group without
 *			       references, or is compressed against what the
 *			       old one was
 *	group that cannot be   copied byte for byte: what it stands on is kept
 *	decoded                too, and perhaps somebody can repair it
 *
 * Memory: one group as stored, one raw, and a piece of the file.
 */
#include "base/mem.h"
#include "gc/gc_writer.h"
#include "os/random.h"

#define WRITE_BYTES (256 * KiB)

static int flush_out(struct gc_writer *w, size_t at_least, struct akin_diag *diag)
{
	int err = buf_error(&w->out);

	if (err)
		return diag_set(diag, err, "new generation");
	if (w->out.len < at_least || !w->out.len)
		return 0;
	err = file_pwrite(w->file, w->out.data, w->out.len, w->out_off, diag);
	w->out_off += w->out.len;
	buf_reset(&w->out);
	return err;
}

static int open_file(struct gc_writer *w, u32 generation, struct akin_diag *diag)
{
	struct container_header h = {
		.pool = w->g->depot->super.pool,
		.number = w->from->container,
		.generation = generation,
		.kind = w->from->kind,
		.session = w->g->opt->session,
	};
	char name[FORMAT_NAME_MAX];
	u8 head[CONTAINER_HEADER_BYTES];
	int err;

	err = random_bytes(h.salt, sizeof(h.salt), diag);
	if (err)
		return err;
	container_header_encode(&h, head);
	buf_put(&w->out, head, sizeof(head));
	format_container_name(h.number, generation, name);
	return disk_open(w->g->depot->data, name, DISK_WRITE | DISK_CREATE |
			 DISK_TRUNC, &w->file, diag);
}

/* The old entry @index goes into the last group of the new directory. */
void gc_writer_entry(struct gc_writer *w, u32 index, u32 raw_off)
{
	struct directory *d = &w->to;
	struct dir_entry *e = &d->entries[d->nr_entries];

	*e = w->from->entries[index];
	e->group = d->nr_groups;
	e->raw_off = raw_off;
	if (d->hints)
		d->hints[d->nr_entries] = w->from->hints[index];
	if (d->sketches)
		d->sketches[d->nr_entries] = w->from->sketches[index];
	w->raw_bytes += e->len;
	d->nr_entries++;
}

/* A row for what was just put into @out; its entries have been added. */
static void add_group(struct gc_writer *w, const struct dir_group *row, u32 nr)
{
	struct dir_group *to = &w->to.groups[w->to.nr_groups++];

	*to = *row;
	to->off = w->out_off + w->out.len - row->len;
	to->first = w->to.nr_entries - nr;
	to->nr = nr;
}

enum codec_gain gc_writer_gain(const struct gc_writer *w)
{
	return w->from->kind == CONTAINER_METADATA ? CODEC_GAIN_ANY :
						     CODEC_GAIN_EIGHTH;
}

int gc_writer_group(struct gc_writer *w, struct group_header *h,
		    const u8 *payload, size_t len, struct akin_diag *diag)
{
	struct dir_group row = { 0 };
	struct buf encoded = { 0 };
	u32 i;
	int err;

	h->stored_len = (u32)len;
	err = group_encode(h, w->from->container, payload, &encoded);
	for (i = 0; !err && i < h->nr_refs; i++)
		err = directory_add_base(&w->to, &w->cap_bases,
					 h->refs[i].container);
	if (err) {
		buf_release(&encoded);
		return diag_set(diag, err, "new generation: %s",
				akin_strerror(err));
	}
	buf_put(&w->out, encoded.data, encoded.len);
	row.number = h->number;
	row.len = (u32)encoded.len;
	row.raw_len = h->raw_len;
	row.codec_id = h->codec_id;
	row.depth = h->depth;
	add_group(w, &row, h->nr_chunks);
	buf_release(&encoded);
	return flush_out(w, WRITE_BYTES, diag);
}

/* What has gathered becomes a group. */
int gc_writer_close(struct gc_writer *w, struct akin_diag *diag)
{
	struct group_header h = { 0 };
	const u8 *payload = w->raw;
	size_t len = w->raw_len;
	int err;

	if (!w->nr_chunks)
		return 0;
	h.number = w->group_number;
	h.raw_len = w->raw_len;
	h.nr_chunks = w->nr_chunks;
	h.chunks = w->chunks;
	err = codec_compress(w->g->opt->dec->codec, gc_writer_gain(w), w->raw,
			     w->raw_len, w->packed, &len, &h.codec_id, diag);
	if (err)
		return err;
	if (h.codec_id != CODEC_NONE)
		payload = w->packed;
	else
		len = w->raw_len;
	w->nr_chunks = 0;
	w->raw_len = 0;
	return gc_writer_group(w, &h, payload, len, diag);
}

/* Room for a raw group of @len bytes, and for what it compresses to. */
int gc_writer_need(struct gc_writer *w, u32 len, struct akin_diag *diag)
{
	u8 *raw, *packed;
	u32 cap = (u32)max_u64(len, w->g->depot->super.group_bytes);

	if (w->raw && cap <= w->raw_cap)
		return 0;
	raw = mem_realloc(w->raw, cap);
	if (raw)
		w->raw = raw;
	packed = mem_realloc(w->packed, codec_bound(cap));
	if (packed)
		w->packed = packed;
	if (!raw || !packed)
		return diag_set(diag, -AKIN_E_nomem, "new generation");
	w->raw_cap = cap;
	return 0;
}

static int gather_chunk(struct gc_writer *w, u32 number, u32 index, const u8 *data,
			struct akin_diag *diag)
{
	const struct dir_entry *e = &w->from->entries[index];
	u32 max = w->g->depot->super.group_bytes;
	int err = 0;

	if (w->nr_chunks && (w->raw_len + e->len > max ||
			     w->nr_chunks == GROUP_MAX_CHUNKS))
		err = gc_writer_close(w, diag);
	if (!err)
		err = gc_writer_need(w, e->len, diag);
	if (err)
		return err;
	/* Numbers of groups ascend: that of the first it holds something of,
	 * unless that has just ended one. */
	if (!w->nr_chunks)
		w->group_number = number;
	memcpy(w->raw + w->raw_len, data, e->len);
	w->chunks[w->nr_chunks].entry = e->entry;
	w->chunks[w->nr_chunks++].len = e->len;
	gc_writer_entry(w, index, w->raw_len);
	w->raw_len += e->len;
	return 0;
}

static int copy_whole(struct gc_writer *w, u32 index, struct akin_diag *diag)
{
	const struct dir_group *gr = &w->from->groups[index];
	struct container_group cg;
	u32 i;
	int err;

	err = gc_writer_close(w, diag);
	if (!err)
		err = container_read_group(w->reader, index, &cg, diag);
	if (err)
		return err;
	for (i = 0; i < gr->nr; i++)
		gc_writer_entry(w, gr->first + i,
			  w->from->entries[gr->first + i].raw_off);
	buf_put(&w->out, cg.bytes.data, gr->len);
	add_group(w, gr, gr->nr);
	for (i = 0; !err && i < cg.header.nr_refs; i++)
		err = directory_add_base(&w->to, &w->cap_bases,
					 cg.header.refs[i].container);
	container_group_release(&cg);
	return err ? diag_set(diag, err, "new generation") :
		     flush_out(w, WRITE_BYTES, diag);
}

static int copy_part(struct gc_writer *w, u32 index, struct akin_diag *diag)
{
	const struct dir_group *gr = &w->from->groups[index];
	const struct group_data *data;
	struct akin_diag why = { 0 };
	u32 i, at;
	int err;

	err = groupcache_get(w->g->depot->groups, w->g->opt->dec,
			     w->from->container, index, &data, &why);
	if (err && akin_error_class(err) == AKIN_CLASS_CORRUPT)
		return copy_whole(w, index, diag);
	if (err)
		return diag_pass(diag, err, &why);
	for (i = 0; !err && i < gr->nr; i++) {
		at = gr->first + i;
		if (gc_is_kept(w->bits, w->from->entries[at].entry))
			err = gather_chunk(w, gr->number, at, data->raw +
					   w->from->entries[at].raw_off, diag);
	}
	groupcache_put(w->g->depot->groups, data);
	if (!err && gr->depth)
		w->g->refs_dropped = true;
	return err;
}

/* Kept only for what is about to leave it. */
static bool is_left(const struct gc_writer *w, const struct dir_group *gr)
{
	return w->bits->leave &&
	       !gc_has_live(w->from, (u32)(gr - w->from->groups), w->bits);
}

/* 1: not yet. */
static int copy_group(struct gc_writer *w, u32 index, struct akin_diag *diag)
{
	const struct dir_group *gr = &w->from->groups[index];
	u32 i, kept = 0;
	int how;

	for (i = 0; i < gr->nr; i++)
		kept += gc_is_kept(w->bits,
				   w->from->entries[gr->first + i].entry);
	if (!kept) {
		w->g->refs_dropped |= gr->depth > 0;
		return 0;
	}
	how = gc_rebase_learn(w, index, diag);
	if (how)
		return how;
	how = gr->depth && !is_left(w, gr) ?
		      gc_rebase(w, index, kept == gr->nr, diag) :
		      GC_REBASE_NOT;
	if (how < 0 || how == GC_REBASE_DONE)
		return how < 0 ? how : 0;
	if (how == GC_REBASE_LATER)
		return 1;
	return kept == gr->nr && how != GC_REBASE_PLAIN ?
		       copy_whole(w, index, diag) :
		       copy_part(w, index, diag);
}

static int write_tail(struct gc_writer *w, struct catalog_switch *s,
		      struct akin_diag *diag)
{
	u8 foot[CONTAINER_FOOTER_BYTES];
	struct container_footer f = { 0 };
	struct buf dir = { 0 };
	int err;

	err = directory_encode(&w->to, &dir);
	if (err) {
		buf_release(&dir);
		return diag_set(diag, err, "new generation: directory: %s",
				akin_strerror(err));
	}
	f.number = w->to.container;
	f.generation = w->to.generation;
	f.dir_off = w->out_off + w->out.len;
	f.dir_len = (u32)dir.len;
	buf_put(&w->out, dir.data, dir.len);
	buf_release(&dir);
	container_footer_encode(&f, foot);
	buf_put(&w->out, foot, sizeof(foot));
	err = flush_out(w, 0, diag);
	if (!err)
		err = file_sync(w->file, diag);
	s->dir_off = f.dir_off;
	s->dir_len = f.dir_len;
	s->file_bytes = w->out_off;
	s->raw_bytes = w->raw_bytes;
	s->nr_entries = w->to.nr_entries;
	return err;
}

static int prepare(struct gc_writer *w, u32 generation, struct akin_diag *diag)
{
	const struct directory *from = w->from;
	struct directory *to = &w->to;

	to->container = from->container;
	to->generation = generation;
	to->kind = from->kind;
	to->first_leaf = from->first_leaf;
	to->entries = mem_calloc(from->nr_entries, sizeof(*to->entries));
	/* Chunks of one group may end up in two. */
	to->groups = mem_calloc((size_t)from->nr_entries,
				sizeof(*to->groups));
	if (from->hints)
		to->hints = mem_calloc(from->nr_entries, sizeof(*to->hints));
	if (from->sketches)
		to->sketches = mem_calloc(from->nr_entries,
					  sizeof(*to->sketches));
	w->chunks = mem_calloc(GROUP_MAX_CHUNKS, sizeof(*w->chunks));
	if (!to->entries || !to->groups || !w->chunks ||
	    (from->hints && !to->hints) ||
	    (from->sketches && !to->sketches))
		return diag_set(diag, -AKIN_E_nomem, "new generation");
	return open_file(w, generation, diag);
}

static void release(struct gc_writer *w)
{
	/* Synced, or of no use. */
	ignore_result(file_close(w->file, NULL));
	mem_free(w->to.entries);
	mem_free(w->to.groups);
	mem_free(w->to.bases);
	mem_free(w->to.hints);
	mem_free(w->to.sketches);
	mem_free(w->chunks);
	mem_free(w->raw);
	mem_free(w->packed);
	gc_rebase_free(w->rebase);
	buf_release(&w->out);
}

static int sync_folder(struct gc *g, const struct catalog_switch *s,
		       struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];

	format_container_name(s->number, s->to, name);
	*strrchr(name, '/') = 0;
	return disk_sync_dir(g->depot->data, name, diag);
}

int gc_write(struct gc *g, struct catalog_switch *s, u32 *left_ret,
	     struct akin_diag *diag)
{
	struct gc_writer w = { .g = g };
	u32 i;
	int err;

	err = dircache_get(g->depot->dirs, s->number, &w.reader, diag);
	if (err)
		return err;
	w.from = container_directory(w.reader);
	w.bits = gc_marks_get(g->marks, s->number);
	err = prepare(&w, s->to, diag);
	for (i = 0; !err && i < w.from->nr_groups; i++)
		err = copy_group(&w, i, diag);
	if (!err)
		err = gc_writer_close(&w, diag);
	if (!err)
		err = write_tail(&w, s, diag);
	*left_ret = w.left;
	release(&w);
	dircache_put(g->depot->dirs, s->number);
	return err ? err : sync_folder(g, s, diag);
}
