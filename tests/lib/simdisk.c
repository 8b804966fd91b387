/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of the lying disk.
 *
 * Each begins with sim_begin(), which takes the machine's lock, numbers the
 * operation if it changes anything, and refuses it if the power is off, the
 * process is dead or a fault strikes; and ends with sim_end().
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "simdisk_internal.h"

#define SIM_UNLIMITED ((u64)1 << 40)

static struct sim_attach *to_attach(struct disk *d)
{
	return container_of(d, struct sim_attach, disk);
}

static struct sim_file *to_sim(struct file *f)
{
	return container_of(f, struct sim_file, file);
}

static const char *kind_name(enum sim_kind kind)
{
	static const char *const names[] = {
		"open", "create", "mkdir", "rename", "unlink", "stat", "list",
		"sync_dir", "read", "write", "truncate", "reserve", "sync",
		"lock",
	};
	int bit = __builtin_ctz(kind);

	return bit < (int)ARRAY_SIZE(names) ? names[bit] : "?";
}

static void record(struct simdisk *sd, enum sim_kind kind, const char *name,
		   u64 off, u64 len)
{
	struct sim_machine *m = sd->machine;
	struct sim_record *r;

	m->log = sim_grow(m->log, m->nr_log, &m->cap_log, sizeof(*m->log));
	r = &m->log[m->nr_log++];
	r->kind = kind;
	r->label = sd->label;
	r->name = sim_strdup(name);
	r->off = off;
	r->len = len;
	if (m->nr_log == m->crash_at)
		m->crashed = true;
}

static int fault_strikes(struct simdisk *sd, enum sim_kind kind,
			 const char *name)
{
	struct sim_fault *f = &sd->fault;

	if (!(f->kinds & kind) || (f->name && !strstr(name, f->name)))
		return 0;
	sd->fault_seen++;
	if (sd->fault_seen < f->nth ||
	    (sd->fault_seen > f->nth && !f->for_good))
		return 0;
	sd->nr_faults++;
	return f->code;
}

/* With the lock held. 0, or the operation must fail. */
static int admit(struct sim_attach *at, enum sim_kind kind, const char *name,
		 u64 off, u64 len, struct akin_diag *diag)
{
	struct simdisk *sd = at->sd;
	int err;

	if (at->dead)
		return diag_set(diag, -AKIN_E_io, "%s: process is dead",
				kind_name(kind));
	if (!sd->machine->crashed && kind & SIM_MUTATING)
		record(sd, kind, name, off, len);
	if (sd->machine->crashed)
		return diag_set(diag, -AKIN_E_io, "%s: simulated crash",
				kind_name(kind));
	err = fault_strikes(sd, kind, name);
	if (err)
		return diag_set(diag, err, "%s: simulated fault: %s",
				kind_name(kind), akin_strerror(err));
	if (kind & SIM_MUTATING && !at->writable)
		return diag_set(diag, -AKIN_E_readonly,
				"%s: opened for reading only",
				kind_name(kind));
	return 0;
}

static int sim_begin(struct sim_attach *at, enum sim_kind kind,
		     const char *name, u64 off, u64 len,
		     struct akin_diag *diag)
{
	int err;

	pthread_mutex_lock(&at->sd->machine->lock);
	err = admit(at, kind, name, off, len, diag);
	if (err)
		pthread_mutex_unlock(&at->sd->machine->lock);
	return err;
}

static int sim_begin_file(struct file *f, enum sim_kind kind, u64 off, u64 len,
			  struct akin_diag *diag)
{
	return sim_begin(to_sim(f)->at, kind, f->name, off, len, diag);
}

static int sim_end(struct sim_attach *at, int err)
{
	pthread_mutex_unlock(&at->sd->machine->lock);
	return err;
}

static bool has_room(const struct simdisk *sd, u64 pages)
{
	if (!sd->capacity || !pages)
		return true;
	return sim_used(sd) + pages * SIM_PAGE <= sd->capacity;
}

static int no_space(struct akin_diag *diag, const char *what)
{
	return diag_set(diag, -AKIN_E_nospace, "%s: no space left", what);
}

static int not_there(struct akin_diag *diag, const char *what)
{
	return diag_set(diag, -AKIN_E_absent, "%s: no such file or directory",
			what);
}

