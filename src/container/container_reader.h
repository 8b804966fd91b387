/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading sealed containers.
 *
 * Opening one reads its footer and directory (one read where they fit into
 * the last TAIL_READ_BYTES) and believes them if and only if the footer's and
 * the directory's checksums hold, number and generation are those asked for,
 * and every group lies between header and directory.
 *
 * What a disk has lost is made again from the container's parity, where that is
 * there and enough (container_parity.h); callers see it by a count only.
 *
 * Thread safety: a reader is immutable after opening, but for a count;
 * container_read_group may run from many threads.
 */
#ifndef CONTAINER_READER_H
#define CONTAINER_READER_H

#include "container/container_parity.h"
#include "format/format_container.h"
#include "os/disk.h"

struct container_reader;

int container_open(struct disk *data, const struct pool_id *pool, u64 number,
		   u32 generation, struct container_reader **out,
		   struct akin_diag *diag) __must_check;
/* It will be opened soon: begin to read what that needs. */
void container_prefetch_directory(struct disk *data, u64 number,
				  u32 generation);
/*
 * One that is not yet sealed, to read the groups of @dir, which is taken
 * (emptied), also on failure: a container_writer_snapshot().
 */
int container_open_unsealed(struct disk *data, const struct pool_id *pool,
			    struct directory *dir,
			    struct container_reader **out,
			    struct akin_diag *diag) __must_check;
void container_close(struct container_reader *r);

const struct directory *
container_directory(const struct container_reader *r);
/* As read when it was opened; the directory ends where it starts. */
const struct container_footer *
container_reader_footer(const struct container_reader *r);
/* Index of entry number @entry in @d, or -1: numbers ascend, mostly without
 * gaps. */
long container_entry_index(const struct directory *d, u32 entry);
/* Index of @container among @d's bases, or -1. */
long container_base_index(const struct directory *d, u64 container);
/* Bytes of memory it holds. */
size_t container_reader_bytes(const struct container_reader *r);

/* Sectors made again so far, the same ones several times perhaps. */
u32 container_reader_healed(const struct container_reader *r);

/* A group as stored; the checksum was verified. */
struct container_group {
	struct group_header header;	/* owned */
	const u8 *payload;		/* in @bytes */
	struct buf bytes;
	u32 healed;			/* sectors of it, made again */
};
void container_group_release(struct container_group *g);
/*
 * Read group @index (of the directory's groups). Its chunk table must agree
 * with the directory.
 */
int container_read_group(struct container_reader *r, u32 index,
			 struct container_group *out, struct akin_diag *diag)
	__must_check;
/* The same into the memory of @room, which is taken (emptied), also on
 * failure; it may have none. */
int container_read_group_into(struct container_reader *r, u32 index,
			      struct buf *room, struct container_group *out,
			      struct akin_diag *diag) __must_check;
/* These groups, ascending, will be read soon: begin. For who does not go
 * through the container from one end to the other; that is better left to the
 * system, which reads ahead by itself. */
void container_prefetch(struct container_reader *r, const u32 *groups, u32 nr);
/* Header of the file itself against what the directory says (for check). */
int container_check_header(struct container_reader *r,
			   struct container_header *out,
			   struct akin_diag *diag) __must_check;
/* All of the file and of its parity; -AKIN_E_absent: it has none. */
int container_check_parity(struct container_reader *r,
			   struct parity_report *out, struct akin_diag *diag)
	__must_check;

#endif
