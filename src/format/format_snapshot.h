/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshot records: files in the data pool that say what a snapshot is and
 * which containers its session wrote, written and synced before the catalog
 * names the snapshot. The catalog stores the same bytes.
 */
#ifndef FORMAT_SNAPSHOT_H
#define FORMAT_SNAPSHOT_H

#include "format/format.h"
#include "format/format_recipe.h"

#define SNAPSHOT_ID_BYTES 16
#define SNAPSHOT_RECORD_MAX (16 * MiB)
#define SNAPSHOT_STRINGS_MAX 65536	/* paths or tags */
#define SNAPSHOT_STRING_MAX 65535

#define SNAPSHOT_PARTIAL 0x1	/* some source could not be read */
#define SNAPSHOT_OBJECTS 0x2	/* what a program gave, not files it read;
				 * paths are spaces, or a stream's name */
#define SNAPSHOT_TRANSFERRED 0x4	/* copied or rewritten: older than its
					 * number says */

struct snapshot_counts {
	u64 files, dirs, others;
	u64 bytes;		/* logical */
	u64 bytes_read;		/* from the source */
	u64 chunks, chunks_new;
	u64 bytes_new;		/* raw bytes of new chunks */
	u64 bytes_stored;	/* what they take, data containers */
	u64 bytes_meta;		/* metadata containers written */
	u64 duration_ns;
	u64 warnings;
};

/* number ranges, ascending */
struct number_range {
	u64 first, nr;
};

struct snapshot {
	struct pool_id pool;
	u64 number;		/* from the catalog, never reused */
	u8 id[SNAPSHOT_ID_BYTES];	/* random; shown in hex */
	u64 session;
	u8 parent[SNAPSHOT_ID_BYTES];	/* zeros: none */
	s64 time_sec;
	u32 time_nsec;
	s32 utc_offset_sec;
	u32 flags;
	char *host, *user, *command;
	char **paths, **tags;	/* paths are bytes, NUL-terminated */
	u32 nr_paths, nr_tags;
	struct content root;	/* listing of the top directory */
	struct hint root_hint;	/* containers root's children live in */
	struct snapshot_counts counts;
	struct number_range *containers;	/* written by its session */
	u32 nr_containers;
	void *memory;	/* decoded: what root's inline entries borrow from */
};

/* NULL strings are written as empty ones and read back as such. */
int snapshot_encode(const struct snapshot *s, struct buf *out);
/* Returns owned: snapshot_release. Zeroed and half-built are fine. */
int snapshot_decode(const void *data, size_t len, struct snapshot *out);
void snapshot_release(struct snapshot *s);

#endif
