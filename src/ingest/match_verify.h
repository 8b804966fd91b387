/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing before sharing: a chunk whose fingerprint is known already is taken
 * as a duplicate only if the stored bytes are the same (as ZFS does it under
 * dedup=verify).
 *
 * What a batch has found is gathered by group, so that each group is decoded
 * once, by the workers, and compared there; groups that are decoded already
 * are compared by the stream itself. Three things can come of it:
 *
 *   equal        the usual case
 *   unreadable   no match: the chunk is stored anew under the same fingerprint,
 *                and the place is remembered as damaged
 *   different    the fingerprint belongs to other bytes: the chunk gets the
 *                fingerprint of salt 1 (2, 3 ...), is looked for and compared
 *                under that, and stored under it if it is not there
 *
 * Chunks of containers that are still being written are compared with what is
 * in memory, or read back from the file. What another lane has not yet closed
 * is out of reach; it is stored twice.
 *
 * Threads: a matcher belongs to its lane and is used under the lane's lock.
 */
#ifndef INGEST_MATCH_VERIFY_H
#define INGEST_MATCH_VERIFY_H

#include "ingest/lane.h"

struct matcher;

int matcher_new(struct session *s, struct matcher **out,
		struct akin_diag *diag) __must_check;
/* NULL is fine. */
void matcher_free(struct matcher *m);
/* Per chunk of a batch, for memory budgets. */
size_t matcher_chunk_bytes(void);

/*
 * Compare what l->hits of a batch's chunks say with the chunks. Afterwards a
 * hit is an equal chunk or nothing, and l->fps are the fingerprints that they
 * go by. Unreadable copies are no error; want of memory is.
 */
int match_batch(struct lane *l, struct akin_diag *diag) __must_check;
/* The same for hits of chunks [from, from + n) that were entered since; others
 * cost nothing. */
int match_more(struct lane *l, u32 from, u32 n, struct akin_diag *diag)
	__must_check;
/* Chunk @k is the one that the lane's packer was given last: if its fingerprint
 * is salted, its entry shall say so. */
void match_stored(struct lane *l, u32 k);

#endif
