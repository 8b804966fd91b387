/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container writer.
 *
 * Encoded groups wait in @waiting until their predecessors have arrived; then
 * they are gathered in @out and written in pieces of WRITE_BYTES. Whoever
 * completes a piece writes it, with the lock dropped and @writing set, so that
 * pieces go out one at a time and in order while other compressors and the
 * owner go on, until BEHIND_BYTES wait for a slow disk: then they wait too.
 *
 * I1. Groups are in the file in the order of their numbers.
 * I2. An entry's number never changes after container_writer_add returned it.
 * I3. The footer is written only when every group closed by the owner is in
 *     the file; it is the last thing written.
 */
#include <pthread.h>

#include "base/check.h"
#include "base/mem.h"
#include "container/container_writer.h"

/* Large enough for sequential disks, small enough for 64 open streams. */
#define WRITE_BYTES (256 * KiB)
/* Memory that compressors may fill while a piece is being written. */
#define BEHIND_BYTES WRITE_BYTES
/* What takes so much is written from where it is, not gathered: the copy costs
 * as much as the file system's own. */
#define ALONE_BYTES (64 * KiB)
/* Groups come in another order than they are written, by a few. */
#define ENCODED_SPARES 4

struct waiting_group {
	struct buf encoded;
	u32 raw_len;
	u8 codec_id, depth;
	bool here;
};

struct container_writer {
	struct container_writer_options opt;
	struct disk *disk;
	struct file *file;

	pthread_mutex_t lock;	/* guards all below; not held during I/O */
	pthread_cond_t written;
	struct directory dir;
	u32 cap_entries, cap_groups, cap_bases;
	u32 open_first;		/* first entry of the open group */
	u32 open_raw;		/* its raw bytes so far */

	struct waiting_group *waiting;	/* by group number; cap_groups */
	u32 next_group;		/* the first one without a place in the file */
	struct buf out;		/* gathered, to be written at out_off */
	/* Empty ones; new memory for every piece and every group is slow. */
	struct buf spare;
	struct buf encoded[ENCODED_SPARES];
	u32 nr_encoded;
	u64 out_off;
	u64 end_off;		/* where the next group will go */
	u64 behind;		/* bytes put and not being written */
	u64 done_off;		/* up to here the file has been written */
	u32 outstanding;	/* groups closed but neither put nor failed */
	u64 raw_in_flight, raw_done, stored_done;
	u64 raw_bytes;
	u64 ref_raw_bytes;	/* of groups with references */
	bool writing, finished, completed, sealed;
	int err;
	struct akin_diag diag;
};

int container_writer_open(struct disk *data,
			  const struct container_writer_options *opt,
			  struct container_writer **out,
			  struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	u8 head[CONTAINER_HEADER_BYTES];
	struct container_writer *w;
	int err;

	w = mem_zalloc(sizeof(*w));
	if (!w)
		return diag_set(diag, -AKIN_E_nomem, "container writer");
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->written, NULL);
	w->opt = *opt;
	w->disk = data;
	w->dir.container = opt->header.number;
	w->dir.generation = opt->header.generation;
	w->dir.kind = opt->header.kind;
	w->end_off = w->behind = CONTAINER_HEADER_BYTES;
	container_header_encode(&opt->header, head);
	buf_put(&w->out, head, sizeof(head));
	err = buf_error(&w->out);
	if (err)
		goto fail;
	format_container_name(opt->header.number, opt->header.generation,
			      name);
	err = disk_open(data, name, DISK_WRITE | DISK_CREATE | DISK_TRUNC,
			&w->file, diag);
	if (err)
		goto fail;
	*out = w;
	return 0;
fail:
	container_writer_free(w);
	return diag_set(diag, err, "container %llu",
			(unsigned long long)opt->header.number);
}

void container_writer_free(struct container_writer *w)
{
	u32 i;

	if (!w)
		return;
	for (i = 0; i < w->cap_groups; i++)
		buf_release(&w->waiting[i].encoded);
	mem_free(w->waiting);
	directory_release(&w->dir);
	buf_release(&w->out);
	buf_release(&w->spare);
	while (w->nr_encoded)
		buf_release(&w->encoded[--w->nr_encoded]);
	/* Sealed files are synced; the others are nobody's data yet. */
	ignore_result(file_close(w->file, NULL));
	pthread_cond_destroy(&w->written);
	pthread_mutex_destroy(&w->lock);
	mem_free(w);
}

u64 container_writer_number(const struct container_writer *w)
{
	return w->opt.header.number;
}