static struct file *handle_new(struct sim_attach *at, struct sim_inode *in,
			       bool writable)
{
	struct sim_file *f = sim_alloc(sizeof(*f));

	f->file.disk = &at->disk;
	f->at = at;
	f->inode = inode_get(in);
	f->writable = writable;
	in->nr_open++;
	f->next = at->files;
	if (f->next)
		f->next->prev = f;
	at->files = f;
	return &f->file;
}

static void handle_detach(struct sim_file *f)
{
	if (!f->inode)
		return;
	sim_lock_drop(f);
	f->inode->nr_open--;
	inode_put(f->inode);
	f->inode = NULL;
}

static void handle_free(struct sim_file *f)
{
	handle_detach(f);
	if (f->prev)
		f->prev->next = f->next;
	else
		f->at->files = f->next;
	if (f->next)
		f->next->prev = f->prev;
	free(f);
}

/* A new file or directory under @name. NULL and @err if it cannot be. */
static struct sim_inode *make(struct simdisk *sd, const char *name,
			      bool is_dir, int *err, struct akin_diag *diag)
{
	struct sim_change change = { 0 };
	const char *last;
	struct sim_inode *in;

	change.dir = sim_parent(sd, name, &last);
	if (!change.dir) {
		*err = not_there(diag, "create");
		return NULL;
	}
	if (!has_room(sd, 1)) {
		*err = no_space(diag, "create");
		return NULL;
	}
	in = inode_new(sd, is_dir);
	change.inode = in;
	change.name = (char *)last;
	sim_change_names(sd, &change, 1);
	inode_put(in);		/* the name holds it */
	*err = 0;
	return in;
}

static void truncate_inode(struct sim_inode *in, u64 size)
{
	image_truncate(&in->now, size);
	pending_add(in, PENDING_TRUNCATE, NULL, 0, 0, size);
}

static int sim_open(struct disk *d, const char *name, unsigned flags,
		    struct file **out, struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	struct simdisk *sd = at->sd;
	enum sim_kind kind = SIM_OPEN;
	struct sim_inode *in;
	int err = 0;

	pthread_mutex_lock(&sd->machine->lock);
	in = sim_lookup(sd, name);
	if ((!in && flags & DISK_CREATE) || (in && flags & DISK_TRUNC))
		kind = SIM_CREATE;
	err = admit(at, kind, name, 0, 0, diag);
	if (!err && flags & DISK_WRITE && !at->writable)
		err = diag_set(diag, -AKIN_E_readonly,
			       "open: opened for reading only");
	if (!err && in && flags & DISK_EXCL)
		err = diag_set(diag, -AKIN_E_exists, "open: exists");
	else if (!err && in && in->is_dir)
		err = diag_set(diag, -AKIN_E_io, "open: not a regular file");
	else if (!err && !in && !(flags & DISK_CREATE))
		err = not_there(diag, "open");
	if (!err && !in)
		in = make(sd, name, false, &err, diag);
	else if (!err && flags & DISK_TRUNC && in->now.size)
		truncate_inode(in, 0);
	if (!err)
		*out = handle_new(at, in, flags & DISK_WRITE);
	return sim_end(at, err);
}

static int sim_open_tmp(struct disk *d, const char *dir, struct file **out,
			struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	struct sim_inode *in;
	int err = sim_begin(at, SIM_CREATE, dir, 0, 0, diag);

	if (err)
		return err;
	in = sim_lookup(at->sd, dir);
	if (!in || !in->is_dir)
		return sim_end(at, not_there(diag, "temporary file"));
	if (!has_room(at->sd, 1))
		return sim_end(at, no_space(diag, "temporary file"));
	in = inode_new(at->sd, false);
	*out = handle_new(at, in, true);
	inode_put(in);		/* the open file holds it */
	return sim_end(at, 0);
}

static int sim_mkdir(struct disk *d, const char *name, struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	struct sim_inode *in;
	int err = sim_begin(at, SIM_MKDIR, name, 0, 0, diag);

	if (err)
		return err;
	in = sim_lookup(at->sd, name);
	if (in && !in->is_dir)
		err = diag_set(diag, -AKIN_E_exists, "mkdir: exists");
	else if (!in)
		(void)make(at->sd, name, true, &err, diag);
	return sim_end(at, err);
}

static int rename_locked(struct simdisk *sd, const char *from, const char *to,
			 struct akin_diag *diag)
{
	struct sim_change change[2] = { 0 };
	const char *last_from, *last_to;
	struct sim_inode *in, *target;

