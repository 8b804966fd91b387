/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well would data reduce? By deduplication with blocks of several sizes,
 * by compression of what is left with each codec, and by references.
 *
 * Data is given in pieces, file by file; every method cuts it, counts its
 * distinct blocks (estimate_set.h) and compresses a sample of these. Fixed
 * blocks are compressed one by one, as file systems do, chunks in groups, as a
 * pool does. What references save is not modelled: as much of the data as there
 * is room for goes into a pool that is thrown away (estimate_scratch.h).
 *
 * Where memory is short the distinct blocks are sampled, and with @share the
 * data are read in part; what is known then is known with an interval.
 *
 * Thread safety: one caller at a time; works with threads of its own.
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
	u32 weight;		/* share of the memory for fingerprints */
};
#define ESTIMATE_NR_METHODS 8
extern const struct estimate_method estimate_methods[ESTIMATE_NR_METHODS];
/* What a pool does unless told otherwise: content, 8 KiB. */
#define ESTIMATE_POOL 5
/* What VDO does, and what file systems do at the least. */
#define ESTIMATE_4K 0

/* At least, for buffers, codecs and tables of a useful size; and so much more
 * for references, and for reading pools. */
#define ESTIMATE_MEMORY_MIN (48 * MiB)
#define ESTIMATE_MEMORY_SCRATCH (36 * MiB)
#define ESTIMATE_MEMORY_POOL (32 * MiB)

/* Zeroed fields mean the default. Strings are borrowed for as long as the
 * estimate lives. */
struct estimate_options {
	u64 memory;		/* of the whole process */
	unsigned nr_threads;	/* 0: one for each processor */
	u64 seed;		/* chooses samples; 0 is one, too */
	/* Of the data, in (0, 1); 0: all. More, or all, is read of little. */
	double share;
	u64 total;		/* bytes there are to read; 0: not known */
	/* Where the pool for references is made; NULL: TMPDIR or /tmp.
	 * @scratch_bytes: what it may take there; 0: no references. */
	const char *scratch_dir;
	u64 scratch_bytes;
	/* For tests: of a method's table; of what is compressed; of a piece
	 * that is read or not. */
	u64 set_bytes, sample_bytes, region;
};

struct estimate_result {
	u64 bytes, blocks;		/* as read; exact unless @share */
	struct estimate_sum distinct;	/* blocks */
	struct estimate_sum unique;	/* bytes of these */
	unsigned level;			/* one distinct block in 2^level */
	u64 sample_bytes;		/* that was compressed */
	double factor[ESTIMATE_NR_CODECS];	/* 1 if there was nothing */
	struct estimate_sum stored[ESTIMATE_NR_CODECS];
};

/* What references make of it; see estimate_scratch.h. */
struct estimate_references {
	bool known;
	u64 fed;		/* bytes that went into the pool */
	double factor;		/* unique bytes : bytes in data containers */
	struct estimate_sum stored;	/* of all data */
	struct estimate_sum metadata;	/* recipes and names, besides */
};

/* One of several states of the same data. */
struct estimate_state {
	s64 time;		/* seconds; 0: not known */
	u64 bytes;
	u64 unique, fresh;	/* distinct in all so far; of these, new */
	u64 stored;		/* that it added, with references; 0: unknown */
	double factor;		/* zstd, all so far */
};

struct estimate;
/* Owned by the caller: estimate_free. */
int estimate_new(const struct estimate_options *opt, struct estimate **out,
		 struct akin_diag *diag) __must_check;
void estimate_free(struct estimate *e);

/* A directory begins; @path is for people, "" within the name is not. */
int estimate_enter(struct estimate *e, const char *path,
		   struct akin_diag *diag) __must_check;
int estimate_leave(struct estimate *e, struct akin_diag *diag) __must_check;
/* A file begins. @path is for people; @key says which file it is within a
 * state: the same in all states. */
int estimate_begin(struct estimate *e, const char *path, const char *key,
		   struct akin_diag *diag) __must_check;
/* Its bytes from @off on, in order; with a share, those not wanted may be left
 * out. */