u8 container_writer_kind(const struct container_writer *w)
{
	return w->opt.header.kind;
}

u32 container_writer_nr_entries(const struct container_writer *w)
{
	return w->dir.nr_entries;
}

static int grow_entries_locked(struct container_writer *w)
{
	u32 cap = w->cap_entries ? w->cap_entries * 2 : 256;
	struct dir_sketch *s;
	struct dir_entry *e;
	struct hint *h;

	if (w->dir.nr_entries < w->cap_entries)
		return 0;
	if (w->dir.sketches) {
		s = mem_realloc(w->dir.sketches, cap * sizeof(*s));
		if (!s)
			return -AKIN_E_nomem;
		memset(s + w->cap_entries, 0,
		       (cap - w->cap_entries) * sizeof(*s));
		w->dir.sketches = s;
	}
	e = mem_realloc(w->dir.entries, cap * sizeof(*e));
	if (!e)
		return -AKIN_E_nomem;
	w->dir.entries = e;
	if (w->dir.kind == CONTAINER_METADATA) {
		h = mem_realloc(w->dir.hints, cap * sizeof(*h));
		if (!h)
			return -AKIN_E_nomem;
		memset(h + w->cap_entries, 0,
		       (cap - w->cap_entries) * sizeof(*h));
		w->dir.hints = h;
	}
	w->cap_entries = cap;
	return 0;
}

static int copy_hint(struct hint *to, const struct hint *from)
{
	if (!from || from->nr == 0)
		return 0;
	to->containers = mem_dup(from->containers,
				 from->nr * sizeof(*from->containers));
	if (!to->containers)
		return -AKIN_E_nomem;
	to->nr = from->nr;
	return 0;
}

int container_writer_add(struct container_writer *w, const struct fp *fp,
			 u32 len, const struct hint *hint, u32 *entry_ret,
			 struct akin_diag *diag)
{
	struct dir_entry *e;
	int err;

	pthread_mutex_lock(&w->lock);
	err = w->err ? w->err : grow_entries_locked(w);
	if (!err && w->dir.kind == CONTAINER_METADATA)
		err = copy_hint(&w->dir.hints[w->dir.nr_entries], hint);
	if (err)
		goto out;
	e = &w->dir.entries[w->dir.nr_entries];
	memset(e, 0, sizeof(*e));
	e->fp = *fp;
	e->entry = w->dir.nr_entries;
	e->len = len;
	e->group = w->dir.nr_groups;
	e->raw_off = w->open_raw;
	w->open_raw += len;
	w->raw_bytes += len;
	*entry_ret = w->dir.nr_entries++;
out:
	if (err)
		err = diag_set(diag, w->diag.code ? w->diag.code : err, "%s",
			       w->diag.code ? w->diag.text :
					      akin_strerror(err));
	pthread_mutex_unlock(&w->lock);
	return err;
}

static int grow_groups_locked(struct container_writer *w)
{
	u32 cap = w->cap_groups ? w->cap_groups * 2 : 64;
	struct waiting_group *wg;
	struct dir_group *g;

	if (w->dir.nr_groups < w->cap_groups)
		return 0;
	g = mem_realloc(w->dir.groups, cap * sizeof(*g));
	if (!g)
		return -AKIN_E_nomem;
	w->dir.groups = g;
	wg = mem_realloc(w->waiting, cap * sizeof(*wg));
	if (!wg)
		return -AKIN_E_nomem;
	memset(wg + w->cap_groups, 0, (cap - w->cap_groups) * sizeof(*wg));
	w->waiting = wg;
	w->cap_groups = cap;
	return 0;
}

int container_writer_close_group(struct container_writer *w,
				 struct group_header *out,
				 struct akin_diag *diag)
{
	struct dir_group *g;
	u32 i, nr;
	int err;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&w->lock);
	nr = w->dir.nr_entries - w->open_first;
	akin_assert(nr > 0 && !w->finished);
	err = grow_groups_locked(w);
	if (!err) {
		out->chunks = mem_calloc(nr, sizeof(*out->chunks));
		err = out->chunks ? 0 : -AKIN_E_nomem;
	}
	if (err) {
		pthread_mutex_unlock(&w->lock);
		return diag_set(diag, err, "container group");
	}
	for (i = 0; i < nr; i++) {
		out->chunks[i].entry = w->dir.entries[w->open_first + i].entry;
		out->chunks[i].len = w->dir.entries[w->open_first + i].len;
	}
	out->number = w->dir.nr_groups;
	out->nr_chunks = nr;
	out->raw_len = w->open_raw;
	g = &w->dir.groups[w->dir.nr_groups++];
	memset(g, 0, sizeof(*g));
	g->number = out->number;
	g->raw_len = w->open_raw;
	g->first = w->open_first;
	g->nr = nr;
	w->raw_in_flight += w->open_raw;
	w->outstanding++;
	w->open_first = w->dir.nr_entries;
	w->open_raw = 0;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

