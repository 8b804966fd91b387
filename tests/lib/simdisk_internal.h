/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by simdisk_*.c.
 *
 * Reference counts: an inode is held by each table entry, each pending name
 * operation and each open file. Directories hold their children and never
 * their parents, so there are no cycles. Everything is guarded by the lock of
 * the machine, but for pages and blobs: those are shared between machines,
 * counted atomically, and only written while nobody shares them.
 */
#ifndef SIMDISK_INTERNAL_H
#define SIMDISK_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "os/machine.h"
#include "simdisk.h"

#define SIM_PAGE 4096
#define SIM_SECTOR 512
#define SIM_FILE_MAX ((u64)1 << 30)
#define SIM_LOCK_END ((u64)INT64_MAX + 1)

struct sim_page {
	atomic_uint refs;
	u8 b[SIM_PAGE];
};

/* NULL pages are holes; past @nr there are only holes. */
struct sim_image {
	u64 size;
	struct sim_page **pages;
	size_t nr, nr_alloc;
};

struct sim_blob {
	atomic_uint refs;
	size_t len;
	u8 b[];
};

enum sim_pending_kind {
	PENDING_WRITE,
	PENDING_TRUNCATE,
	PENDING_RESERVE,
	PENDING_GROW,		/* a write whose bytes are lost already */
};

/* One thing done to a file and not synced. */
struct sim_pending {
	enum sim_pending_kind kind;
	u64 off;
	u64 size_after;
	struct sim_blob *blob;	/* of a write */
};

struct sim_entry {
	char *name;
	struct sim_inode *inode;
};

/* Sorted by name. */
struct sim_table {
	struct sim_entry *e;
	size_t nr, cap;
};

struct sim_lock {
	struct sim_file *owner;
	enum disk_lock kind;
	u64 off, end;
};

struct sim_inode {
	struct simdisk *sd;
	struct sim_inode *prev, *next;	/* all of the disk, oldest first */
	struct sim_inode *twin;		/* while cloning or rebooting */
	unsigned refs, nr_open;
	unsigned nr_names;		/* entries in page cache tables */
	bool is_dir;
	bool ended;			/* of a twin, see keep_name_op() */
	bool lossy;			/* a sync failed: @now has more than
					 * @durable and @pending together */
	struct sim_image now, durable;
	struct sim_pending *pending;
	size_t nr_pending, cap_pending;
	struct sim_table names, durable_names;
	struct sim_lock *locks;
	size_t nr_locks, cap_locks;
};

/* A change to one name; @inode NULL removes it. */
struct sim_change {
	struct sim_inode *dir, *inode;
	char *name;
};

/* One or (rename) two changes that happen together. */
struct sim_name_op {
	struct sim_change change[2];
	unsigned nr;
};

struct sim_record {
	enum sim_kind kind;
	const char *label;
	char *name;
	u64 off, len;
};

struct sim_machine {
	pthread_mutex_t lock;
	unsigned refs;			/* disks in it */
	u64 crash_at;
	bool crashed;
	struct sim_record *log;		/* operation n is log[n - 1] */
	size_t nr_log, cap_log;
};

struct simdisk {
	struct sim_machine *machine;
	const char *label;
	u64 capacity;
	unsigned nr_attached;
	struct sim_inode *root, *first, *last;
	struct sim_name_op *ops;	/* not durable, in order */
	size_t nr_ops, cap_ops;
	enum sim_locks locks;
	bool shared;
	struct machine me;		/* of who attaches */
	struct sim_fault fault;
	u64 fault_seen, nr_faults;
	struct sim_bad {
		const char *name;	/* NULL: good again */
		u64 off;
	} bad[SIM_BAD_MAX];
	unsigned nr_bad;
};

/* A process's view. */
struct sim_attach {
	struct disk disk;
	struct simdisk *sd;
	bool writable, dead, shared;
	struct machine me;
	struct sim_file *files;
};

struct sim_file {
	struct file file;
	struct sim_attach *at;
	struct sim_file *prev, *next;
	struct sim_inode *inode;	/* NULL once the process is dead */
	bool writable;
};

/* simdisk_image.c: memory, images, pending writes. */
void *sim_alloc(size_t size);
/* Room for one more element; returns the array. */
void *sim_grow(void *array, size_t nr, size_t *cap, size_t size);
char *sim_strdup(const char *s);

void image_release(struct sim_image *img);
/* Replaces what @to had. */
void image_copy(struct sim_image *to, const struct sim_image *from);
void image_read(const struct sim_image *img, void *data, size_t n, u64 off);
void image_write(struct sim_image *img, const void *data, size_t n, u64 off);
void image_truncate(struct sim_image *img, u64 size);
void image_reserve(struct sim_image *img, u64 size);
/* Pages of [off, off + n) that are not there yet. */
size_t image_missing(const struct sim_image *img, u64 off, u64 n);
/* The byte at @off becomes (old & @and) ^ @xor. */
void image_patch(struct sim_image *img, u64 off, u8 and, u8 xor);

void pending_add(struct sim_inode *in, enum sim_pending_kind kind,
		 const void *data, size_t n, u64 off, u64 size_after);
/* The same operation on another inode; the bytes are shared. */
void pending_share(struct sim_inode *to, const struct sim_pending *p);
void pending_apply(const struct sim_pending *p, struct sim_image *img);
/* Of a write only the size remains. */
void pending_lose(struct sim_pending *p);
void pending_clear(struct sim_inode *in);
void pending_patch(struct sim_pending *p, u64 off, u8 and, u8 xor);

/* simdisk_names.c: inodes, directories, pending name operations. */
struct sim_inode *inode_new(struct simdisk *sd, bool is_dir);
struct sim_inode *inode_get(struct sim_inode *in);
void inode_put(struct sim_inode *in);
struct sim_inode *table_find(const struct sim_table *t, const char *name);
/* NULL removes. */
void table_set(struct sim_table *t, const char *name, struct sim_inode *in);
/* The same in @dir's page cache table, counting the names of inodes. */
void dir_set(struct sim_inode *dir, const char *name, struct sim_inode *in);
void table_release(struct sim_table *t);
/* NULL if there is none. */
struct sim_inode *sim_lookup(struct simdisk *sd, const char *path);
/* The directory of @path; *last_ret points into @path. NULL if none. */
struct sim_inode *sim_parent(struct simdisk *sd, const char *path,
			     const char **last_ret);
/* Do a change in the page cache and note it as pending. */
void sim_change_names(struct simdisk *sd, const struct sim_change *change,
		      unsigned nr);
void sim_commit_dir(struct simdisk *sd, struct sim_inode *dir);
void sim_drop_name_ops(struct simdisk *sd);
u64 sim_used(const struct simdisk *sd);

/* simdisk_locks.c */
int sim_lock_set(struct sim_file *f, enum disk_lock kind, u64 off, u64 end);
bool sim_lock_find(struct sim_file *f, enum disk_lock kind, u64 off, u64 end,
		   u64 *off_ret, u64 *len_ret);
void sim_lock_drop(struct sim_file *f);

#endif
