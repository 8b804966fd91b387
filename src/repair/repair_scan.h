/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What container files there are, in order, whoever names them.
 *
 * Memory: a few MiB; longer lists are sorted in files of the metadata disk.
 */
#ifndef REPAIR_SCAN_H
#define REPAIR_SCAN_H

#include "format/format.h"
#include "os/disk.h"

/* Numbers from here on are nobody's: what bears them is a stranger's file. */
#define REPAIR_NUMBER_MAX (((u64)1 << 48) - 1)

struct repair_file {
	u64 number;
	u32 generation;
};

/*
 * Calls @fn for each, by number, then generation, ascending; non-zero ends it
 * with that. @tmp has DIR_TMP. @fn is called once all names are known, and may
 * change the folders.
 */
int repair_each_file(struct disk *data, struct disk *tmp,
		     int (*fn)(void *ctx, const struct repair_file *f),
		     void *ctx, struct akin_diag *diag) __must_check;

#endif