	in = sim_lookup(sd, from);
	change[0].dir = sim_parent(sd, to, &last_to);
	change[1].dir = sim_parent(sd, from, &last_from);
	if (!in || !change[0].dir || !change[1].dir)
		return not_there(diag, "rename");
	target = table_find(&change[0].dir->names, last_to);
	if (in->is_dir || (target && target->is_dir))
		return diag_set(diag, -AKIN_E_io, "rename: is a directory");
	if (in == target)
		return 0;
	change[0].name = (char *)last_to;
	change[0].inode = in;
	change[1].name = (char *)last_from;
	sim_change_names(sd, change, 2);
	return 0;
}

static int sim_rename(struct disk *d, const char *from, const char *to,
		      struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	int err = sim_begin(at, SIM_RENAME, from, 0, 0, diag);

	if (err)
		return err;
	return sim_end(at, rename_locked(at->sd, from, to, diag));
}

static int sim_unlink(struct disk *d, const char *name, struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	struct sim_change change = { 0 };
	struct sim_inode *in;
	const char *last;
	int err = sim_begin(at, SIM_UNLINK, name, 0, 0, diag);

	if (err)
		return err;
	in = sim_lookup(at->sd, name);
	if (!in)
		return sim_end(at, not_there(diag, "unlink"));
	if (in->is_dir)
		return sim_end(at, diag_set(diag, -AKIN_E_io,
					    "unlink: is a directory"));
	change.dir = sim_parent(at->sd, name, &last);
	change.name = (char *)last;
	sim_change_names(at->sd, &change, 1);
	return sim_end(at, 0);
}

static int sim_stat(struct disk *d, const char *name, struct disk_stat *out,
		    struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	struct sim_inode *in;
	int err = sim_begin(at, SIM_STAT, name, 0, 0, diag);

	if (err)
		return err;
	in = sim_lookup(at->sd, name);
	if (!in)
		return sim_end(at, not_there(diag, "stat"));
	out->size_bytes = in->now.size;
	out->alloc_bytes = in->now.nr_alloc * SIM_PAGE;
	out->is_dir = in->is_dir;
	return sim_end(at, 0);
}

/* The callback runs without the lock, over a copy: it may change the disk. */
static int sim_list(struct disk *d, const char *name, disk_list_fn *fn,
		    void *ctx, struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	struct sim_name *copy = NULL;
	struct sim_inode *in;
	size_t i, nr = 0;
	int err = sim_begin(at, SIM_LIST, name, 0, 0, diag);

	if (err)
		return err;
	in = sim_lookup(at->sd, name);
	if (!in || !in->is_dir)
		return sim_end(at, not_there(diag, "list"));
	nr = in->names.nr;
	copy = sim_alloc((nr + 1) * sizeof(*copy));
	for (i = 0; i < nr; i++) {
		copy[i].path = sim_strdup(in->names.e[i].name);
		copy[i].is_dir = in->names.e[i].inode->is_dir;
	}
	err = sim_end(at, 0);
	for (i = 0; !err && i < nr; i++)
		err = fn(ctx, copy[i].path, copy[i].is_dir);
	simdisk_names_free(copy, nr);
	return err;
}

static int sim_sync_dir(struct disk *d, const char *name,
			struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	struct sim_inode *in;
	/* Like fsync() of a directory, it may be asked for by a reader. */
	int err = sim_begin(at, at->writable ? SIM_SYNC_DIR : SIM_STAT, name,
			    0, 0, diag);

	if (err)
		return err;
	in = sim_lookup(at->sd, name);
	if (!in || !in->is_dir)
		return sim_end(at, not_there(diag, "sync of the directory"));
	sim_commit_dir(at->sd, in);
	return sim_end(at, 0);
}

static int sim_space(struct disk *d, struct disk_space *out,
		     struct akin_diag *diag)
{
	struct sim_attach *at = to_attach(d);
	u64 used;
	int err = sim_begin(at, SIM_STAT, ".", 0, 0, diag);

	if (err)
		return err;
	used = sim_used(at->sd);
	out->total_bytes = at->sd->capacity ? at->sd->capacity : SIM_UNLIMITED;
	out->free_bytes = used < out->total_bytes ? out->total_bytes - used : 0;
	return sim_end(at, 0);
}

