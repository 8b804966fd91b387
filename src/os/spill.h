/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting more records than fit in memory.
 *
 * Records are byte strings of any length, the empty one included. While they
 * fit the budget they stay in memory and no file is made; beyond it, sorted
 * runs go to temporary files without a name and are merged on the way out.
 * Equal records come out in the order they went in.
 *
 * Memory never exceeds the budget plus the struct itself (about 6 KiB), and
 * grows with what is added: a small sort is small. Disk space: what was added
 * plus 8 bytes a record, twice that while runs are merged into longer ones.
 * What comes back from the disk is checked; a flipped bit is an error.
 *
 *	spill_new, spill_add ..., spill_finish, spill_next ..., spill_free
 *
 * Errors are sticky: after one every call returns it. Thread safety: one
 * caller at a time for each struct spill.
 */
#ifndef OS_SPILL_H
#define OS_SPILL_H

#include "os/disk.h"

struct spill;

/* Smallest budget with a disk; less is -AKIN_E_usage. */
#define SPILL_MIN_BYTES (64 * KiB)
/* With a disk, a record may be this long; longer is -AKIN_E_too_large. */
#define SPILL_RECORD_MAX(budget_bytes) ((budget_bytes) / 17 - 8)

/* As memcmp: below, equal or above zero. Must be a total order. */
typedef int spill_compare(const void *a, size_t alen, const void *b,
			  size_t blen);

/*
 * @tmp_disk NULL: memory only, and -AKIN_E_nomem beyond the budget. The disk
 * and @dir (copied) must outlive the sort.
 */
int spill_new(struct disk *tmp_disk, const char *dir, size_t budget_bytes,
	      spill_compare *compare, struct spill **out) __must_check;
/* Copies the bytes. */
int spill_add(struct spill *sp, const void *data, size_t len) __must_check;
/* No more records; -AKIN_E_sequence from spill_add afterwards. */
int spill_finish(struct spill *sp) __must_check;
/*
 * 1 and the next record, 0 at the end, or a negative code. The bytes are
 * borrowed until the next call on @sp.
 */
int spill_next(struct spill *sp, const void **data, size_t *len) __must_check;
/* Drops everything, in any state; NULL is fine. */
void spill_free(struct spill *sp);

/* The message behind the last error, borrowed from @sp; code 0 if none. */
const struct akin_diag *spill_diag(const struct spill *sp);
/* Bytes written to temporary files so far; 0: all in memory. */
u64 spill_disk_bytes(const struct spill *sp);

#endif
