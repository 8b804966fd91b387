/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting aside what cannot be read: it is moved into the directory
 * "quarantine" of its disk, under its own name, and never deleted. Nothing
 * reads it there but a later repair, which may be cleverer.
 */
#ifndef REPAIR_QUARANTINE_H
#define REPAIR_QUARANTINE_H

#include "format/format.h"
#include "os/disk.h"

/*
 * Durably. If there is one of that name, ".1" and so on is put behind the new
 * one's. A file that is not there (any more) is fine: *moved_ret (may be NULL)
 * tells.
 */
int repair_quarantine(struct disk *d, const char *name, bool *moved_ret,
		      struct akin_diag *diag) __must_check;

#endif
