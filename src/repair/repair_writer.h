/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generation of a container, written group by group with entry numbers that
 * are given. Nobody knows of it until the catalog does.
 *
 * Memory: its directory, and a piece of the file. Errors are not sticky: after
 * one the writer is to be freed, which removes the file.
 */
#ifndef REPAIR_WRITER_H
#define REPAIR_WRITER_H

#include "format/format_container.h"
#include "os/disk.h"

struct repair_writer;

int repair_writer_open(struct disk *data, const struct container_header *h,
		       struct repair_writer **out, struct akin_diag *diag)
	__must_check;
/* NULL is fine. */
void repair_writer_free(struct repair_writer *w);

/*
 * An entry of the group that comes next: fingerprint, number, length and salt
 * of @e count. @hint (borrowed until sealed) and @sketch may be NULL.
 */
int repair_writer_entry(struct repair_writer *w, const struct dir_entry *e,
			const struct hint *hint,
			const struct dir_sketch *sketch, struct akin_diag *diag)
	__must_check;
/* The group of these entries, as it is to stand in the file: @h is what
 * @bytes begin with. */
int repair_writer_group(struct repair_writer *w, const struct group_header *h,
			const void *bytes, size_t len, struct akin_diag *diag)
	__must_check;
/* The group that comes next may refer to @container, though @h does not say
 * so. */
int repair_writer_base(struct repair_writer *w, u64 container,
		       struct akin_diag *diag) __must_check;
/*
 * Instead of entries and groups: the bytes behind the header, up to where a
 * directory that is known stood, in pieces.
 */
int repair_writer_bytes(struct repair_writer *w, const void *bytes, size_t len,
			struct akin_diag *diag) __must_check;
/* May be NULL: the leaf that its first chunks were written under. */
void repair_writer_first_leaf(struct repair_writer *w, const struct fp *leaf);

struct repair_sealed {
	u64 file_bytes, dir_off, raw_bytes;
	u32 dir_len, nr_entries;
};
/* Directory and footer, durably, the name too. @known (its generation is
 * changed): the directory of what repair_writer_bytes() wrote; else NULL. */
int repair_writer_seal(struct repair_writer *w, struct directory *known,
		       struct repair_sealed *out, struct akin_diag *diag)
	__must_check;

#endif
