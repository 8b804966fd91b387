/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a pool, and its figures.
 */
#ifndef AKIN_CHECK_H
#define AKIN_CHECK_H

#include "akin/backup.h"
#include "akin/gc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct akin_check_options {
	/* Without: superblocks, catalog, every container's header, directory
	 * and length, every recipe. With: also (a part of) the data. */
	bool read_data;
	unsigned read_percent;	/* of the data; 0: all */
	uint64_t read_bytes;	/* at most; 0: no limit */
	/*
	 * With any of these (0: no limit) a round of a scrub instead of a check:
	 * whole containers are read, data and metadata, those first that were
	 * never read or longest ago, until so many stored bytes or so much time
	 * is used up or all are read. If something is wrong, a check without
	 * reading data follows, to say which files need it. The pool remembers
	 * when each container was read, also by a check that reads all data.
	 */
	uint64_t budget_bytes, budget_ns;
	/* @bytes of @bytes_total are stored bytes read; @files are entries of
	 * snapshots, @others containers, @dirs snapshots; @warnings findings. */
	void (*progress)(void *ctx, const struct akin_progress *p);
	/* One finding: what (container, chunk, file...) and where. @snapshot ""
	 * or an id; @path "" or a path in it. Of each kind the first 1,000. A
	 * @code of 0 is a remark that counts for nothing: damage that was known
	 * before is no finding of its own, but each file that needs it is. */
	void (*finding)(void *ctx, int code, const char *text,
			const char *snapshot, const char *path);
	void *ctx;
};

struct akin_check_result {
	uint64_t snapshots, containers, pieces, chunks_located;
	uint64_t containers_read, groups_read, chunks_verified, bytes_verified;
	uint64_t bytes_not_read;	/* data that was not tested */
	uint64_t parity_containers;	/* of containers, those that have any */
	uint64_t sectors_healable;	/* damaged; parity makes up for it */
	uint64_t parity_damaged;	/* containers of which it is */
	uint64_t findings;
	uint64_t chunks_damaged, files_damaged, snapshots_damaged;
	uint64_t orphan_files;		/* files nobody names (space only) */
	/* How it stands after this, as in akin_stats. */
	uint64_t never_read, bytes_never_read;
	int64_t oldest_read_sec;
};

/* 0: everything tested is good. An error of class CORRUPT: there were
 * findings. */
AKIN_API int akin_check(struct akin_pool *p,
			const struct akin_check_options *opt,
			struct akin_check_result *out, struct akin_diag *diag);

/*
 * Build the index anew from the containers' directories: one transaction puts
 * the new runs in the place of the old. Backups do so by themselves when they
 * find it damaged; this is for those who want it now, or know that it lacks
 * something. Containers that cannot be read are left out and counted. On
 * failure everything is as before.
 */
struct akin_index_options {
	/* @files of @files_total are containers done, @bytes of directories,
	 * @warnings those that could not be read. */
	void (*progress)(void *ctx, const struct akin_progress *p);
	void *ctx;
};

/* All zeros but the first two if somebody else has done it meanwhile. */
struct akin_index_result {
	uint64_t containers;
	uint64_t containers_unreadable;
	uint64_t entries, runs, bytes;	/* of the new index */
};

/* @opt may be NULL. */
AKIN_API int akin_index_rebuild(struct akin_pool *p,
				const struct akin_index_options *opt,
				struct akin_index_result *out,
				struct akin_diag *diag);

struct akin_stats {
	uint64_t snapshots;
	uint64_t bytes_logical;	/* sum over snapshots */
	uint64_t bytes_unique;	/* raw bytes of the chunks stored */
	uint64_t bytes_data;	/* data containers, files */
	uint64_t bytes_meta_containers;
	uint64_t bytes_parity;	/* of containers of both kinds, and how many */
	uint64_t parity_containers;
	uint64_t bytes_index;	/* its runs, and the similarity table */
	uint64_t bytes_catalog;
	uint64_t bytes_records;	/* snapshot records and superblocks */
	uint64_t bytes_other;	/* reserve, files nobody names */
	uint64_t bytes_total;	/* of all that: what du would say */
	uint64_t chunks, data_containers, meta_containers, runs;
	uint64_t damaged;
	/* Containers that were never read in full by a check, and their files;
	 * those in which the last reading found bad chunks; the time (since
	 * 1970) of the reading that is longest ago, 0 if there was none. */
	uint64_t never_read, bytes_never_read, read_badly;
	int64_t oldest_read_sec;
	uint64_t meta_free, meta_total;	/* of the file systems */
	uint64_t data_free, data_total;
	/* An early warning: of that file system less than a twentieth is free,
	 * less than 64 GiB, and less than the pool takes. */
	bool meta_nearly_full, data_nearly_full;
};
AKIN_API int akin_stats(struct akin_pool *p, struct akin_stats *out,
			struct akin_diag *diag);

