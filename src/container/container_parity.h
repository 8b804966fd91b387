/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parity of sealed containers: docs/design/parity.md says why this way,
 * docs/format/parity.md how the file beside a container looks.
 *
 * Nothing here decides whether a container is sound: that its own checksums and
 * fingerprints do. Parity that is missing (-AKIN_E_absent) or damaged is
 * nothing that a reader of containers fails for.
 *
 * Thread safety: an open struct container_parity is immutable; files are
 * written by one caller for each container.
 */
#ifndef CONTAINER_PARITY_H
#define CONTAINER_PARITY_H

#include "format/format_parity.h"
#include "os/disk.h"

struct container_id {
	u64 number;
	u32 generation;
};

/*
 * Make the parity of a sealed container from what its file holds now, which the
 * caller knows to be sound, and replace what there was. Durable but for its
 * name, which the folder's sync makes so. *bytes_ret: of the file. Memory: a
 * mebibyte or two.
 */
int container_parity_write(struct disk *data, const struct pool_id *pool,
			   const struct container_id *id, u8 percent,
			   u64 *bytes_ret, struct akin_diag *diag)
	__must_check;
/* Without it from now on; absent is fine. Neither this nor the half-written
 * rest of one is left. */
int container_parity_remove(struct disk *data, const struct container_id *id,
			    u64 *bytes_ret, struct akin_diag *diag)
	__must_check;

struct container_parity;

/* Head and table, of whichever copy is sound. Returns owned:
 * container_parity_close. */
int container_parity_open(struct disk *data, const struct pool_id *pool,
			  const struct container_id *id,
			  struct container_parity **out,
			  struct akin_diag *diag) __must_check;
/* NULL is fine. */
void container_parity_close(struct container_parity *p);
const struct parity_map *
container_parity_map(const struct container_parity *p);

/*
 * What the container had in [off, off + len), which lies within map->bytes:
 * sectors of @file that cannot be read, or not as they were, are made again.
 * *healed_ret: how many. -AKIN_E_bad_data: too many are lost.
 */
int container_parity_read(const struct container_parity *p, struct file *file,
			  u64 off, size_t len, u8 *out, u32 *healed_ret,
			  struct akin_diag *diag) __must_check;

struct parity_report {
	u32 nr_sectors, nr_parity;
	u32 bad_sectors;	/* of the container */
	u32 bad_parity;		/* sectors of the parity file */
	u32 hopeless;		/* bad sectors that cannot be made again */
	bool bad_length;	/* the container's file is longer */
	bool bad_copy;		/* one of head and table */
};
/* Read both files wholly. */
int container_parity_check(const struct container_parity *p, struct file *file,
			   struct parity_report *out, struct akin_diag *diag)
	__must_check;
/*
 * The same, and write back into @file, open for writing, what can be made
 * again; nothing else is touched. Synced. *out is as it was before.
 */
int container_parity_heal(const struct container_parity *p, struct file *file,
			  struct parity_report *out, struct akin_diag *diag)
	__must_check;

#endif
