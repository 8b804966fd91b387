/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that can be changed without changing it: what is written, renamed and
 * removed goes into memory, and from there into a nameless file elsewhere; the
 * disk below is only read. All of it is gone when the overlay is freed. So the
 * code that changes a pool can be run to see what would come of it.
 *
 * As the contract in os/disk.h, except:
 *   - nobody else sees the overlay, so locks on what was changed are granted,
 *     and other files' locks are those of the disk below, for reading only
 *   - directories cannot be made
 *   - what others change below meanwhile shows through where nothing was
 *     changed here
 */
#ifndef OS_DISK_OVERLAY_H
#define OS_DISK_OVERLAY_H

#include "os/disk.h"

/*
 * Takes @below, also on failure. Up to about @memory_bytes of what is written
 * stay in memory; the rest goes to a file without a name on @scratch (borrowed;
 * NULL: there is no rest, writing fails with -AKIN_E_nospace).
 */
int disk_overlay_new(struct disk *below, struct disk *scratch,
		     size_t memory_bytes, struct disk **out,
		     struct akin_diag *diag) __must_check;

#endif