static void sim_free(struct disk *d)
{
	struct sim_attach *at = to_attach(d);
	struct sim_machine *m = at->sd->machine;
	char *name;

	/* A file that is still open is a leak of who used the disk. */
	akin_assert(at->dead || !at->files);
	pthread_mutex_lock(&m->lock);
	while (at->files) {
		name = at->files->file.name;
		handle_free(at->files);
		mem_free(name);
	}
	at->sd->nr_attached--;
	pthread_mutex_unlock(&m->lock);
	free(at);
}

void simdisk_break_page(struct simdisk *sd, const char *name, u64 off)
{
	pthread_mutex_lock(&sd->machine->lock);
	akin_assert(sd->nr_bad < SIM_BAD_MAX && off % SIM_PAGE == 0);
	sd->bad[sd->nr_bad++] = (struct sim_bad){ name, off };
	pthread_mutex_unlock(&sd->machine->lock);
}

/* Is there a bad page in the range? Those that are written as a whole are good
 * from now on. */
static int pass_bad_pages(struct simdisk *sd, const char *name, u64 off,
			  size_t n, bool writes, struct akin_diag *diag)
{
	struct sim_bad *b;

	for (b = sd->bad; b < sd->bad + sd->nr_bad; b++) {
		if (!b->name || strcmp(b->name, name) ||
		    off >= b->off + SIM_PAGE || off + n <= b->off)
			continue;
		if (!writes || off > b->off || off + n < b->off + SIM_PAGE)
			return diag_set(diag, -AKIN_E_io, "a bad page at %llu",
					(unsigned long long)b->off);
		b->name = NULL;
	}
	return 0;
}

static int sim_pread(struct file *f, void *data, size_t n, u64 off,
		     struct akin_diag *diag)
{
	struct sim_file *sf = to_sim(f);
	int err = sim_begin_file(f, SIM_READ, off, n, diag);

	if (err)
		return err;
	if (n && (!disk_range_ok(off, n) || off + n > sf->inode->now.size))
		err = diag_set(diag, -AKIN_E_short_read,
			       "read of %zu bytes at %llu: %s", n,
			       (unsigned long long)off,
			       akin_strerror(-AKIN_E_short_read));
	else
		err = pass_bad_pages(sf->at->sd, f->name, off, n, false, diag);
	if (!err)
		image_read(&sf->inode->now, data, n, off);
	return sim_end(sf->at, err);
}

static int sim_pread_many(struct disk *d, struct disk_read *reads, size_t n,
			  struct akin_diag *diag)
{
	size_t i;

	for (i = 0; i < n; i++)
		reads[i].result = sim_pread(reads[i].file, reads[i].data,
					    reads[i].len, reads[i].off, NULL);
	return 0;
}

/* A descriptor without the right says EBADF, which is an I/O error here. */
static int check_writable(struct sim_file *f, u64 end, struct akin_diag *diag)
{
	if (!f->writable)
		return diag_set(diag, -AKIN_E_io, "not open for writing");
	if (end > SIM_FILE_MAX)
		return diag_set(diag, -AKIN_E_too_large,
				"beyond what the simulator holds");
	return 0;
}

/* How many of @n bytes find room, page by page. */
static size_t fitting(struct sim_inode *in, size_t n, u64 off)
{
	size_t done = 0, take;
	u64 free_pages, used = sim_used(in->sd);

	if (has_room(in->sd, image_missing(&in->now, off, n)))
		return n;
	free_pages = used < in->sd->capacity ?
		     (in->sd->capacity - used) / SIM_PAGE : 0;
	while (done < n) {
		take = SIM_PAGE - (off + done) % SIM_PAGE;
		if (take > n - done)
			take = n - done;
		if (image_missing(&in->now, off + done, take) &&
		    free_pages-- == 0)
			break;
		done += take;
	}
	return done;
}

static int sim_pwrite(struct file *f, const void *data, size_t n, u64 off,
		      struct akin_diag *diag)
{
	struct sim_file *sf = to_sim(f);
	struct sim_inode *in = sf->inode;
	size_t fits;
	u64 struck;
	u8 wrong;
	int err;

