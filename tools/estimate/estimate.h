/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well would data reduce? By deduplication with blocks of several sizes,
 * and by compression of what is left with each codec.
 *
 * Data is given in pieces, file by file; every method cuts it, counts its
 * distinct blocks (estimate_set.h) and compresses a sample of these. Fixed
 * blocks are compressed one by one, as file systems do, chunks in groups, as a
 * pool does. Nothing is kept but fingerprints and results; nothing is written.
 *
 * Where memory is short the distinct blocks are sampled; what is known then is
 * known with an interval. Not thread safe.
 */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include "base/diag.h"
#include "estimate_set.h"

enum {
	ESTIMATE_NONE, ESTIMATE_LZ4, ESTIMATE_LZJB, ESTIMATE_GZIP,
	ESTIMATE_ZSTD, ESTIMATE_NR_CODECS
};
extern const char *const estimate_codecs[ESTIMATE_NR_CODECS];

struct estimate_method {
	const char *name;	/* "fixed", "content" */
	u32 block;		/* bytes, on average */
	bool fixed;
};
#define ESTIMATE_NR_METHODS 8
extern const struct estimate_method estimate_methods[ESTIMATE_NR_METHODS];
/* What a pool does unless told otherwise: content, 8 KiB. */
#define ESTIMATE_POOL 5

/* At least, for buffers, codecs and tables of a useful size. */
#define ESTIMATE_MEMORY_MIN (48 * MiB)

struct estimate_result {
	u64 bytes, blocks;		/* as read; exact */
	struct estimate_sum distinct;	/* blocks */
	struct estimate_sum unique;	/* bytes of these; never above bytes */
	unsigned level;			/* one distinct block in 2^level */
	u64 sample_bytes;		/* that was compressed */
	double factor[ESTIMATE_NR_CODECS];	/* 1 if there was nothing */
};

struct estimate;
/* Owned by the caller: estimate_free. Stays within @memory bytes. */
int estimate_new(u64 memory, struct estimate **out, struct akin_diag *diag)
	__must_check;
void estimate_free(struct estimate *e);
/* The next bytes of a file. */
int estimate_feed(struct estimate *e, const void *data, size_t n,
		  struct akin_diag *diag) __must_check;
/* No block goes beyond the end of a file. */
int estimate_end(struct estimate *e, struct akin_diag *diag) __must_check;
/* Once, after the last file: groups that are not full count, too. */
int estimate_finish(struct estimate *e, struct akin_diag *diag) __must_check;
/* Between files. */
void estimate_get(const struct estimate *e, unsigned method,
		  struct estimate_result *out);
/* Unique bytes after compression. */
u64 estimate_stored(const struct estimate_result *r, unsigned codec);
/* Memory for the table of ZFS: 320 bytes a distinct block. */
u64 estimate_zfs_bytes(const struct estimate_result *r);
/* The index of a pool on its disk: 204 entries a page of 4,096 bytes. */
u64 estimate_index_bytes(const struct estimate_result *r);

/* What the walk tells, and asks. */
struct estimate_walk_ops {
	/* A path could not be read; the walk goes on. */
	void (*warning)(void *ctx, const char *path, int code,
			const char *text);
	/* After some data; non-zero (a code) ends the walk. */
	int (*progress)(void *ctx, u64 files, u64 bytes, const char *path);
	void *ctx;
};

struct estimate_walk {
	u64 files, bytes, warnings;
};

/*
 * Everything below the directory, the content of the file or device @path, or
 * standard input ("-"). Hard links within one @path count once. Adds to @w.
 */
int estimate_path(struct estimate *e, const char *path,
		  const struct estimate_walk_ops *ops, struct estimate_walk *w,
		  struct akin_diag *diag) __must_check;

#endif