/* The groups of one kind of containers that one codec made. */
struct akin_codec_stats {
	const char *codec;	/* "zstd"; "none" for what was stored raw */
	bool metadata;		/* recipes and directories, not data */
	uint64_t groups;
	uint64_t groups_by_reference;	/* of them, against other groups */
	uint64_t bytes_raw;
	uint64_t bytes_stored;	/* with the groups' heads */
	/* Of these two, what groups_by_reference have. */
	uint64_t bytes_raw_by_reference, bytes_stored_by_reference;
};
/*
 * Data first; codecs without groups are left out. Reads the directory of every
 * container, one at a time: some 1 % of the pool. A container whose directory
 * cannot be read is counted in *unreadable_ret (may be NULL) and left out.
 */
AKIN_API int akin_stats_codecs(struct akin_pool *p,
			       int (*fn)(void *ctx,
					 const struct akin_codec_stats *s),
			       void *ctx, uint64_t *unreadable_ret,
			       struct akin_diag *diag);

/* Chunks by how often snapshots refer to them. */
struct akin_histogram_row {
	uint64_t chunks;
	uint64_t bytes_raw;
	uint64_t bytes_packed;	/* their share of the groups they are in */
	uint64_t bytes_stored;	/* their share of the files */
	/* The same, each chunk counted as often as it is referred to. */
	uint64_t ref_chunks, ref_raw, ref_packed, ref_stored;
};
struct akin_histogram {
	/* Row i: 2^i up to 2^(i+1) - 1 references. */
	struct akin_histogram_row rows[64];
	struct akin_histogram_row total;	/* of all rows */
	/* Stored, and no listed snapshot refers to them: of forgotten ones, of
	 * interrupted backups, or second copies. Referred columns are 0. */
	struct akin_histogram_row unreferenced;
	uint64_t missing;	/* references to what is nowhere */
	uint64_t unreadable;	/* containers and snapshots left out */
	uint64_t passes;
};
/*
 * Reads the metadata of every snapshot, and the directory of every container;
 * again for each so many containers as the budget has room for references to.
 * @progress may be NULL; it is called at most five times a second.
 */
AKIN_API int akin_stats_histogram(struct akin_pool *p,
				  void (*progress)(void *ctx,
						   const struct akin_progress *p),
				  void *ctx, struct akin_histogram *out,
				  struct akin_diag *diag);

/*
 * From what was given to what is stored, in steps, each of which is somebody's
 * work: logical / unique is deduplication, unique / plain compression, plain /
 * stored references; their product is logical / stored.
 */
struct akin_factors {
	uint64_t bytes_logical;
	uint64_t bytes_unique;	/* raw, of the chunks stored */
	/* What would be stored without references: an estimate, by what the
	 * groups tried without, and those like them, came to. */
	uint64_t bytes_plain;
	uint64_t bytes_stored;	/* of files of data containers */
	uint64_t bytes_metadata;	/* of metadata containers, besides */
};
/*
 * Of the whole pool with @snapshot 0; of a snapshot's backup otherwise: all
 * that the snapshot holds, against what the backup added then. From the catalog
 * alone. Of what a backup stored that was killed before it, only the pool
 * knows.
 */
AKIN_API int akin_stats_factors(struct akin_pool *p, uint64_t snapshot,
				struct akin_factors *out,
				struct akin_diag *diag);

struct akin_sole_options {
	const uint64_t *snapshots;	/* numbers, each once */
	uint32_t nr_snapshots;
	/* Of several reclaims, one after the other; may be NULL. */
	void (*progress)(void *ctx, const struct akin_gc_progress *p);
	void *ctx;
};
/*
 * On a handle opened with rehearse, of which nothing else is expected then:
 * bytes[i] is what only the i-th snapshot needs (what two need is nobody's
 * alone), in *all what reclaiming frees once all of them are forgotten, on top
 * of what it would have freed before. One marking for each snapshot and two
 * reclaims.
 */
AKIN_API int akin_stats_sole(struct akin_pool *p,
			     const struct akin_sole_options *opt,
			     uint64_t *bytes, struct akin_gc_result *all,
			     struct akin_diag *diag);

/*
 * What a restore of all of a snapshot reads and decodes, if each group is read
 * and decoded once. With little memory some are decoded more than once.
 */
struct akin_restore_cost {
	uint64_t bytes_logical;	/* of file contents, holes included */
	uint64_t bytes_unique;	/* of the distinct chunks in them */
	uint64_t chunks;	/* distinct */
	uint64_t containers;	/* of data, with groups to read */
	uint64_t groups;	/* of them, that hold chunks of the snapshot */
	uint64_t groups_base;	/* that only others refer to */
	uint64_t bytes_read;	/* of all these groups, as stored */
	uint64_t bytes_decoded;	/* of all these groups, raw */
	unsigned depth;		/* the longest chain of references */
	/* The same of directories and recipes. */
	uint64_t metadata_containers, metadata_groups;
	uint64_t metadata_read, metadata_decoded;
	/* 0 unless there is damage: chunks that are nowhere, and groups or
	 * containers whose part in this could not be found out. */
	uint64_t missing, unreadable;
};
/*
 * Reads all of the snapshot's metadata, and of its data the groups that were
 * compressed against others, because what against stands in them. @progress
 * may be NULL; it is called at most five times a second.
 */
AKIN_API int akin_restore_cost(struct akin_pool *p, uint64_t snapshot,
			       void (*progress)(void *ctx,
						const struct akin_progress *p),
			       void *ctx, struct akin_restore_cost *out,
			       struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