bool container_writer_lookup(struct container_writer *w, const struct fp *fp,
			     u32 entry, u32 *len_ret)
{
	bool found;

	pthread_mutex_lock(&w->lock);
	found = entry < w->dir.nr_entries &&
		fp_equal(&w->dir.entries[entry].fp, fp);
	if (found)
		*len_ret = w->dir.entries[entry].len;
	pthread_mutex_unlock(&w->lock);
	return found;
}

bool container_writer_entry(struct container_writer *w, u32 entry,
			    struct dir_entry *out)
{
	bool found;

	pthread_mutex_lock(&w->lock);
	found = entry < w->dir.nr_entries;
	if (found)
		*out = w->dir.entries[entry];
	pthread_mutex_unlock(&w->lock);
	return found;
}

void container_writer_salt(struct container_writer *w, u32 entry, u8 salt)
{
	pthread_mutex_lock(&w->lock);
	akin_assert(entry < w->dir.nr_entries);
	w->dir.entries[entry].fp_salt = salt;
	pthread_mutex_unlock(&w->lock);
}

int container_writer_sketch(struct container_writer *w, u32 entry,
			    const struct dir_sketch *sketch)
{
	int err = 0;

	pthread_mutex_lock(&w->lock);
	akin_assert(entry < w->dir.nr_entries);
	if (!w->dir.sketches)
		w->dir.sketches = mem_calloc(w->cap_entries, sizeof(*sketch));
	if (w->dir.sketches)
		w->dir.sketches[entry] = *sketch;
	else
		err = -AKIN_E_nomem;
	pthread_mutex_unlock(&w->lock);
	return err;
}

u64 container_writer_size(struct container_writer *w)
{
	u64 size, waiting;

	pthread_mutex_lock(&w->lock);
	waiting = w->raw_in_flight + w->open_raw;
	if (w->raw_done)
		waiting = (u64)((double)waiting * (double)w->stored_done /
				(double)w->raw_done);
	else
		waiting /= 2;
	size = CONTAINER_HEADER_BYTES + w->stored_done + waiting;
	pthread_mutex_unlock(&w->lock);
	return size;
}

void container_writer_first_leaf(struct container_writer *w,
				 const struct fp *leaf)
{
	pthread_mutex_lock(&w->lock);
	w->dir.first_leaf = *leaf;
	pthread_mutex_unlock(&w->lock);
}

static void note_error_locked(struct container_writer *w, int err,
			      const struct akin_diag *diag)
{
	if (w->err)
		return;
	w->err = err;
	if (diag)
		w->diag = *diag;
}

static void note_refs_locked(struct container_writer *w,
			     const struct group_header *g)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < g->nr_refs; i++)
		err = directory_add_base(&w->dir, &w->cap_bases,
					 g->refs[i].container);
	if (g->nr_refs)
		w->ref_raw_bytes += g->raw_len;
	if (err)
		note_error_locked(w, err, NULL);
}

static void keep_encoded_locked(struct container_writer *w, struct buf *b)
{
	buf_reset(b);
	if (w->nr_encoded < ENCODED_SPARES)
		w->encoded[w->nr_encoded++] = *b;
	else
		buf_release(b);
	memset(b, 0, sizeof(*b));
}

/* The group whose turn it is, if it is here. */
static struct waiting_group *next_locked(struct container_writer *w)
{
	struct waiting_group *wg = &w->waiting[w->next_group];

	return w->next_group < w->dir.nr_groups && wg->here ? wg : NULL;
}

/* Its place is behind all others; returns its bytes. I1 */
static struct buf place_locked(struct container_writer *w,
			       struct waiting_group *wg)
{
	struct dir_group *g = &w->dir.groups[w->next_group++];
	struct buf encoded = wg->encoded;

	g->off = w->end_off;
	g->len = (u32)encoded.len;
	g->codec_id = wg->codec_id;
	g->depth = wg->depth;
	w->end_off += g->len;
	w->raw_in_flight -= wg->raw_len;
	w->raw_done += wg->raw_len;
	w->stored_done += g->len;
	memset(&wg->encoded, 0, sizeof(wg->encoded));
	return encoded;
}

