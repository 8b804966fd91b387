/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that differ from the disk below, and the bytes behind them.
 *
 * A name is in the table if it was changed here; without content it is gone. A
 * content is bytes of our own in blocks, or, after a mere renaming, another
 * name of the disk below, until it is written.
 *
 * I1. The disk below is never opened for writing.
 * I2. @lock guards names, contents and blocks; reads of files below run
 *     without it.
 */
#include <pthread.h>

#include "base/check.h"
#include "base/mem.h"
#include "os/disk_overlay.h"

/* A container written anew takes some hundreds of them, a record one. */
#define BLOCK_BYTES ((size_t)32 * 1024)

/* In memory, in the scratch file (slot from 1), or zeros that are nowhere. */
struct block {
	u8 *data;
	u64 slot;
};

struct content {
	u32 refs;		/* a name, open files */
	char *below;		/* bytes are this file's; NULL: our own */
	struct block *blocks;
	u64 nr_blocks, size;
};

struct entry {
	char *name;
	struct content *content;	/* NULL: there is no such file */
};

struct overlay {
	struct disk disk;
	struct disk *below, *scratch_disk;
	pthread_mutex_t lock;
	struct entry *entries;	/* by name */
	size_t nr_entries, cap_entries;
	size_t memory_left;
	struct file *scratch;
	u64 nr_slots;
	u64 *free_slots;
	size_t nr_free, cap_free;
};

/* Either a file below, or a content. */
struct overlay_file {
	struct file file;
	struct file *below;
	struct content *content;
	bool writable;
};

static struct overlay *to_overlay(struct disk *d)
{
	return container_of(d, struct overlay, disk);
}

static struct overlay_file *to_file(struct file *f)
{
	return container_of(f, struct overlay_file, file);
}

/* Blocks --------------------------------------------------------------------*/

static void slot_free(struct overlay *o, u64 slot)
{
	size_t cap = o->cap_free ? o->cap_free * 2 : 64;
	u64 *p;

	if (o->nr_free == o->cap_free) {
		p = mem_realloc(o->free_slots, cap * sizeof(*p));
		if (!p)
			return;		/* it stays unused */
		o->free_slots = p;
		o->cap_free = cap;
	}
	o->free_slots[o->nr_free++] = slot;
}

static void block_drop(struct overlay *o, struct block *b)
{
	if (b->data)
		o->memory_left += BLOCK_BYTES;
	mem_free(b->data);
	if (b->slot)
		slot_free(o, b->slot);
	memset(b, 0, sizeof(*b));
}

static int take_slot(struct overlay *o, u64 *out, struct akin_diag *diag)
{
	int err;

	if (!o->scratch_disk)
		return diag_set(diag, -AKIN_E_nospace,
				"no memory left to try it out in");
	if (!o->scratch) {
		err = disk_tmp_open(o->scratch_disk, ".", &o->scratch, diag);
		if (err)
			return err;
	}
	*out = o->nr_free ? o->free_slots[--o->nr_free] : ++o->nr_slots;
	return 0;
}

static u64 slot_off(u64 slot)
{
	return (slot - 1) * BLOCK_BYTES;
}

static int block_write(struct overlay *o, struct block *b, const u8 *data,
		       size_t n, size_t off, struct akin_diag *diag)
{
	u8 *zeros;
	int err;

	if (!b->data && !b->slot && o->memory_left >= BLOCK_BYTES) {
		b->data = mem_zalloc(BLOCK_BYTES);
		if (b->data)
			o->memory_left -= BLOCK_BYTES;
	}
	if (b->data) {
		memcpy(b->data + off, data, n);
		return 0;
	}
	if (b->slot)
		return file_pwrite(o->scratch, data, n,
				   slot_off(b->slot) + off, diag);
	err = take_slot(o, &b->slot, diag);
	if (err || n == BLOCK_BYTES)
		return err ? err : file_pwrite(o->scratch, data, n,
					       slot_off(b->slot), diag);
	zeros = mem_zalloc(BLOCK_BYTES);
	if (!zeros)
		return -AKIN_E_nomem;
	memcpy(zeros + off, data, n);
	err = file_pwrite(o->scratch, zeros, BLOCK_BYTES, slot_off(b->slot),
			  diag);
	mem_free(zeros);
	return err;
}

