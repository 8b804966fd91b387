/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels: what may change about a snapshot after its commit. A file in the
 * data pool beside the snapshot's record, replaced whole; the catalog has the
 * same bytes. A snapshot without a label has the tags of its record and is not
 * protected.
 */
#ifndef FORMAT_LABEL_H
#define FORMAT_LABEL_H

#include "format/format_snapshot.h"

#define LABEL_PROTECTED 0x1	/* must not be forgotten */
#define LABEL_UNTIL     0x2	/* but only until a time; with the former */

struct label {
	struct pool_id pool;
	u64 number;		/* of the snapshot */
	u8 id[SNAPSHOT_ID_BYTES];
	u64 txn;		/* catalog transaction that wrote it */
	u32 flags;
	s64 until_sec;		/* wall clock; with LABEL_UNTIL, else 0 */
	u64 until_age_sec;	/* the pool's age by then; likewise */
	char **tags;		/* all of them, in place of the record's */
	u32 nr_tags;
};

int label_encode(const struct label *l, struct buf *out);
/* Returns owned: label_release. Zeroed and half-built are fine. */
int label_decode(const void *data, size_t len, struct label *out);
void label_release(struct label *l);

#endif