	pthread_mutex_lock(&sf->at->sd->machine->lock);
	struck = sf->at->sd->nr_faults;
	err = admit(sf->at, SIM_WRITE, f->name, off, n, diag);
	if (err)
		return sim_end(sf->at, err);
	err = check_writable(sf, off + n, diag);
	if (!err)
		err = pass_bad_pages(in->sd, f->name, off, n, true, diag);
	if (err || n == 0)
		return sim_end(sf->at, err);
	fits = fitting(in, n, off);
	if (fits) {
		image_write(&in->now, data, fits, off);
		pending_add(in, PENDING_WRITE, data, fits, off, in->now.size);
	}
	if (fits && sf->at->sd->nr_faults > struck) {
		wrong = ((const u8 *)data)[fits / 2] ^ 4;
		image_write(&in->now, &wrong, 1, off + fits / 2);
		pending_add(in, PENDING_WRITE, &wrong, 1, off + fits / 2,
			    in->now.size);
	}
	if (fits < n)
		err = diag_set(diag, -AKIN_E_nospace,
			       "write of %zu bytes at %llu: no space left", n,
			       (unsigned long long)off);
	return sim_end(sf->at, err);
}

static int sim_size(struct file *f, u64 *out, struct akin_diag *diag)
{
	int err = sim_begin_file(f, SIM_STAT, 0, 0, diag);

	if (err)
		return err;
	*out = to_sim(f)->inode->now.size;
	return sim_end(to_sim(f)->at, 0);
}

static int sim_truncate(struct file *f, u64 size, struct akin_diag *diag)
{
	struct sim_file *sf = to_sim(f);
	int err = sim_begin_file(f, SIM_TRUNCATE, 0, size, diag);

	if (err)
		return err;
	err = check_writable(sf, size, diag);
	if (!err)
		truncate_inode(sf->inode, size);
	return sim_end(sf->at, err);
}

static int sim_reserve(struct file *f, u64 size, struct akin_diag *diag)
{
	struct sim_file *sf = to_sim(f);
	struct sim_inode *in = sf->inode;
	int err = sim_begin_file(f, SIM_RESERVE, 0, size, diag);

	if (err)
		return err;
	err = check_writable(sf, size, diag);
	if (!err && !has_room(in->sd, image_missing(&in->now, 0, size)))
		err = diag_set(diag, -AKIN_E_nospace,
			       "reserve %llu bytes: no space left",
			       (unsigned long long)size);
	if (!err) {
		image_reserve(&in->now, size);
		pending_add(in, PENDING_RESERVE, NULL, 0, size, in->now.size);
	}
	return sim_end(sf->at, err);
}

/*
 * The kernel tried and failed: every other write is now clean in the page
 * cache and will never reach the platter.
 */
static void lose_pending(struct sim_inode *in)
{
	struct sim_pending *p;
	size_t i;

	in->lossy = true;
	for (i = 0; i < in->nr_pending; i++) {
		p = &in->pending[i];
		if (i % 2 == 0)
			pending_lose(p);
	}
}

static void sync_inode(struct sim_inode *in)
{
	size_t i;

	if (!in->lossy) {
		image_copy(&in->durable, &in->now);
	} else {
		for (i = 0; i < in->nr_pending; i++)
			pending_apply(&in->pending[i], &in->durable);
	}
	pending_clear(in);
}

static int sim_sync(struct file *f, struct akin_diag *diag)
{
	struct sim_file *sf = to_sim(f);
	u64 struck;
	int err;

	/* Like fsync(), it may be asked for by a reader. */
	pthread_mutex_lock(&sf->at->sd->machine->lock);
	struck = sf->at->sd->nr_faults;
	err = admit(sf->at, sf->at->writable ? SIM_SYNC : SIM_STAT, f->name, 0,
		    0, diag);
	if (!err)
		sync_inode(sf->inode);
	else if (sf->at->sd->nr_faults > struck)
		lose_pending(sf->inode);
	return sim_end(sf->at, err);
}

static int sim_lock(struct file *f, enum disk_lock kind, u64 off, u64 len,
		    struct akin_diag *diag)
{
	struct sim_file *sf = to_sim(f);
	u64 end = len ? off + len : SIM_LOCK_END;
	int err;

	err = sim_begin_file(f, kind == DISK_LOCK_NONE ? SIM_STAT : SIM_LOCK,
			     off, len, diag);
	if (err)
		return err;
	if (kind == DISK_LOCK_WRITE)
		err = check_writable(sf, 0, diag);
	if (!err)
		err = sim_lock_set(sf, kind, off, end);
	if (err)
		(void)diag_set(diag, err, "lock of %llu bytes at %llu: %s",
			       (unsigned long long)len,
			       (unsigned long long)off, akin_strerror(err));
	return sim_end(sf->at, err);
}

