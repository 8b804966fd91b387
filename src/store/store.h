/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opened pool: what the public calls in include/akin/ work on. Shared by
 * the files of store/; nobody else sees it.
 */
#ifndef STORE_H
#define STORE_H

#include <stdatomic.h>

#include "akin/akin.h"
#include "base/numset.h"
#include "catalog/catalog.h"
#include "catalog/catalog_retention.h"
#include "container/container_parity.h"
#include "depot/depot.h"
#include "os/counters_file.h"

/*
 * How --memory is split. The fixed part is the program itself, its libraries,
 * the catalog's cache and the threads' stacks; a thread's part a codec
 * context, hash and decode buffers.
 */
struct store_budget {
	size_t total, fixed, threads;
	size_t index, dirs, groups, streams;
	size_t window;		/* of a restore, out of groups */
};

/* A direct map, so that an index full of what was reclaimed costs no look at
 * the catalog for each miss. */
#define STORE_GONE 1024

struct akin_pool {
	char *path;
	struct disk *meta, *data;
	struct super super;
	struct store_budget budget;
	unsigned nr_threads;
	bool read_only;
	bool rehearse;		/* all changes are to an overlay */
	bool single_writer;	/* nobody else is there, says the caller */
	bool entered;		/* see store_host.c */
	struct disk *scratch;	/* of the overlays; may be NULL */
	struct catalog *catalog;
	struct index *index;
	struct depot depot;
	bool have_depot;
	struct counters_file *counters_file;
	struct counters *counters;	/* in it */
	struct counters_streams *streams;	/* in it */
	struct file *locks;	/* NULL on media that nobody can write */
	u64 locked_session;	/* whose byte this handle holds, 0: none */
	u64 txn;		/* transaction this handle has locked */
	/* What it may read was not condemned at transaction @view, which came
	 * after the lock; containers up to view_container had a number then. */
	u64 view, view_container;
	_Atomic u64 gone[STORE_GONE];	/* containers known to be gone */
	_Atomic u64 runs_txn;	/* the index knows the runs as of then */
	struct decoder dec;	/* of the calling thread */
	/* Tests set it: what time it is. NULL: what the clocks say. */
	const struct clock_reading *clock;
	/* Containers that the last check found damaged, or their parity, be it
	 * that parity makes up for it. */
	struct numset parity_bad;
	u64 reserve_session;	/* session that index runs are reserved for */
	const struct hash_ops *data_hash;	/* tests only; else NULL */
	atomic_bool stop;
};

/*
 * The same as akin_pool_init and akin_pool_open, on disks of the caller's
 * (object stores, tests). store_open_on takes the disks, also on failure.
 */
int store_init_on(struct disk *meta, struct disk *data,
		  const struct akin_init_options *opt, struct akin_diag *diag)
	__must_check;
int store_open_on(struct disk *meta, struct disk *data,
		  const struct akin_open_options *opt, struct akin_pool **out,
		  struct akin_diag *diag) __must_check;
/* For tests: with fingerprints of data that collide, as @data_hash makes them.
 * Every handle on such a pool must be opened so. */
int store_open_hashed(struct disk *meta, struct disk *data,
		      const struct akin_open_options *opt,
		      const struct hash_ops *data_hash, struct akin_pool **out,
		      struct akin_diag *diag) __must_check;

/* A handle without disks; *out is for akin_pool_close() also after errors,
 * unless it is NULL. */
int store_new(const struct akin_open_options *opt, struct akin_pool **out,
	      struct akin_diag *diag) __must_check;
/* The disk as slow as @how says, which replaces *d; NULL after a failure. */
int store_throttle(const struct akin_throttle *how, struct disk **d,
		   struct akin_diag *diag) __must_check;
/* Open what lies on p->meta and p->data, whose superblock is p->super. */
int store_open_parts(struct akin_pool *p, struct akin_diag *diag) __must_check;

/* What to do about -AKIN_E_no_locks. */
void store_hint_locks(struct akin_diag *diag);

/* The index as the catalog has it now: 1, or 0 if nothing was committed since
 * the last time, or an error. */
int store_refresh_index(void *pool, struct akin_diag *diag) __must_check;

/* On the pool's budget, with the catalog's manifest or @empty; replaces
 * nothing. */
int store_index_open(struct akin_pool *p, bool empty, struct index **out,
		     struct akin_diag *diag) __must_check;

/*
 * store_reindex.c. Both need a session whose byte is locked, which protects
 * their files, with p->reserve_session its number or 0 if it has committed, and
 * nobody else who uses the index.
 *
 * Build the index anew; what cannot be read is counted. On failure the old one
 * stays, in the catalog and here.
 */
