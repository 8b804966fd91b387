/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a snapshot whole? Every listing of its tree and every piece of a recipe
 * is read, every chunk is somewhere, in a place that is not known to be damaged
 * and whose bases are there. Chunks themselves are not read.
 *
 * What was found whole is remembered, so that many snapshots which share most
 * of their trees take little longer than one.
 */
#ifndef REPAIR_JUDGE_H
#define REPAIR_JUDGE_H

#include "depot/depot.h"
#include "format/format_snapshot.h"

struct repair_judge;

/* @depot and @dec are borrowed. */
int repair_judge_new(struct depot *depot, struct decoder *dec,
		     size_t memory_bytes, struct repair_judge **out,
		     struct akin_diag *diag) __must_check;
/* NULL is fine. */
void repair_judge_free(struct repair_judge *j);

enum repair_verdict {
	REPAIR_WHOLE,
	REPAIR_PART,		/* its top directory can be listed */
	REPAIR_LOST,		/* not even that */
};
/* An error means that it could not be told. @stopped may be NULL; non-zero
 * ends it with -AKIN_E_interrupted. */
int repair_judge(struct repair_judge *j, const struct snapshot *s,
		 int (*stopped)(void *ctx), void *ctx,
		 enum repair_verdict *out, struct akin_diag *diag)
	__must_check;

#endif
