/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Salvage; see repair_salvage.h. The groups are gone through twice: first to
 * learn what there is, which also tells whether a directory is this file's (it
 * names every sound group, at its place), then to write.
 */
#include "base/mem.h"
#include "repair/repair_groups.h"
#include "repair/repair_salvage.h"

#define COPY_BYTES (256 * KiB)

struct salvage {
	struct depot *depot;
	struct decoder *dec;
	struct repair_salvage *s;
	struct akin_diag *diag;
	struct file *file;
	u64 size;
	struct container_header header;
	struct directory dir;		/* if @have_dir */
	u64 dir_off;
	bool have_dir;
	struct repair_writer *writer;
	long last_group, last_entry;	/* numbers ascend */
	struct buf prefix, raw;
};

/* The directory --------------------------------------------------------------*/

/* Do all sound groups stand where @d says? */
static int agrees(struct salvage *w, const struct directory *d, bool *out)
{
	struct container_group g;
	struct repair_groups *gs;
	u32 i = 0;
	u64 off;
	int more;

	*out = d->container == w->s->number;
	more = repair_groups_new(w->file, w->s->number, &gs, w->diag);
	if (more)
		return more;
	while (*out && (more = repair_groups_next(gs, &g, &off, w->diag)) > 0) {
		while (i < d->nr_groups && d->groups[i].off < off)
			i++;
		*out = i < d->nr_groups && d->groups[i].off == off &&
		       d->groups[i].number == g.header.number &&
		       d->groups[i].nr == g.header.nr_chunks &&
		       d->groups[i].len == g.bytes.len;
		container_group_release(&g);
	}
	repair_groups_free(gs);
	return more < 0 ? more : 0;
}

/* The groups must lie in front of it. */
static bool fits(const struct directory *d, u64 dir_off)
{
	const struct dir_group *last;

	if (!d->nr_groups)
		return false;
	last = &d->groups[d->nr_groups - 1];
	return last->off <= dir_off && last->len <= dir_off - last->off;
}

/* Does one stand at @off? Behind it lie a footer, a part of one, or nothing. */
static int try_directory(struct salvage *w, u64 off)
{
	struct directory d = { 0 };
	u64 room = w->size - off, cut;
	u8 *bytes;
	int err;
	bool same = false;

	if (room > DIRECTORY_MAX_BYTES + CONTAINER_FOOTER_BYTES)
		return 0;
	bytes = mem_alloc(room);
	if (!bytes)
		return diag_set(w->diag, -AKIN_E_nomem, "directory");
	err = repair_read(w->file, bytes, room, off, w->size, w->diag);
	for (cut = 0; !err && cut <= CONTAINER_FOOTER_BYTES && cut < room;
	     cut++) {
		err = directory_decode(bytes, room - cut, &d);
		if (!err)
			break;
		if (err != -AKIN_E_nomem)
			err = 0;
	}
	mem_free(bytes);
	if (!err && d.container && fits(&d, off))
		err = agrees(w, &d, &same);
	if (err || !same) {
		directory_release(&d);
		return err;
	}
	w->dir = d;
	w->dir_off = off;
	w->have_dir = true;
	return 0;
}

/* Looking --------------------------------------------------------------------*/

static int look(struct salvage *w)
{
	struct container_group g;
	struct repair_groups *gs;
	const u64 *dirs;
	u64 off;
	u32 i, nr;
	int more;

	more = repair_groups_new(w->file, w->s->number, &gs, w->diag);
	if (more)
		return more;
	while ((more = repair_groups_next(gs, &g, &off, w->diag)) > 0) {
		w->s->groups++;
		w->s->chunks += g.header.nr_chunks;
		container_group_release(&g);
	}
	nr = repair_groups_directories(gs, &dirs);
	for (i = 0; !more && i < nr && !w->have_dir && w->s->groups; i++)
		more = try_directory(w, dirs[i]);
	repair_groups_free(gs);
	return more;
}

static int read_header(struct salvage *w)
{
	u8 bytes[CONTAINER_HEADER_BYTES];
	struct container_header *h = &w->header;
	int err;

	err = file_size(w->file, &w->size, w->diag);
	if (!err)
		err = repair_read(w->file, bytes, sizeof(bytes), 0, w->size,
				  w->diag);
	if (err)
		return err;
	w->size = min_u64(w->size, CONTAINER_MAX_BYTES);
	if (container_header_decode(bytes, h) || h->number != w->s->number ||
	    memcmp(&h->pool, &w->depot->super.pool, sizeof(h->pool))) {
		memset(h, 0, sizeof(*h));
		h->pool = w->depot->super.pool;
		h->number = w->s->number;
		h->kind = w->s->kind;
	}
	h->generation = w->s->generation;
	h->session = w->s->session;
	return 0;
}

/* Writing --------------------------------------------------------------------*/

/* Everything in front of the directory, as it is. */
static int copy_all(struct salvage *w)
{
	u64 off = CONTAINER_HEADER_BYTES;
	u8 *bytes = mem_alloc(COPY_BYTES);
	size_t n;
	int err = bytes ? 0 : diag_set(w->diag, -AKIN_E_nomem, "salvage");

	for (; !err && off < w->dir_off; off += n) {
		n = (size_t)min_u64(COPY_BYTES, w->dir_off - off);
		err = repair_read(w->file, bytes, n, off, w->size, w->diag);
		if (!err)
			err = repair_writer_bytes(w->writer, bytes, n, w->diag);
	}
	mem_free(bytes);
	return err;
}

