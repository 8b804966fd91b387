/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools: making, opening, closing.
 *
 * A pool is two directories, metadata and data, which may lie on different
 * devices; by default "meta" and "data" below one path. An opened pool holds
 * to its memory budget whatever its size.
 *
 * Thread safety: one operation at a time on a handle, except akin_pool_stop,
 * which may come from any thread or a signal handler. Several handles, in one
 * process or many, may have one pool open.
 */
#ifndef AKIN_POOL_H
#define AKIN_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "akin/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct akin_pool;

#define AKIN_DELTA_DEPTH_DEFAULT 2
#define AKIN_DELTA_DEPTH_MAX 8
#define AKIN_DELTA_NONE (-1)

#define AKIN_PARITY_MAX 50

/*
 * How sure backups are of what they share and write. MATCH compares a chunk's
 * bytes with the stored ones before it is taken as a duplicate of them. WRITE
 * also reads back every container before the backup counts on it.
 */
enum akin_verify {
	AKIN_VERIFY_DEFAULT = 0,	/* backup: as the pool says; init: OFF */
	AKIN_VERIFY_OFF,		/* fingerprints are trusted */
	AKIN_VERIFY_MATCH,
	AKIN_VERIFY_WRITE,
};

/*
 * How backups find what is stored already. IDENTITY: by an index of all
 * fingerprints. SIMILARITY: by a few bytes for each container, which names the
 * best few to be looked into; what is not found there is compressed against
 * what resembles it. HYBRID: as IDENTITY, then by similarity what that does not
 * find. Whatever was stored by one is found by the others.
 */
enum akin_engine {
	AKIN_ENGINE_DEFAULT = 0,	/* backup: as the pool says; init: IDENTITY */
	AKIN_ENGINE_IDENTITY,
	AKIN_ENGINE_SIMILARITY,
	AKIN_ENGINE_HYBRID,
};

/* Zeroed fields mean the default. Strings are borrowed during the call. */
struct akin_init_options {
	const char *path;	/* the pool; made if it does not exist */
	const char *meta_dir;	/* NULL: path/meta */
	const char *data_dir;	/* NULL: path/data */
	uint32_t chunk_size;	/* average bytes, a power of two; 0: 8192 */
	bool chunk_fixed;	/* fixed blocks instead of content-defined */
	/* none, lz4, zstd[:1-19], gzip[:1-9], lzjb; NULL: "zstd:1" */
	const char *compression;
	const char *hash;	/* NULL: "blake3" */
	uint32_t container_bytes;	/* 0: 8 MiB; 1 to 64 MiB */
	/* Longest chain of references between compressed groups, 1 to
	 * AKIN_DELTA_DEPTH_MAX; 0: AKIN_DELTA_DEPTH_DEFAULT; AKIN_DELTA_NONE:
	 * groups are compressed without. */
	int delta_depth;
	enum akin_verify verify;	/* of backups that do not say */
	enum akin_engine engine;	/* of backups that do not say */
	unsigned parity;	/* percent of each container; 0: none, or up to
				 * AKIN_PARITY_MAX: what a disk loses is made
				 * again from it */
	const char *like;	/* another pool's path: share its cut and
				 * fingerprint keys and its chunk size */
	bool single_writer;	/* see struct akin_open_options */
};

AKIN_API int akin_pool_init(const struct akin_init_options *opt,
			    struct akin_diag *diag);

/*
 * For programs that are there for akin alone: sets the C library's heap up so
 * that freed memory goes back to the system. Without it resident memory may
 * exceed memory_bytes by half. Call it first, before there are threads.
 */
AKIN_API void akin_prepare_process(void);

#define AKIN_MEMORY_DEFAULT (128u << 20)
#define AKIN_MEMORY_MIN (32u << 20)

/*
 * As if the disk could do no more a second; 0: as fast as it is. To see what
 * slow disks would make of something, or to leave others their share. What
 * counts is told by docs/design/throttle.md.
 */
struct akin_throttle {
	uint64_t ops_s, bytes_s;
};

struct akin_open_options {
	const char *path;
	const char *meta_dir, *data_dir;	/* NULL: what the pool says */
	size_t memory_bytes;	/* for the whole process; 0: 128 MiB */
	unsigned nr_threads;	/* 0: one per processor */
	bool read_only;		/* no write to the pool, not even a lock file */
	/*
	 * Try it out: everything that is done on this handle works as ever, on
	 * a copy that is gone when it is closed. The pool is opened for reading
	 * only. The catalog's copy, and some of what is written, lie in memory
	 * besides memory_bytes; the rest in a file without a name in TMPDIR
	 * (default /var/tmp). What others do meanwhile is not seen.
	 */
	bool rehearse;
	struct akin_throttle throttle_meta, throttle_data;
	/*
	 * The caller is sure that nobody else has the pool open until it is
	 * closed, on this machine or another: file systems without locks will
	 * do, and a record of another machine that uses it is not believed.
	 * Locks that there are, are taken all the same.
	 */
	bool single_writer;
};

AKIN_API int akin_pool_open(const struct akin_open_options *opt,
			    struct akin_pool **out, struct akin_diag *diag);
/* NULL is fine. */
AKIN_API void akin_pool_close(struct akin_pool *p);
/* The running operation ends soon with -AKIN_E_interrupted. Safe in signal
 * handlers. */
AKIN_API void akin_pool_stop(struct akin_pool *p);

#define AKIN_POOL_ID 33		/* bytes of one, in hex */
/*
 * Which pool is it? Needs no more than to read its superblock: nothing is
 * opened, locked or counted, so nobody at work on it is disturbed. @meta_dir as
 * in struct akin_open_options.
 */
AKIN_API int akin_pool_identify(const char *path, const char *meta_dir,
				char id_ret[AKIN_POOL_ID],
				struct akin_diag *diag);

struct akin_pool_info {
	char id[AKIN_POOL_ID];		/* hex */
	uint32_t chunk_min, chunk_avg, chunk_max;
	char compression[16], hash[16];
	char hash_kernel[32], chunk_kernel[16];	/* in use on this machine */
	uint32_t container_bytes, group_bytes;
	unsigned delta_depth;	/* 0: no references */
	enum akin_verify verify;	/* of backups that do not say */
	enum akin_engine engine;	/* of backups that do not say */
	unsigned parity;	/* percent that new containers get; 0: none */
	uint64_t memory_bytes;	/* how the budget is split: */
	uint64_t memory_index, memory_directories, memory_groups,
		memory_streams, memory_fixed;
	unsigned nr_threads;
};
AKIN_API void akin_pool_get_info(struct akin_pool *p,
				 struct akin_pool_info *out);
/* Sectors of the pool's disk that were damaged when this handle read them, and
 * were made again from parity: they still are. A check says where. */
AKIN_API uint64_t akin_pool_healed(struct akin_pool *p);

#ifdef __cplusplus
}
#endif
#endif