int store_reindex(struct akin_pool *p, const struct akin_index_options *opt,
		  struct akin_index_result *out, struct akin_diag *diag)
	__must_check;
/*
 * The same if the index is known to be damaged, or if a look at its runs'
 * headers says so. @say may be NULL. 1: it failed, which costs space only; an
 * error: interrupted.
 */
int store_mend_index(struct akin_pool *p,
		     void (*say)(void *ctx, const char *text), void *ctx,
		     struct akin_diag *diag) __must_check;
/* store_sweep.c: remove files of the index that nobody names or will name.
 * Best effort. */
void store_sweep(struct akin_pool *p);

/*
 * store_similar.c. From here on writers find chunks by @engine. Its table is
 * loaded, and what it does not know yet is added to it from the containers'
 * directories. @say may be NULL. An error: interrupted, or no memory.
 */
int store_similar_open(struct akin_pool *p, u8 engine,
		       void (*say)(void *ctx, const char *text), void *ctx,
		       struct akin_diag *diag) __must_check;
/* Bytes that the table takes of what streams would have. */
size_t store_similar_memory(const struct akin_pool *p, u8 engine);
/* Nobody else holds it: take or leave; -AKIN_E_busy. */
int store_lock_similar(struct akin_pool *p, bool take) __must_check;
/* Keep what was added, if @commit: best effort. Identity again. */
void store_similar_close(struct akin_pool *p, bool commit);

/* -AKIN_E_interrupted once akin_pool_stop was called. */
int store_check_stop(struct akin_pool *p, struct akin_diag *diag) __must_check;

/* store_budget.c: refuses too little memory for this many threads. */
int store_budget_split(size_t memory, unsigned nr_threads,
		       struct store_budget *out, struct akin_diag *diag)
	__must_check;

/* Of decoded groups while no stream is open: most of it is beyond a restore's
 * window, for what groups were compressed against. */
size_t store_reading_memory(const struct store_budget *b);
/*
 * A session takes memory for its streams (session_options.memory_bytes), most
 * of that for decoded groups too unless it @compares chunks, or compresses
 * against chains of references of more than the default @depth: else writing
 * decodes little.
 */
size_t store_stream_memory(const struct store_budget *b, bool compares,
			   u8 depth);
size_t store_take_stream_memory(struct akin_pool *p, bool compares, u8 depth);
void store_return_stream_memory(struct akin_pool *p);

/* store_parity.c: make a container's parity, if the container is sound; an error
 * of damage: it is not. */
int store_parity_make(struct akin_pool *p, const struct container_id *id,
		      u8 percent, u64 *bytes_ret, struct akin_diag *diag)
	__must_check;

/* store_counters.c: from here on everything is counted. */
int store_counters_open(struct akin_pool *p, struct akin_diag *diag)
	__must_check;

/*
 * store_host.c. A pool that several machines can reach is this one's from here
 * on, if it was free or this one's before; else -AKIN_E_busy. For writing
 * handles, before anything is written; opens p->locks, if there is one.
 */
int store_host_enter(struct akin_pool *p, struct akin_diag *diag) __must_check;
/* Take the lock of it again, where all have been given up. */
int store_host_lock(struct akin_pool *p, struct akin_diag *diag) __must_check;
/* The last one of this machine leaves it free. Best effort. */
void store_host_leave(struct akin_pool *p);

/* store_lock.c: kernel locks in the file "locks" of the metadata directory,
 * which is opened unless p->locks has it. */
int store_lock_open(struct akin_pool *p, struct akin_diag *diag) __must_check;
/* Which generation of a container this handle may read; the callback of the
 * directory cache. */
int store_generation(void *pool, u64 container, u32 *generation_ret,
		     struct akin_diag *diag) __must_check;
/* Rely on what the catalog says now instead of when the pool was opened: a new
 * lock before the old one goes, and empty caches. Nothing may be in use. */
int store_lock_move(struct akin_pool *p, struct akin_diag *diag) __must_check;
/* The lowest transaction below @txn that others have locked; 0: none. */
int store_locked_below(struct akin_pool *p, u64 txn, u64 *txn_ret,
		       struct akin_diag *diag) __must_check;
/* The one who reclaims: take or leave; -AKIN_E_busy. */
int store_lock_gc(struct akin_pool *p, bool take, struct akin_diag *diag)
	__must_check;
/* The one who makes the metadata anew: nobody else reads or writes the pool;
 * -AKIN_E_busy. Opens (and makes) p->locks. Given up, the handle's own locks
 * stay. */
