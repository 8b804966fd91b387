/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters: what living processes are doing.
 *
 * Every open pool counts what goes through it, from its opening on, in memory
 * that other processes can read; asking costs the counting process nothing.
 * The table below is the only place where a counter is declared: it makes the
 * memory, the names of JSON and of exporters, and the help.
 */
#ifndef AKIN_COUNTERS_H
#define AKIN_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "akin/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Buckets of a histogram of latencies. The first counts what took less than a
 * microsecond, bucket i what took from 2^(i-1) up to 2^i of them, the last
 * one everything from 4.2 seconds on.
 */
#define AKIN_LATENCY_BUCKETS 24

/*
 * C(name, unit, kind, help); STAGE(name, help) makes the rows of one step of
 * the work, DISK(name, help) those of one pool.
 * COUNTER only grows; GAUGE is what is now; MOMENT is when something was, in
 * nanoseconds of CLOCK_MONOTONIC, 0: it is not.
 */
#define AKIN_COUNTERS(C, STAGE, DISK) \
	C(files_stored, "files", COUNTER, \
	  "and streams backed up, those that had not changed included") \
	C(files_restored, "files", COUNTER, \
	  "and streams restored, printed or compared") \
	C(objects_stored, "objects", COUNTER, "sent by programs") \
	C(objects_read, "operations", COUNTER, \
	  "of programs that read objects or parts of them") \
	C(bytes_in, "bytes", COUNTER, "fed to backups, holes included") \
	C(bytes_new, "bytes", COUNTER, "of chunks that were not there yet") \
	C(chunks_in, "chunks", COUNTER, "cut from what was fed") \
	C(chunks_new, "chunks", COUNTER, "stored, because they were new") \
	C(chunks_followed, "chunks", COUNTER, \
	  "that memory had forgotten, found in what was there before") \
	C(chunks_compared, "chunks", COUNTER, \
	  "compared with what is stored before they were shared") \
	C(chunks_collided, "chunks", COUNTER, \
	  "met that have another chunk's fingerprint") \
	C(groups_new, "groups", COUNTER, "compressed") \
	C(bytes_grouped, "bytes", COUNTER, "of chunks in groups of data") \
	C(bytes_plain, "bytes", COUNTER, \
	  "that these groups would take without references, estimated") \
	C(bytes_packed, "bytes", COUNTER, "of these groups as stored") \
	C(groups_referring, "groups", COUNTER, \
	  "of these, compressed against references") \
	C(bytes_referring, "bytes", COUNTER, \
	  "of chunks in groups compressed against references") \
	C(bytes_saved_referring, "bytes", COUNTER, \
	  "that these groups would take more without, estimated") \
	C(references_failed, "groups", COUNTER, \
	  "stored without references that could not be read") \
	C(groups_read_back, "groups", COUNTER, \
	  "read back and decoded after they were written") \
	C(containers_new, "containers", COUNTER, "sealed") \
	C(data_stored, "bytes", COUNTER, "of sealed containers of data") \
	C(metadata_stored, "bytes", COUNTER, \
	  "of sealed containers of metadata") \
	C(parity_stored, "bytes", COUNTER, "of parity of containers") \
	C(parity_failed, "containers", COUNTER, \
	  "whose parity could not be written") \
	C(sectors_healed, "sectors", COUNTER, \
	  "of containers that were made again from parity when they were read") \
	C(checkpoints, "operations", COUNTER, \
	  "that make what was stored so far known, while backups run") \
	C(checkpoints_timed, "operations", COUNTER, \
	  "of these, because some time had passed") \
	C(checkpoints_full, "operations", COUNTER, \
	  "of these, because so many containers were sealed") \
	C(commits, "operations", COUNTER, "of snapshots") \
	C(commit_ns, "nanoseconds", COUNTER, \
	  "spent in checkpoints and commits that have ended") \
	C(commit_begun, "nanoseconds", MOMENT, \
	  "when the checkpoint or commit began that is under way") \
	C(directory_hits, "lookups", COUNTER, \
	  "answered by directories in memory") \
	C(directory_misses, "lookups", COUNTER, \
	  "that directories in memory could not answer") \
	C(directory_loads, "operations", COUNTER, \
	  "of reading a container's directory") \
	C(directory_failures, "operations", COUNTER, \
	  "of reading a container's directory that failed") \
	C(directory_bytes, "bytes", GAUGE, "of directories in memory") \
	C(directory_oldest, "nanoseconds", MOMENT, \
	  "when the directory was last used that goes next") \
	C(index_lookups, "lookups", COUNTER, "in the index in memory") \
	C(index_hits, "lookups", COUNTER, \
	  "answered by the index in memory") \
	C(index_run_lookups, "lookups", COUNTER, \
	  "in the index on disk, of chunks that nothing in memory knew") \
	C(index_run_hits, "lookups", COUNTER, \
	  "answered by the index on disk") \
	C(index_page_reads, "pages", COUNTER, \
	  "of index runs read one by one") \
	C(index_bytes_loaded, "bytes", COUNTER, \
	  "read to fill the index in memory") \
	C(similar_lookups, "lookups", COUNTER, \
	  "in the table of what represents containers") \
	C(similar_hits, "lookups", COUNTER, \
	  "answered by the table of what represents containers") \
	C(similar_loads, "operations", COUNTER, \
	  "of reading a directory because the container looks similar") \
	C(chunks_similar, "chunks", COUNTER, \
	  "that the index does not know, found in similar containers") \
	C(chunks_sketched, "chunks", COUNTER, \
	  "that had no neighbours and were looked for by what they resemble") \
	C(chunks_resembling, "chunks", COUNTER, \
	  "of these, for which something was found to refer to") \
	C(similar_bytes, "bytes", GAUGE, \
	  "of the table of what represents containers") \
	C(bytes_out, "bytes", COUNTER, \
	  "of file contents read back, holes included") \
	C(group_hits, "groups", COUNTER, "found decoded in memory") \
	C(groups_read, "groups", COUNTER, "read and decoded") \
	C(group_bytes_read, "bytes", COUNTER, "of groups as they are stored") \
	C(group_bytes_decoded, "bytes", COUNTER, "of groups decoded") \
	C(group_bytes, "bytes", GAUGE, "of decoded groups in memory") \
	C(warnings, "warnings", COUNTER, "about single files or directories") \
	C(findings, "findings", COUNTER, "of checks") \
	C(chunks_damaged, "chunks", COUNTER, "met that could not be read") \
	C(index_pages_damaged, "pages", COUNTER, "of index runs skipped") \
	STAGE(stage_cut, "cutting batches of what is fed into chunks") \
	STAGE(stage_hash, "fingerprinting the chunks of batches") \
	STAGE(stage_lookup, "looking up the chunks of batches") \
	STAGE(stage_compress, "compressing groups") \
	STAGE(stage_decode, "decoding groups") \
	DISK(metadata, "the metadata pool") \
	DISK(data, "the data pool")