static int block_read(struct overlay *o, const struct block *b, u8 *data,
		      size_t n, size_t off, struct akin_diag *diag)
{
	if (b->slot)
		return file_pread(o->scratch, data, n,
				  slot_off(b->slot) + off, diag);
	if (b->data)
		memcpy(data, b->data + off, n);
	else
		memset(data, 0, n);
	return 0;
}

/* Contents ------------------------------------------------------------------*/

static void content_cut(struct overlay *o, struct content *c, u64 size)
{
	u64 keep = (size + BLOCK_BYTES - 1) / BLOCK_BYTES, i;
	struct block *b;

	for (i = keep; i < c->nr_blocks; i++)
		block_drop(o, &c->blocks[i]);
	c->nr_blocks = min_u64(c->nr_blocks, keep);
	c->size = size;
	/* What was cut off must not come back when it grows. */
	b = size % BLOCK_BYTES && keep == c->nr_blocks ? &c->blocks[keep - 1] :
							 NULL;
	if (b && b->data)
		memset(b->data + size % BLOCK_BYTES, 0,
		       BLOCK_BYTES - size % BLOCK_BYTES);
}

static void content_put(struct overlay *o, struct content *c)
{
	if (!c || --c->refs)
		return;
	content_cut(o, c, 0);
	mem_free(c->blocks);
	mem_free(c->below);
	mem_free(c);
}

static struct content *content_new(const char *below)
{
	struct content *c = mem_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->refs = 1;
	c->below = below ? mem_strdup(below) : NULL;
	if (below && !c->below) {
		mem_free(c);
		return NULL;
	}
	return c;
}

