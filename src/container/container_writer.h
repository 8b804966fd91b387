/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing one container.
 *
 * Two sides meet here. The owner (one stream) adds chunks and closes groups,
 * in order, and so knows every place at once; compressors hand the encoded
 * groups in, in any order and from any thread, and the writer puts them into
 * the file in the order of their numbers. The file becomes a container when
 * its footer is written and synced (container_writer_seal).
 *
 *    OPEN --finish--> DRAINING --last group in--> COMPLETE --seal--> SEALED
 *      '---------------- any error ----------------> FAILED
 */
#ifndef CONTAINER_WRITER_H
#define CONTAINER_WRITER_H

#include "format/format_container.h"
#include "os/disk.h"

struct container_writer;

struct container_writer_options {
	struct container_header header;
	/* Called once, from whichever thread completes it, when finish was
	 * called and the last group has arrived (or the writer has failed). */
	void (*complete)(void *ctx, struct container_writer *w);
	void *complete_ctx;
};

/* Creates the file. Returns owned: container_writer_free. */
int container_writer_open(struct disk *data,
			  const struct container_writer_options *opt,
			  struct container_writer **out,
			  struct akin_diag *diag) __must_check;
/* Closes the file as it is; deletes nothing. NULL is fine. */
void container_writer_free(struct container_writer *w);

/* Owner side ---------------------------------------------------------------*/

u64 container_writer_number(const struct container_writer *w);
u8 container_writer_kind(const struct container_writer *w);
u32 container_writer_nr_entries(const struct container_writer *w);
/* Adds a chunk to the open group; *entry_ret is its entry number for life.
 * @hint (copied; may be NULL) only in metadata containers. */
int container_writer_add(struct container_writer *w, const struct fp *fp,
			 u32 len, const struct hint *hint, u32 *entry_ret,
			 struct akin_diag *diag) __must_check;
/*
 * Close the open group (not empty): fills number, chunks and nr_chunks of
 * *out, which then goes to a compressor. Returns owned: group_header_release.
 */
int container_writer_close_group(struct container_writer *w,
				 struct group_header *out,
				 struct akin_diag *diag) __must_check;
/* The open group's chunks are given up: the writer can never be sealed. */
void container_writer_abandon(struct container_writer *w, int err);
/* No more groups; the open one must be closed or abandoned. */
void container_writer_finish(struct container_writer *w);
/* Is this chunk in it? For lookups while it is open; any thread. */
bool container_writer_lookup(struct container_writer *w, const struct fp *fp,
			     u32 entry, u32 *len_ret);
/* The whole entry, with its spot in the group; false if it is not there. */
bool container_writer_entry(struct container_writer *w, u32 entry,
			    struct dir_entry *out);
/* Entry @entry's fingerprint is salted (docs/format/directory.md). */
void container_writer_salt(struct container_writer *w, u32 entry, u8 salt);
/* What entry @entry, of a data container, resembles. 0 or -AKIN_E_nomem. */
int container_writer_sketch(struct container_writer *w, u32 entry,
			    const struct dir_sketch *sketch) __must_check;
/*
 * For reading while it is open: the directory of the groups that are in the
 * file, without hints. Returns owned (directory_release). Gathered groups are
 * written out if group @index is not yet there; -AKIN_E_busy if it has not
 * been handed in, or an earlier one. Any thread; may do I/O.
 */
int container_writer_snapshot(struct container_writer *w, u32 index,
			      struct directory *out, struct akin_diag *diag)
	__must_check;
/* Stored bytes so far, plus an estimate for groups still with compressors. */
u64 container_writer_size(struct container_writer *w);
void container_writer_first_leaf(struct container_writer *w,
				 const struct fp *leaf);

/* Compressor side ----------------------------------------------------------*/

/* @encoded (taken, emptied) is group @g's header and payload; afterwards it may
 * have the memory of a group that is done with, for the caller to use again.
 * What the references of @g point to becomes a base of the container. */
int container_writer_put(struct container_writer *w,
			 const struct group_header *g, struct buf *encoded,
			 struct akin_diag *diag) __must_check;
/* A compressor failed: the writer can no longer be sealed. */
void container_writer_fail(struct container_writer *w, int err,
			   const struct akin_diag *diag);

/* After complete() ---------------------------------------------------------*/

struct container_sealed {
	u64 number;
	u32 generation;
	u8 kind;
	u64 file_bytes, dir_off, raw_bytes;
	u64 ref_raw_bytes;	/* of these, in groups with references */
	u32 dir_len, nr_entries;
};

/* Writes directory and footer, syncs the file. The name is not durable until
 * its directory has been synced by the caller. */
int container_writer_seal(struct container_writer *w,
			  struct container_sealed *out,
			  struct akin_diag *diag) __must_check;
/* After sealing: reads should come from the device, not from memory. */
void container_writer_drop_cache(struct container_writer *w);
/* The directory as sealed; borrowed until the writer is freed. */
const struct directory *
container_writer_directory(const struct container_writer *w);

#endif