static int sim_lock_test(struct file *f, enum disk_lock kind, u64 off, u64 len,
			 u64 *off_ret, u64 *len_ret, struct akin_diag *diag)
{
	struct sim_file *sf = to_sim(f);
	u64 end = len ? off + len : SIM_LOCK_END;
	int err = sim_begin_file(f, SIM_STAT, off, len, diag);

	if (err)
		return err;
	if (sf->at->sd->locks == SIM_LOCKS_NONE)
		err = diag_set(diag, -AKIN_E_no_locks, "lock test: %s",
			       akin_strerror(-AKIN_E_no_locks));
	else
		(void)sim_lock_find(sf, kind, off, end, off_ret, len_ret);
	return sim_end(sf->at, err);
}

static int sim_close(struct file *f, struct akin_diag *diag)
{
	struct sim_attach *at = to_sim(f)->at;
	int err = 0;

	pthread_mutex_lock(&at->sd->machine->lock);
	if (at->sd->machine->crashed && !at->dead)
		err = diag_set(diag, -AKIN_E_io, "close: simulated crash");
	handle_free(to_sim(f));
	return sim_end(at, err);
}

static bool sim_shared(struct disk *d, struct machine *me)
{
	struct sim_attach *at = to_attach(d);

	*me = at->me;
	return at->shared;
}

static const struct disk_ops sim_ops = {
	.name = "sim",
	.open = sim_open,
	.open_tmp = sim_open_tmp,
	.mkdir = sim_mkdir,
	.rename = sim_rename,
	.unlink = sim_unlink,
	.stat = sim_stat,
	.list = sim_list,
	.sync_dir = sim_sync_dir,
	.space = sim_space,
	.shared = sim_shared,
	.free = sim_free,
	.pread = sim_pread,
	.pwrite = sim_pwrite,
	.pread_many = sim_pread_many,
	.size = sim_size,
	.truncate = sim_truncate,
	.reserve = sim_reserve,
	.sync = sim_sync,
	.lock = sim_lock,
	.lock_test = sim_lock_test,
	.close = sim_close,
};

struct disk *simdisk_attach(struct simdisk *sd, bool writable)
{
	struct sim_attach *at = sim_alloc(sizeof(*at));

	at->disk.ops = &sim_ops;
	at->disk.label = sd->label;
	at->sd = sd;
	at->writable = writable;
	pthread_mutex_lock(&sd->machine->lock);
	at->shared = sd->shared;
	at->me = sd->me;
	sd->nr_attached++;
	pthread_mutex_unlock(&sd->machine->lock);
	return &at->disk;
}

void simdisk_set_locks(struct simdisk *sd, enum sim_locks locks)
{
	pthread_mutex_lock(&sd->machine->lock);
	sd->locks = locks;
	pthread_mutex_unlock(&sd->machine->lock);
}

void simdisk_set_machine(struct simdisk *sd, const struct machine *me)
{
	pthread_mutex_lock(&sd->machine->lock);
	sd->shared = me != NULL;
	if (me)
		sd->me = *me;
	pthread_mutex_unlock(&sd->machine->lock);
}

void simdisk_kill(struct disk *d)
{
	struct sim_attach *at = to_attach(d);
	struct sim_file *f;

	akin_assert(d->ops == &sim_ops);
	pthread_mutex_lock(&at->sd->machine->lock);
	at->dead = true;
	for (f = at->files; f; f = f->next)
		handle_detach(f);
	pthread_mutex_unlock(&at->sd->machine->lock);
}

void simdisk_describe(struct simdisk *sd, u64 nr, char *text, size_t size)
{
	struct sim_machine *m = sd->machine;
	struct sim_record *r;

	pthread_mutex_lock(&m->lock);
	if (nr == 0 || nr > m->nr_log) {
		snprintf(text, size, "%s", "");
	} else {
		r = &m->log[nr - 1];
		snprintf(text, size, "%llu %s: %s %s %llu bytes at %llu",
			 (unsigned long long)nr, r->label, kind_name(r->kind),
			 r->name, (unsigned long long)r->len,
			 (unsigned long long)r->off);
	}
	pthread_mutex_unlock(&m->lock);
}
