/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rulebook: the pool's policy, as a file in the data pool beside the
 * superblock, replaced whole. The catalog has the truth; this is for a catalog
 * made anew. What the rules mean is not said here.
 */
#ifndef FORMAT_RULEBOOK_H
#define FORMAT_RULEBOOK_H

#include "format/format_snapshot.h"

#define RULEBOOK_MAX_RULES 1024
#define RULEBOOK_RULE_MAX 63	/* bytes of the name of a rule */
/* Every rule with a value of SNAPSHOT_STRING_MAX, and some. */
#define RULEBOOK_FILE_MAX (80 * MiB)

struct rulebook {
	struct pool_id pool;
	u64 txn;		/* catalog transaction that wrote it */
	/* Rule i is names[i] with values[i]; by name, then value, ascending,
	 * none twice. */
	char **names, **values;
	u32 nr;
};

int rulebook_encode(const struct rulebook *r, struct buf *out);
/* Returns owned: rulebook_release. Zeroed and half-built are fine. */
int rulebook_decode(const void *data, size_t len, struct rulebook *out);
void rulebook_release(struct rulebook *r);

#endif