/* Groups whose turn it is, into @out: small ones, and large ones that make a
 * piece of what is there. */
static void gather_locked(struct container_writer *w)
{
	struct waiting_group *wg;
	struct buf encoded;

	while ((wg = next_locked(w)) &&
	       (wg->encoded.len < ALONE_BYTES ||
		(w->out.len > CONTAINER_HEADER_BYTES &&
		 w->out.len < WRITE_BYTES))) {
		encoded = place_locked(w, wg);
		buf_put(&w->out, encoded.data, encoded.len);
		if (buf_error(&w->out) && !w->err)
			w->err = -AKIN_E_nomem;
		keep_encoded_locked(w, &encoded);
	}
}

/* Of a piece that has been written. */
static void keep_memory_locked(struct container_writer *w, struct buf *piece)
{
	piece->len = 0;
	if (!w->out.data)
		w->out = *piece;
	else if (!w->spare.data)
		w->spare = *piece;
	else
		buf_release(piece);
}

/* Drops the lock for the I/O. */
static void write_piece_locked(struct container_writer *w,
			       const struct buf *piece)
{
	struct akin_diag diag = { 0 };
	u64 off = w->out_off;
	int err;

	w->out_off += piece->len;
	w->behind -= piece->len;
	w->writing = true;
	pthread_mutex_unlock(&w->lock);
	err = file_pwrite(w->file, piece->data, piece->len, off, &diag);
	pthread_mutex_lock(&w->lock);
	w->writing = false;
	if (err)
		note_error_locked(w, err, &diag);
	else
		w->done_off = off + piece->len;
	pthread_cond_broadcast(&w->written);
}

/* Write what is gathered and what is written alone, if nobody else does. */
static void write_out_locked(struct container_writer *w, size_t at_least)
{
	struct waiting_group *wg;
	struct buf piece;

	while (!w->writing && !w->err) {
		gather_locked(w);
		wg = next_locked(w);
		if (w->out.len > 0 && (wg || w->out.len >= at_least)) {
			piece = w->out;
			w->out = w->spare;
			memset(&w->spare, 0, sizeof(w->spare));
			write_piece_locked(w, &piece);
			keep_memory_locked(w, &piece);
		} else if (wg) {
			piece = place_locked(w, wg);
			write_piece_locked(w, &piece);
			keep_encoded_locked(w, &piece);
		} else {
			return;
		}
	}
}

/*
 * Unlocks, and calls complete() if this was the last thing to happen. After
 * that the writer may be gone: callers return at once.
 */
static void unlock_and_complete(struct container_writer *w)
{
	bool complete = w->finished && !w->completed && !w->writing &&
			w->outstanding == 0;

	if (complete)
		w->completed = true;
	pthread_mutex_unlock(&w->lock);
	if (complete && w->opt.complete)
		w->opt.complete(w->opt.complete_ctx, w);
}

/* Those groups that are wholly in the file, and their entries. */
static int copy_written_locked(struct container_writer *w,
			       struct directory *out)
{
	const struct directory *d = &w->dir;
	const struct dir_group *g;
	u32 nr = 0;

	while (nr < w->next_group &&
	       d->groups[nr].off + d->groups[nr].len <= w->done_off)
		nr++;
	akin_assert(nr > 0);
	g = &d->groups[nr - 1];
	out->container = d->container;
	out->generation = d->generation;
	out->kind = d->kind;
	out->groups = mem_dup(d->groups, nr * sizeof(*d->groups));
	out->entries = mem_dup(d->entries, (g->first + g->nr) *
					   sizeof(*d->entries));
	if (!out->groups || !out->entries) {
		directory_release(out);
		return -AKIN_E_nomem;
	}
	out->nr_groups = nr;
	out->nr_entries = g->first + g->nr;
	return 0;
}

/* Group @index is in the file; or an error. */
static int wait_written_locked(struct container_writer *w, u32 index)
{
	const struct dir_group *g;

	while (!w->err) {
		if (index >= w->next_group &&
		    !(w->writing && w->waiting[index].here))
			return -AKIN_E_busy;
		g = &w->dir.groups[index];
		if (index < w->next_group && g->off + g->len <= w->done_off)
			return 0;
		/* Not for the sealer, who may be waiting for this thread. */
		if (w->writing)
			pthread_cond_wait(&w->written, &w->lock);
		else
			write_out_locked(w, 1);
	}
	return -AKIN_E_busy;
}