/* Its raw bytes, in w->raw: 1, 0 if they cannot be had, or an error. */
static int decode(struct salvage *w, const struct container_group *g)
{
	const struct group_header *h = &g->header;
	struct akin_diag why = { 0 };
	int err = 0;

	buf_reset(&w->raw);
	if (!buf_extend(&w->raw, h->raw_len))
		return diag_set(w->diag, -AKIN_E_nomem, "salvage");
	if (h->nr_refs)
		/* Compared with their fingerprints: nothing else tells whether
		 * what comes out is right. */
		err = groupcache_prefix(w->depot->groups, w->dec, h->refs,
					h->nr_refs, h->ref_raw_len, &w->prefix,
					&why);
	if (!err && h->nr_refs)
		err = codec_decompress_ref(w->dec->codec, h->codec_id,
					   w->prefix.data, w->prefix.len,
					   g->payload, h->stored_len,
					   w->raw.data, h->raw_len);
	else if (!err)
		err = codec_decompress(w->dec->codec, h->codec_id, g->payload,
				       h->stored_len, w->raw.data, h->raw_len);
	if (err == -AKIN_E_nomem)
		return diag_pass(w->diag, err, &why);
	return !err;
}

static int add_chunks(struct salvage *w, const struct group_header *h)
{
	const struct hasher *hash = w->header.kind == CONTAINER_METADATA ?
					    w->depot->meta_hasher :
					    w->depot->data_hasher;
	struct dir_entry e = { 0 };
	u32 i, at = 0;
	int err = 0;

	for (i = 0; !err && i < h->nr_chunks; i++) {
		e.entry = h->chunks[i].entry;
		e.len = h->chunks[i].len;
		hasher_one(hash, w->raw.data + at, e.len, &e.fp);
		at += e.len;
		err = repair_writer_entry(w->writer, &e, NULL, NULL, w->diag);
	}
	return err;
}

static int put_group(struct salvage *w, const struct container_group *g)
{
	const struct group_header *h = &g->header;
	int got;

	/* Numbers out of order: it is of another file. */
	if ((long)h->number <= w->last_group ||
	    (long)h->chunks[0].entry <= w->last_entry)
		return 0;
	got = decode(w, g);
	if (got <= 0)
		return got;
	w->last_group = h->number;
	w->last_entry = h->chunks[h->nr_chunks - 1].entry;
	w->s->groups++;
	w->s->chunks += h->nr_chunks;
	if (!w->writer)
		return 0;
	got = add_chunks(w, h);
	if (got)
		return got;
	return repair_writer_group(w->writer, h, g->bytes.data, g->bytes.len,
				   w->diag);
}

static int put_groups(struct salvage *w)
{
	struct container_group g;
	struct repair_groups *gs;
	u64 off;
	int more, err = 0;

	w->s->groups = w->s->chunks = 0;
	w->last_group = w->last_entry = -1;
	more = repair_groups_new(w->file, w->s->number, &gs, w->diag);
	if (more)
		return more;
	while (!err &&
	       (more = repair_groups_next(gs, &g, &off, w->diag)) > 0) {
		err = put_group(w, &g);
		container_group_release(&g);
	}
	repair_groups_free(gs);
	return err ? err : more;
}

static int write_generation(struct salvage *w)
{
	int err;

	if (w->have_dir)
		w->header.kind = w->dir.kind;
	/* Which key its chunks were fingerprinted with is not to be known. */
	if (!w->header.kind)
		w->s->groups = w->s->chunks = 0;
	if (!w->s->groups)
		return 0;
	w->s->kind_found = w->header.kind;
	err = repair_writer_open(w->depot->data, &w->header, &w->writer,
				 w->diag);
	if (!err)
		err = w->have_dir ? copy_all(w) : put_groups(w);
	if (!err && w->s->groups)
		err = repair_writer_seal(w->writer, w->have_dir ? &w->dir :
					 NULL, &w->s->sealed, w->diag);
	repair_writer_free(w->writer);
	return err;
}

int repair_salvage(struct depot *depot, struct decoder *dec,
		   struct repair_salvage *s, bool only_look,
		   struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct salvage w = { .depot = depot, .dec = dec, .s = s, .diag = &why };
	int err;

	s->groups = s->chunks = 0;
	err = disk_open(depot->data, s->name, 0, &w.file, &why);
	if (err)
		return diag_pass(diag, err, &why);
	err = read_header(&w);
	if (!err)
		err = look(&w);
	if (!err && !only_look)
		err = write_generation(&w);
	else if (!err && s->decode && !w.have_dir && s->groups)
		err = put_groups(&w);
	ignore_result(file_close(w.file, NULL));	/* was only read */
	directory_release(&w.dir);
	buf_release(&w.prefix);
	buf_release(&w.raw);
	return err ? diag_set(diag, err, "salvage of container %llu: %s",
			      (unsigned long long)s->number, why.code ?
			      why.text : akin_strerror(err)) : 0;
}
