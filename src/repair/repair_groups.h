/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The groups in a file, found by what they say of themselves, and places where
 * a directory may begin.
 *
 * What the disk cannot read is taken for zeros, block by block. A group that
 * lies within another's bytes (stored data may be anything) is not found,
 * unless the other one is damaged; then its checksum, seeded with the
 * container's number, must still be right.
 */
#ifndef REPAIR_GROUPS_H
#define REPAIR_GROUPS_H

#include "container/container_reader.h"

struct repair_groups;

/* @f is borrowed. */
int repair_groups_new(struct file *f, u64 container, struct repair_groups **out,
		      struct akin_diag *diag) __must_check;
/* NULL is fine. */
void repair_groups_free(struct repair_groups *g);
/* 1, the next group (container_group_release) and where it stands; 0 at the
 * end; or an error. */
int repair_groups_next(struct repair_groups *g, struct container_group *out,
		       u64 *off_ret, struct akin_diag *diag) __must_check;
/* Known once all groups were seen, the last one first; how many. */
u32 repair_groups_directories(const struct repair_groups *g, const u64 **out);

/* @n bytes at @off, zeros for what cannot be read or lies behind the end. */
int repair_read(struct file *f, void *data, size_t n, u64 off, u64 size,
		struct akin_diag *diag) __must_check;

#endif