/* H(name, unit, help) is a histogram. Bytes are those of what succeeded;
 * operations done at once count their common time once. */
#define AKIN_COUNTERS_IO(C, H, name, what) \
	C(name##_ops, "operations", COUNTER, what) \
	C(name##_bytes, "bytes", COUNTER, what) \
	C(name##_ns, "nanoseconds", COUNTER, what) \
	H(name##_latency, "operations", what ", by latency")

#define AKIN_COUNTERS_DISK(C, H, name, where) \
	AKIN_COUNTERS_IO(C, H, name##_read, "reads from " where) \
	AKIN_COUNTERS_IO(C, H, name##_write, "writes to " where) \
	AKIN_COUNTERS_IO(C, H, name##_sync, "syncs of " where) \
	AKIN_COUNTERS_IO(C, H, name##_other, \
			 "names, sizes and locks in " where)

/* Where each one is among the values; a histogram takes several. */
enum akin_counter {
#define AKIN_COUNTER_ENUM(name, unit, kind, help) AKIN_COUNTER_##name,
#define AKIN_COUNTER_ENUM_H(name, unit, help) \
	AKIN_COUNTER_##name, \
	AKIN_COUNTER_##name##_last = \
		AKIN_COUNTER_##name + AKIN_LATENCY_BUCKETS - 1,
#define AKIN_COUNTER_ENUM_STAGE(name, what) \
	AKIN_COUNTERS_IO(AKIN_COUNTER_ENUM, AKIN_COUNTER_ENUM_H, name, what)
#define AKIN_COUNTER_ENUM_DISK(name, where) \
	AKIN_COUNTERS_DISK(AKIN_COUNTER_ENUM, AKIN_COUNTER_ENUM_H, name, where)
	AKIN_COUNTERS(AKIN_COUNTER_ENUM, AKIN_COUNTER_ENUM_STAGE,
		      AKIN_COUNTER_ENUM_DISK)
#undef AKIN_COUNTER_ENUM
#undef AKIN_COUNTER_ENUM_H
#undef AKIN_COUNTER_ENUM_STAGE
#undef AKIN_COUNTER_ENUM_DISK
	AKIN_NR_COUNTER_VALUES
};

enum akin_counter_kind {
	AKIN_KIND_COUNTER,
	AKIN_KIND_GAUGE,
	AKIN_KIND_MOMENT,
	AKIN_KIND_HISTOGRAM,	/* AKIN_LATENCY_BUCKETS values that grow */
};

/* A row of the table. */
struct akin_counter_field {
	const char *name, *unit, *help;
	enum akin_counter_kind kind;
	uint32_t first, nr;	/* among the values */
};

/* All rows, in order; never freed. */
AKIN_API const struct akin_counter_field *akin_counter_fields(uint32_t *nr_ret);

/* Something that flows into the pool or out of it. */
#define AKIN_STREAM_NAME 80
enum akin_stream_kind { AKIN_STREAM_IN = 1, AKIN_STREAM_OUT };

struct akin_counters_stream {
	uint64_t id;		/* never the same again in that process */
	enum akin_stream_kind kind;
	uint64_t begun_ns;	/* CLOCK_MONOTONIC */
	uint64_t bytes;		/* of contents, holes included */
	uint64_t bytes_new;	/* of these, of chunks that were not there */
	uint64_t items;		/* files or objects that are done */
	char name[AKIN_STREAM_NAME];	/* of the object, or where it is from;
				 * no control characters, maybe cut */
};

/*
 * One open pool of one living process. Apart from pid, uid and what the kernel
 * says of the process, all this is its own word for it: any user can say
 * anything of itself, so judge by @uid.
 */
struct akin_counters_process {
	char pool[33];		/* hex */
	uint32_t pid, uid;
	uint32_t handle;	/* tells the pools of one process apart */
	int64_t opened_sec;	/* wall clock */
	bool closed;		/* within the last minute; the values are the
				 * last ones, and the process may be gone */
	char command[256];	/* without control characters; maybe cut */
	const uint64_t *values;	/* AKIN_NR_COUNTER_VALUES, borrowed */
	/* Those that are open, oldest first; if there are very many, not all
	 * of them. Borrowed. */
	const struct akin_counters_stream *streams;
	uint32_t nr_streams;
};

/*
 * Call @fn for every open pool, and those closed a moment ago, whose counters
 * this user may read, or only for those of pool @pool (hex; NULL: all). What
 * dead processes have left behind is removed. Processes of another version of
 * the library are left out. A non-zero return of @fn ends it and is returned;
 * nothing else fails.
 */
AKIN_API int akin_counters_each(const char *pool,
				int (*fn)(void *ctx,
					  const struct akin_counters_process *c),
				void *ctx);

struct akin_pool;
/* An open pool's own, AKIN_NR_COUNTER_VALUES of them. From any thread. */
AKIN_API void akin_pool_get_counters(struct akin_pool *p, uint64_t *values_ret);

#ifdef __cplusplus
}
#endif
#endif