static int need_blocks(struct content *c, u64 nr)
{
	u64 cap = c->nr_blocks ? c->nr_blocks : 1;
	struct block *p;

	if (nr <= c->nr_blocks)
		return 0;
	while (cap < nr)
		cap *= 2;
	if (cap > SIZE_MAX / sizeof(*p))
		return -AKIN_E_too_large;
	p = mem_realloc(c->blocks, (size_t)cap * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	memset(p + c->nr_blocks, 0, (size_t)(cap - c->nr_blocks) * sizeof(*p));
	c->blocks = p;
	c->nr_blocks = cap;
	return 0;
}

static int content_write(struct overlay *o, struct content *c, const u8 *data,
			 size_t n, u64 off, struct akin_diag *diag)
{
	size_t at, part;
	int err;

	err = n ? need_blocks(c, (off + n + BLOCK_BYTES - 1) / BLOCK_BYTES) : 0;
	while (!err && n) {
		at = (size_t)(off % BLOCK_BYTES);
		part = min_u64(n, BLOCK_BYTES - at);
		err = block_write(o, &c->blocks[off / BLOCK_BYTES], data, part,
				  at, diag);
		if (err)
			break;
		data += part;
		off += part;
		n -= part;
		c->size = max_u64(c->size, off);
	}
	return err;
}

static int content_read(struct overlay *o, const struct content *c, u8 *data,
			size_t n, u64 off, struct akin_diag *diag)
{
	static const struct block nowhere;
	size_t at, part;
	u64 i;
	int err = 0;

	if (n && (off > c->size || n > c->size - off))
		return diag_set(diag, -AKIN_E_short_read, "read of %zu bytes "
				"at %llu: %s", n, (unsigned long long)off,
				akin_strerror(-AKIN_E_short_read));
	while (!err && n) {
		i = off / BLOCK_BYTES;
		at = (size_t)(off % BLOCK_BYTES);
		part = min_u64(n, BLOCK_BYTES - at);
		err = block_read(o, i < c->nr_blocks ? &c->blocks[i] : &nowhere,
				 data, part, at, diag);
		data += part;
		off += part;
		n -= part;
	}
	return err;
}

/* The file below becomes bytes of our own. */
static int content_fill(struct overlay *o, struct content *c,
			struct akin_diag *diag)
{
	u8 *data = mem_alloc(BLOCK_BYTES);
	struct file *f = NULL;
	u64 size = 0, off;
	size_t part;
	int err = 0;

	if (!data)
		return -AKIN_E_nomem;
	err = o->below->ops->open(o->below, c->below, 0, &f, diag);
	if (!err)
		err = f->disk->ops->size(f, &size, diag);
	for (off = 0; !err && off < size; off += part) {
		part = min_u64(size - off, BLOCK_BYTES);
		err = f->disk->ops->pread(f, data, part, off, diag);
		if (!err)
			err = content_write(o, c, data, part, off, diag);
	}
	if (f)
		ignore_result(f->disk->ops->close(f, NULL)); /* was only read */
	mem_free(data);
	if (err) {
		content_cut(o, c, 0);
		return err;
	}
	mem_free(c->below);
	c->below = NULL;
	return 0;
}

/* Names ---------------------------------------------------------------------*/

/* "./a" is "a". */
static const char *plain(const char *name)
{
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	return name;
}

/* Where it is, or would be. */
static size_t entry_at(const struct overlay *o, const char *name)
{
	size_t lo = 0, hi = o->nr_entries, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (strcmp(o->entries[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct entry *entry_find(struct overlay *o, const char *name)
{
	size_t i = entry_at(o, name);

	return i < o->nr_entries && !strcmp(o->entries[i].name, name) ?
		       &o->entries[i] : NULL;
}

/* The name stands for @c (taken; NULL: for nothing) from now on. */
static int entry_set(struct overlay *o, const char *name, struct content *c)
{
	struct entry *e = entry_find(o, name), *p;
	size_t cap = o->cap_entries ? o->cap_entries * 2 : 64, i;

	if (e) {
		content_put(o, e->content);
		e->content = c;
		return 0;
	}
	if (o->nr_entries == o->cap_entries) {
		p = mem_realloc(o->entries, cap * sizeof(*p));
		if (!p)
			goto fail;
		o->entries = p;
		o->cap_entries = cap;
	}
	i = entry_at(o, name);
	e = &o->entries[i];
	memmove(e + 1, e, (o->nr_entries - i) * sizeof(*e));
	e->name = mem_strdup(name);
	if (!e->name) {
		memmove(e, e + 1, (o->nr_entries - i) * sizeof(*e));
		goto fail;
	}
	e->content = c;
	o->nr_entries++;
	return 0;
fail:
	content_put(o, c);
	return -AKIN_E_nomem;
}

/* What there is below by this name: a file, or an error. */
static int stat_below(struct overlay *o, const char *name,
		      struct akin_diag *diag)
{
	struct disk_stat st;
	int err = o->below->ops->stat(o->below, name, &st, diag);

	return !err && st.is_dir ? -AKIN_E_io : err;
}

static int check_dir(struct overlay *o, const char *name,
		     struct akin_diag *diag)
{
	struct disk_stat st;

	return o->below->ops->stat(o->below, name, &st, diag);
}

/* The directory that @name would be in exists. */
static int check_parent(struct overlay *o, const char *name,
			struct akin_diag *diag)
{
	const char *slash = strrchr(name, '/');
	char *dir;
	int err;

	if (!slash)
		return 0;
	dir = mem_dup(name, (size_t)(slash - name) + 1);
	if (!dir)
		return -AKIN_E_nomem;
	dir[slash - name] = '\0';
	err = check_dir(o, dir, diag);
	mem_free(dir);
	return err;
}

/* The content of @name for writing; made if the flags say so. */
static int content_for_writing(struct overlay *o, const char *name,
			       unsigned flags, struct content **out,
			       struct akin_diag *diag)
{
	struct entry *e = entry_find(o, name);
	struct akin_diag why = { 0 };
	struct content *c = e ? e->content : NULL;
	bool there = c != NULL;
	int err = 0;

	if (!e) {
		err = stat_below(o, name, &why);
		there = !err;
		if (err && err != -AKIN_E_absent)
			return diag_set(diag, err, "open: %s", why.code ?
					why.text : akin_strerror(err));
	}
	if (there && (flags & DISK_EXCL))
		return -AKIN_E_exists;
	if (!there && !(flags & DISK_CREATE))
		return -AKIN_E_absent;
	if (!there)
		err = check_parent(o, name, diag);
	if (err)
		return err;
	if (!c) {
		c = content_new(there ? name : NULL);
		if (!c || entry_set(o, name, TAKE(c)))
			return -AKIN_E_nomem;
	}
	*out = c;
	if (flags & DISK_TRUNC) {
		mem_free(c->below);
		c->below = NULL;
		content_cut(o, c, 0);
	}
	return c->below ? content_fill(o, c, diag) : 0;
}

/* Operations on names -------------------------------------------------------*/

static int open_locked(struct overlay *o, const char *name, unsigned flags,
		       struct overlay_file *f, struct akin_diag *diag)
{
	struct entry *e;
	int err = 0;

	f->writable = flags & DISK_WRITE;
	if (f->writable) {
		err = content_for_writing(o, name, flags, &f->content, diag);
	} else {
		e = entry_find(o, name);
		if (e && !e->content)
			return -AKIN_E_absent;
		f->content = e && !e->content->below ? e->content : NULL;
		if (!f->content)
			return o->below->ops->open(o->below, e ?
						   e->content->below : name,
						   0, &f->below, diag);
	}
	if (!err)
		f->content->refs++;
	return err;
}

static int overlay_open(struct disk *d, const char *name, unsigned flags,
			struct file **out, struct akin_diag *diag)
{
	struct overlay_file *f = mem_zalloc(sizeof(*f));
	struct overlay *o = to_overlay(d);
	int err;

	if (!f)
		return -AKIN_E_nomem;
	f->file.disk = d;
	pthread_mutex_lock(&o->lock);
	err = open_locked(o, plain(name), flags, f, diag);
	pthread_mutex_unlock(&o->lock);
	if (err) {
		mem_free(f);
		return diag_set(diag, err, "open: %s", akin_strerror(err));
	}
	*out = &f->file;
	return 0;
}

static int overlay_open_tmp(struct disk *d, const char *dir, struct file **out,
			    struct akin_diag *diag)
{
	struct overlay_file *f = mem_zalloc(sizeof(*f));
	int err;

	if (!f)
		return -AKIN_E_nomem;
	err = check_dir(to_overlay(d), dir, diag);
	f->content = err ? NULL : content_new(NULL);
	if (!f->content) {
		mem_free(f);
		return err ? err : -AKIN_E_nomem;
	}
	f->file.disk = d;
	f->writable = true;
	*out = &f->file;
	return 0;
}

static int overlay_mkdir(struct disk *d, const char *name,
			 struct akin_diag *diag)
{
	struct disk_stat st;
	int err;

	err = to_overlay(d)->below->ops->stat(to_overlay(d)->below, name, &st,
					      NULL);
	return !err && st.is_dir ? 0 : diag_set(diag, -AKIN_E_readonly,
						"mkdir: only tried out");
}

/* A content that @name stands for, with a reference for the caller. */
static int content_of(struct overlay *o, const char *name,
		      struct content **out, struct akin_diag *diag)
{
	struct entry *e = entry_find(o, name);
	int err;

	if (e) {
		*out = e->content;
		if (*out)
			(*out)->refs++;
		return *out ? 0 : -AKIN_E_absent;
	}
	err = stat_below(o, name, diag);
	if (err)
		return err;
	*out = content_new(name);
	return *out ? 0 : -AKIN_E_nomem;
}

static int overlay_rename(struct disk *d, const char *from, const char *to,
			  struct akin_diag *diag)
{
	struct overlay *o = to_overlay(d);
	struct content *c;
	int err;

	pthread_mutex_lock(&o->lock);
	err = content_of(o, plain(from), &c, diag);
	if (!err)
		err = check_parent(o, plain(to), diag);
	else
		c = NULL;
	if (err)
		content_put(o, c);
	else
		err = entry_set(o, plain(to), TAKE(c));
	if (!err && strcmp(plain(from), plain(to)))
		err = entry_set(o, plain(from), NULL);
	pthread_mutex_unlock(&o->lock);
	return err;
}

static int overlay_unlink(struct disk *d, const char *name,
			  struct akin_diag *diag)
{
	struct overlay *o = to_overlay(d);
	struct content *c;
	int err;

	pthread_mutex_lock(&o->lock);
	err = content_of(o, plain(name), &c, diag);
	if (!err) {
		content_put(o, c);
		err = entry_set(o, plain(name), NULL);
	}
	pthread_mutex_unlock(&o->lock);
	return err;
}

static u64 content_alloc(const struct content *c)
{
	u64 i, n = 0;

	for (i = 0; i < c->nr_blocks; i++)
		n += c->blocks[i].data || c->blocks[i].slot;
	return n * BLOCK_BYTES;
}

static int overlay_stat(struct disk *d, const char *name,
			struct disk_stat *out, struct akin_diag *diag)
{
	struct overlay *o = to_overlay(d);
	struct entry *e;
	int err = 0;

	pthread_mutex_lock(&o->lock);
	e = entry_find(o, plain(name));
	if (e && !e->content) {
		err = -AKIN_E_absent;
	} else if (e && !e->content->below) {
		out->size_bytes = e->content->size;
		out->alloc_bytes = content_alloc(e->content);
		out->is_dir = false;
	} else {
		err = o->below->ops->stat(o->below, e ? e->content->below :
					  name, out, diag);
	}
	pthread_mutex_unlock(&o->lock);
	return err;
}

struct listing {
	struct overlay *o;
	const char *dir;
	disk_list_fn *fn;
	void *ctx;
};

/* "dir/name"; owned. */
static char *join(const char *dir, const char *name)
{
	size_t a = strcmp(dir, ".") ? strlen(dir) + 1 : 0, b = strlen(name);
	char *s = mem_alloc(a + b + 1);

	if (!s)
		return NULL;
	if (a) {
		memcpy(s, dir, a - 1);
		s[a - 1] = '/';
	}
	memcpy(s + a, name, b + 1);
	return s;
}

/* A name below; those that were changed here have been told. */
static int list_below(void *ctx, const char *name, bool is_dir)
{
	struct listing *l = ctx;
	char *full = join(l->dir, name);
	bool ours;

	if (!full)
		return -AKIN_E_nomem;
	pthread_mutex_lock(&l->o->lock);
	ours = entry_find(l->o, full) != NULL;
	pthread_mutex_unlock(&l->o->lock);
	mem_free(full);
	return ours ? 0 : l->fn(l->ctx, name, is_dir);
}

/* The last part of our @i-th name that lies in @dir and stands for something,
 * or NULL; owned. *end_ret: there are no more. */
static char *nth_name(struct overlay *o, const char *dir, size_t i,
		      bool *end_ret)
{
	size_t n = strcmp(dir, ".") ? strlen(dir) : 0;
	const char *name;
	char *copy = NULL;

	pthread_mutex_lock(&o->lock);
	*end_ret = i >= o->nr_entries;
	if (!*end_ret && o->entries[i].content) {
		name = o->entries[i].name;
		if (n && (strncmp(name, dir, n) || name[n] != '/'))
			name = NULL;
		else if (n)
			name += n + 1;
		if (name && !strchr(name, '/'))
			copy = mem_strdup(name);
	}
	pthread_mutex_unlock(&o->lock);
	return copy;
}

static int overlay_list(struct disk *d, const char *name, disk_list_fn *fn,
			void *ctx, struct akin_diag *diag)
{
	struct listing l = { to_overlay(d), plain(name), fn, ctx };
	bool end = false;
	char *own;
	size_t i;
	int err;

	err = check_dir(l.o, l.dir, diag);
	/* Names that @fn adds or drops may be told twice or not at all. */
	for (i = 0; !err && !end; i++) {
		own = nth_name(l.o, l.dir, i, &end);
		if (own)
			err = fn(ctx, own, false);
		mem_free(own);
	}
	return err ? err : l.o->below->ops->list(l.o->below, l.dir, list_below,
						 &l, diag);
}

static int overlay_sync_dir(struct disk *d, const char *name,
			    struct akin_diag *diag)
{
	return check_dir(to_overlay(d), name, diag);
}

static int overlay_space(struct disk *d, struct disk_space *out,
			 struct akin_diag *diag)
{
	struct overlay *o = to_overlay(d);

	return o->below->ops->space(o->below, out, diag);
}

static void overlay_free(struct disk *d)
{
	struct overlay *o = to_overlay(d);
	size_t i;

	for (i = 0; i < o->nr_entries; i++) {
		content_put(o, o->entries[i].content);
		mem_free(o->entries[i].name);
	}
	mem_free(o->entries);
	mem_free(o->free_slots);
	/* Nothing in it is for anybody else. */
	ignore_result(file_close(o->scratch, NULL));
	disk_free(o->below);
	pthread_mutex_destroy(&o->lock);
	mem_free(o);
}

/* Operations on files -------------------------------------------------------*/

static int overlay_pread(struct file *f, void *data, size_t n, u64 off,
			 struct akin_diag *diag)
{
	struct overlay *o = to_overlay(f->disk);
	struct overlay_file *of = to_file(f);
	int err;

	if (of->below)
		return of->below->disk->ops->pread(of->below, data, n, off,
						   diag);
	pthread_mutex_lock(&o->lock);
	err = content_read(o, of->content, data, n, off, diag);
	pthread_mutex_unlock(&o->lock);
	return err;
}

static int overlay_pread_many(struct disk *d, struct disk_read *reads,
			      size_t n, struct akin_diag *diag)
{
	size_t i;

	for (i = 0; i < n; i++)
		reads[i].result = disk_range_ok(reads[i].off, reads[i].len) ?
			overlay_pread(reads[i].file, reads[i].data,
				      reads[i].len, reads[i].off, NULL) :
			-AKIN_E_short_read;
	return 0;
}

static int overlay_pwrite(struct file *f, const void *data, size_t n, u64 off,
			  struct akin_diag *diag)
{
	struct overlay *o = to_overlay(f->disk);
	struct overlay_file *of = to_file(f);
	int err;

	if (!of->writable)
		return diag_set(diag, -AKIN_E_io, "opened for reading only");
	pthread_mutex_lock(&o->lock);
	err = content_write(o, of->content, data, n, off, diag);
	pthread_mutex_unlock(&o->lock);
	return err;
}

static int overlay_size(struct file *f, u64 *out, struct akin_diag *diag)
{
	struct overlay_file *of = to_file(f);

	if (of->below)
		return of->below->disk->ops->size(of->below, out, diag);
	pthread_mutex_lock(&to_overlay(f->disk)->lock);
	*out = of->content->size;
	pthread_mutex_unlock(&to_overlay(f->disk)->lock);
	return 0;
}

static int overlay_truncate(struct file *f, u64 size, struct akin_diag *diag)
{
	struct overlay *o = to_overlay(f->disk);
	struct overlay_file *of = to_file(f);
	size_t tail = (size_t)(size % BLOCK_BYTES);
	u8 *zeros = NULL;
	u64 old;
	int err = 0;

	if (!of->writable)
		return diag_set(diag, -AKIN_E_io, "opened for reading only");
	pthread_mutex_lock(&o->lock);
	old = of->content->size;
	/* In the scratch file what is cut off is overwritten. */
	if (size < old && tail && size / BLOCK_BYTES < of->content->nr_blocks &&
	    of->content->blocks[size / BLOCK_BYTES].slot) {
		zeros = mem_zalloc(BLOCK_BYTES);
		err = zeros ? block_write(o, &of->content->blocks[size /
					  BLOCK_BYTES], zeros,
					  BLOCK_BYTES - tail, tail, diag) :
			      -AKIN_E_nomem;
		mem_free(zeros);
	}
	if (!err && size < old)
		content_cut(o, of->content, size);
	else if (!err)
		of->content->size = size;
	pthread_mutex_unlock(&o->lock);
	return err;
}

static int overlay_reserve(struct file *f, u64 size, struct akin_diag *diag)
{
	struct overlay_file *of = to_file(f);

	if (!of->writable)
		return diag_set(diag, -AKIN_E_io, "opened for reading only");
	pthread_mutex_lock(&to_overlay(f->disk)->lock);
	of->content->size = max_u64(of->content->size, size);
	pthread_mutex_unlock(&to_overlay(f->disk)->lock);
	return 0;
}

static int overlay_sync(struct file *f, struct akin_diag *diag)
{
	return 0;
}

static int overlay_lock(struct file *f, enum disk_lock kind, u64 off, u64 len,
			struct akin_diag *diag)
{
	struct file *b = to_file(f)->below;

	return b ? b->disk->ops->lock(b, kind, off, len, diag) : 0;
}

static int overlay_lock_test(struct file *f, enum disk_lock kind, u64 off,
			     u64 len, u64 *off_ret, u64 *len_ret,
			     struct akin_diag *diag)
{
	struct file *b = to_file(f)->below;

	*len_ret = 0;
	return b ? b->disk->ops->lock_test(b, kind, off, len, off_ret, len_ret,
					   diag) : 0;
}

static int overlay_close(struct file *f, struct akin_diag *diag)
{
	struct overlay *o = to_overlay(f->disk);
	struct overlay_file *of = to_file(f);
	int err = 0;

	if (of->below)
		err = of->below->disk->ops->close(of->below, diag);
	pthread_mutex_lock(&o->lock);
	content_put(o, of->content);
	pthread_mutex_unlock(&o->lock);
	mem_free(of);
	return err;
}

static const struct disk_ops overlay_ops = {
	.name = "overlay",
	.open = overlay_open,
	.open_tmp = overlay_open_tmp,
	.mkdir = overlay_mkdir,
	.rename = overlay_rename,
	.unlink = overlay_unlink,
	.stat = overlay_stat,
	.list = overlay_list,
	.sync_dir = overlay_sync_dir,
	.space = overlay_space,
	.free = overlay_free,
	.pread = overlay_pread,
	.pwrite = overlay_pwrite,
	.pread_many = overlay_pread_many,
	.size = overlay_size,
	.truncate = overlay_truncate,
	.reserve = overlay_reserve,
	.sync = overlay_sync,
	.lock = overlay_lock,
	.lock_test = overlay_lock_test,
	.close = overlay_close,
};

int disk_overlay_new(struct disk *below, struct disk *scratch,
		     size_t memory_bytes, struct disk **out,
		     struct akin_diag *diag)
{
	struct overlay *o = mem_zalloc(sizeof(*o));

	*out = NULL;
	if (!o || pthread_mutex_init(&o->lock, NULL)) {
		mem_free(o);
		disk_free(below);
		return diag_set(diag, -AKIN_E_nomem, "overlay");
	}
	o->disk.ops = &overlay_ops;
	o->disk.label = below->label;
	o->disk.lockless = below->lockless;
	o->below = below;
	o->scratch_disk = scratch;
	o->memory_left = memory_bytes;
	*out = &o->disk;
	return 0;
}