int store_lock_all(struct akin_pool *p, struct akin_diag *diag) __must_check;
int store_unlock_all(struct akin_pool *p, struct akin_diag *diag) __must_check;
/* No session but the handle's own can begin or live; -AKIN_E_busy. */
int store_lock_writers(struct akin_pool *p, bool take, struct akin_diag *diag)
	__must_check;
/* Byte of a session, held for its life; the callback of catalog sessions. */
int store_lock_session(void *pool, u64 number, u64 txn,
		       struct akin_diag *diag) __must_check;
void store_unlock_session(struct akin_pool *p, u64 number);
/* > 0 if nobody holds the session's byte. */
int store_session_ended(void *pool, u64 number);
/* No session lives but perhaps this handle's own. False if that cannot be
 * known. */
bool store_lives_alone(struct akin_pool *p);
/* Who we are; @host NULL: this machine. */
void store_session_info(const char *host, const char *command,
			struct catalog_session *out);

/* store_mark.c: damage that reading has come upon is marked in the catalog, with
 * what it came from below. Best effort. */
void store_mark_found(struct akin_pool *p);

/* store_forget.c */
/*
 * Write the tombstones that a forget which died did not; then remove what is
 * left of snapshots that can no longer be undeleted. Best effort.
 */
void store_tidy_forgotten(struct akin_pool *p);
/* For functions of the catalog that ask for the time. */
static inline const struct clock_reading *store_clock(const struct akin_pool *p)
{
	return p->clock;
}

/* store_super.c */
int store_super_read(struct disk *d, struct super *out,
		     struct akin_diag *diag) __must_check;
/* As disk @role's; durable on return. */
int store_super_write(struct disk *d, struct super *s, u8 role,
		      struct akin_diag *diag) __must_check;
/* Folders and files that each disk has, if they are missing. */
int store_make_meta(struct disk *d, struct akin_diag *diag) __must_check;
int store_make_data(struct disk *d, struct akin_diag *diag) __must_check;

/*
 * store_rulebook.c: the copy of the policy in the data pool. The last, a
 * callback of the catalog, writes it if the pool has the feature.
 */
int store_rulebook_write(struct disk *data, const struct rulebook *book,
			 struct akin_diag *diag) __must_check;
/* Returns owned: rulebook_release. */
int store_rulebook_read(struct akin_pool *p, struct rulebook *out,
			struct akin_diag *diag) __must_check;
int store_rulebook_copy(void *pool, const struct rulebook *book,
			struct akin_diag *diag) __must_check;

/* store_snapshot.c */
void store_snapshot_export(const struct snapshot *s,
			   const struct catalog_status *st,
			   const struct catalog_now *now,
			   struct akin_snapshot *out);
/* @f may be NULL; its .forgotten is not looked at. */
bool store_snapshot_matches(const struct snapshot *s,
			    const struct catalog_status *st,
			    const struct akin_snapshot_filter *f);
void store_hex(const u8 *bytes, size_t n, char *out);
/* store_session.c: akin_session_open() on @pool, which is taken if it succeeds;
 * NULL: on the one that @opt names. */
struct akin_session;
struct akin_session_options;
int store_session_on(struct akin_pool *pool,
		     const struct akin_session_options *opt,
		     struct akin_session **out, struct akin_diag *diag)
	__must_check;
/* In hex; "" if it is all zeros, which stands for none. */
void store_id_export(const u8 id[SNAPSHOT_ID_BYTES], char *out);
/* Newest snapshot of the same host and paths, or with @last the one that was
 * committed last; absent is -AKIN_E_absent. */
int store_find_parent(struct akin_pool *p, const char *host,
		      const char *const *paths, u32 nr_paths, bool last,
		      struct snapshot *out, struct akin_diag *diag)
	__must_check;

/* store_lookup.c: the node at a path of a snapshot; "" and "/" are the root,
 * a directory with content only. Returns owned: node_release and mem_free of
 * hint->containers. */
struct node;
int store_lookup(struct akin_pool *p, const struct snapshot *s,
		 const char *path, struct node *out, struct hint *hint,
		 struct akin_diag *diag) __must_check;
/* The same on a thread of its own. */
int store_lookup_with(struct akin_pool *p, struct decoder *dec,
		      const struct snapshot *s, const char *path,
		      struct node *out, struct hint *hint,
		      struct akin_diag *diag) __must_check;
/* A node that owns its memory (node_release). */
int store_clone_node(const struct node *n, struct node *out,
		     struct akin_diag *diag) __must_check;
/* Replaces *to, whose containers are owned by the caller. */
int store_copy_hint(const struct hint *from, struct hint *to,
		    struct akin_diag *diag) __must_check;
void store_node_export(const struct node *n, const char *path,
		       struct akin_node *out);

#endif