int container_writer_snapshot(struct container_writer *w, u32 index,
			      struct directory *out, struct akin_diag *diag)
{
	int err;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&w->lock);
	err = wait_written_locked(w, index);
	if (!err)
		err = copy_written_locked(w, out);
	if (err)
		err = diag_set(diag, err, "container %llu: group %u is still "
			       "being written",
			       (unsigned long long)w->dir.container, index);
	unlock_and_complete(w);
	return err;
}

int container_writer_put(struct container_writer *w,
			 const struct group_header *g, struct buf *encoded,
			 struct akin_diag *diag)
{
	struct waiting_group *wg;
	int err;

	pthread_mutex_lock(&w->lock);
	while (w->writing && w->behind >= BEHIND_BYTES)
		pthread_cond_wait(&w->written, &w->lock);
	akin_assert(g->number < w->dir.nr_groups &&
		    !w->waiting[g->number].here);
	wg = &w->waiting[g->number];
	wg->encoded = *encoded;
	memset(encoded, 0, sizeof(*encoded));
	wg->raw_len = g->raw_len;
	wg->codec_id = g->codec_id;
	wg->depth = g->depth;
	wg->here = true;
	w->behind += wg->encoded.len;
	w->outstanding--;
	note_refs_locked(w, g);
	write_out_locked(w, WRITE_BYTES);
	if (w->nr_encoded)
		*encoded = w->encoded[--w->nr_encoded];
	err = w->err;
	if (err)
		err = diag_set(diag, err, "%s", w->diag.code ? w->diag.text :
			       akin_strerror(err));
	unlock_and_complete(w);
	return err;
}

void container_writer_fail(struct container_writer *w, int err,
			   const struct akin_diag *diag)
{
	pthread_mutex_lock(&w->lock);
	note_error_locked(w, err, diag);
	w->outstanding--;
	unlock_and_complete(w);
}

void container_writer_abandon(struct container_writer *w, int err)
{
	pthread_mutex_lock(&w->lock);
	note_error_locked(w, err, NULL);
	w->open_raw = 0;
	pthread_mutex_unlock(&w->lock);
}

void container_writer_finish(struct container_writer *w)
{
	pthread_mutex_lock(&w->lock);
	akin_assert(!w->finished && w->open_raw == 0);
	w->finished = true;
	unlock_and_complete(w);
}

/* Directory and footer behind the last group. I3 */
static int write_tail(struct container_writer *w, struct container_sealed *out,
		      struct akin_diag *diag)
{
	u8 foot[CONTAINER_FOOTER_BYTES];
	struct container_footer f = { 0 };
	struct buf b = { 0 };
	int err;

	err = directory_encode(&w->dir, &b);
	if (err) {
		buf_release(&b);
		return diag_set(diag, err, "encoding the directory");
	}
	f.number = w->dir.container;
	f.generation = w->dir.generation;
	f.dir_off = w->end_off;
	f.dir_len = (u32)b.len;
	container_footer_encode(&f, foot);
	buf_put(&b, foot, sizeof(foot));
	err = buf_error(&b);
	if (!err)
		err = file_pwrite(w->file, b.data, b.len, w->end_off, diag);
	if (!err)
		err = file_sync(w->file, diag);
	out->number = f.number;
	out->generation = f.generation;
	out->kind = w->dir.kind;
	out->dir_off = f.dir_off;
	out->dir_len = f.dir_len;
	out->file_bytes = w->end_off + b.len;
	out->raw_bytes = w->raw_bytes;
	out->ref_raw_bytes = w->ref_raw_bytes;
	out->nr_entries = w->dir.nr_entries;
	buf_release(&b);
	return err;
}

int container_writer_seal(struct container_writer *w,
			  struct container_sealed *out, struct akin_diag *diag)
{
	int err;

	akin_assert(w->completed && !w->sealed);
	pthread_mutex_lock(&w->lock);
	/* Somebody may be writing in order to read. */
	while (w->writing)
		pthread_cond_wait(&w->written, &w->lock);
	write_out_locked(w, 1);
	err = w->err;
	if (err)
		err = diag_set(diag, err, "%s", w->diag.code ? w->diag.text :
			       akin_strerror(err));
	pthread_mutex_unlock(&w->lock);
	if (!err)
		err = write_tail(w, out, diag);
	if (err) {
		diag_prefix(diag, "container %llu",
			    (unsigned long long)w->dir.container);
		return err;
	}
	w->sealed = true;
	return 0;
}

void container_writer_drop_cache(struct container_writer *w)
{
	file_drop_cache(w->file);
}

const struct directory *
container_writer_directory(const struct container_writer *w)
{
	return &w->dir;
}