int estimate_feed(struct estimate *e, u64 off, const void *data, size_t n,
		  struct akin_diag *diag) __must_check;
/* It has so many bytes. No block goes beyond the end of a file. */
int estimate_end(struct estimate *e, u64 size, struct akin_diag *diag)
	__must_check;
/*
 * Where the file's next bytes lie that are wanted, from @off on: true, and
 * [*off_ret, *off_ret + *len_ret). False: there are none before @size.
 */
bool estimate_wants(const struct estimate *e, u64 off, u64 size, u64 *off_ret,
		    u64 *len_ret);
/* What was not known before, such as the length of a stream. */
void estimate_set_total(struct estimate *e, u64 total);

/* A state of the data ends; others may follow. @time as in the result. */
int estimate_state_end(struct estimate *e, s64 time, struct akin_diag *diag)
	__must_check;
/* Once, after all states: groups that are not full count, too. */
int estimate_finish(struct estimate *e, struct akin_diag *diag) __must_check;

/* After estimate_finish(). */
void estimate_get(const struct estimate *e, unsigned method,
		  struct estimate_result *out);
void estimate_get_references(const struct estimate *e,
			     struct estimate_references *out);
u32 estimate_nr_states(const struct estimate *e);
const struct estimate_state *estimate_get_state(const struct estimate *e,
						u32 i);
void estimate_histogram(const struct estimate *e, unsigned method,
			struct estimate_bucket out[ESTIMATE_BUCKETS]);
/* One cluster of the data in how many is read; 1: all. */
double estimate_share(const struct estimate *e);

/*
 * What states of the same data, evenly spaced, say about how it changes.
 * Shares of the data; 0 growth if it shrinks.
 */
struct estimate_series {
	u32 states;
	double days;		/* from one to the next */
	double change_per_day, growth_per_year;
	u64 bytes;		/* of the last state */
	double dedup, compression;	/* within one state: the first */
	double change_compression;	/* of what later ones add */
};
/* @days 0: by the states' times; if those are not known, a day. False if there
 * are less than two states. */
bool estimate_get_series(const struct estimate *e, double days,
			 struct estimate_series *out);

/* Files and directories by what they save or take; *nr_ret of them, the
 * greatest first. Borrowed. */
struct estimate_place {
	char *path;
	u64 bytes;
	u64 stored;		/* about; by order of reading */
	bool is_dir;
};
enum estimate_order { ESTIMATE_SAVES, ESTIMATE_TAKES };
const struct estimate_place *estimate_places(const struct estimate *e,
					     enum estimate_order by,
					     bool dirs, u32 *nr_ret);

/* What others would need for it; bytes. docs/design/capacity.md has sources. */
struct estimate_needs {
	u64 zfs_memory, zfs_disk;	/* table of distinct blocks */
	u64 vdo_memory, vdo_disk;	/* fixed 4 KiB only; else 0 */
	u64 akin_memory;		/* to know every chunk */
	u64 akin_hooks;			/* to find most duplicates */
	u64 akin_index, akin_directories, akin_recipes;
};
void estimate_get_needs(const struct estimate_result *r, unsigned method,
			struct estimate_needs *out);

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
	u64 files, bytes, warnings;	/* as read; of a share: as if all */
	bool mixed;		/* states are not of the same data */
};

/*
 * Everything below the directory, the content of the file or device @path, or
 * standard input ("-"). Hard links within one @path count once. Adds to @w.
 * @prefix: of keys; "" where paths are states of the same data. With @e NULL
 * only sizes are added up, and nothing is warned of.
 */
int estimate_path(struct estimate *e, const char *path, const char *prefix,
		  const struct estimate_walk_ops *ops, struct estimate_walk *w,
		  struct akin_diag *diag) __must_check;
/* When the content of @path last changed; 0: not known. */
s64 estimate_path_time(const char *path);

/* All snapshots of the pool at @path, each a state. With @e NULL: sizes. */
bool estimate_is_pool(const char *path);
int estimate_pool(struct estimate *e, const char *path,
		  const struct estimate_walk_ops *ops, struct estimate_walk *w,
		  struct akin_diag *diag) __must_check;

#endif
