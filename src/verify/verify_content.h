/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a content be had in full? Every piece of its recipe reads and decodes,
 * every chunk is in some directory, in the right length, in a place that is
 * not known to be damaged. Chunks themselves are not read.
 *
 * What was found whole once is skipped the next time.
 *
 * Thread safety: one caller at a time for each checker.
 */
#ifndef VERIFY_CONTENT_H
#define VERIFY_CONTENT_H

#include "depot/depot.h"
#include "format/format_recipe.h"

struct content_checker;

/* @dec is borrowed. */
int content_checker_new(struct depot *d, struct decoder *dec,
			size_t seen_bytes, struct content_checker **out,
			struct akin_diag *diag) __must_check;
/* NULL is fine. */
void content_checker_free(struct content_checker *c);

/* For who has not checked all containers before: a chunk may also be out of
 * reach for what its group was compressed against. */
void content_checker_doubt_bases(struct content_checker *c);

struct content_verdict {
	u64 nr_bad;		/* chunks and pieces that cannot be had */
	int code;		/* of the first one; 0: sound */
	char text[512];		/* about it */
};

/* An error means that it could not be told (no memory and the like); damage is
 * no error but *out. */
int content_checker_check(struct content_checker *c, const struct content *ct,
			  const struct hint *hint, struct content_verdict *out,
			  struct akin_diag *diag) __must_check;

/*
 * For directories, whose listing the caller reads: have all its pieces been
 * noted before? (Records that run over the end of a piece are as large as a
 * piece; what follows them in another listing is read by that one.)
 */
bool content_checker_seen(struct content_checker *c, const struct content *ct,
			  const struct hint *hint);
/* The listing and all below it is whole. */
void content_checker_note(struct content_checker *c, const struct content *ct,
			  const struct hint *hint);

struct content_checker_stats {
	u64 pieces;		/* read */
	u64 chunks;		/* located */
};
void content_checker_get_stats(const struct content_checker *c,
			       struct content_checker_stats *out);

/* Does the code speak of what was stored, and not of this process? */
bool verify_is_damage(int code);

#endif
