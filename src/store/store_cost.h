/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What restoring some contents would read and decode, without reading their
 * data: chunks are located and marked, then everything that their groups were
 * compressed against. Which groups those are stands in the heads of groups that
 * have references, so these are read, and nothing else of the data.
 *
 * Memory: the marks' budget and one leaf. One thread.
 */
#ifndef STORE_COST_H
#define STORE_COST_H

#include "akin/check.h"
#include "depot/depot.h"

struct store_cost;

/* Both are borrowed. */
int store_cost_new(struct depot *d, struct decoder *dec, size_t budget_bytes,
		   struct store_cost **out, struct akin_diag *diag)
	__must_check;
/* NULL is fine. */
void store_cost_free(struct store_cost *c);

/* All that a content consists of, with the pieces of its recipe. */
int store_cost_content(struct store_cost *c, const struct content *ct,
		       const struct hint *hint, struct akin_diag *diag)
	__must_check;
/* A piece of metadata; fits recipe_piece_fn, @ctx is the struct store_cost. */
int store_cost_piece(void *ctx, const struct fp *fp, struct akin_diag *diag);

/*
 * Follow the references and add up; the last call. @tick (may be NULL) is
 * called for every container; a non-zero return ends it. -AKIN_E_nomem if the
 * containers are more than the budget has room for.
 */
int store_cost_finish(struct store_cost *c,
		      int (*tick)(void *ctx, struct akin_diag *diag), void *ctx,
		      struct akin_restore_cost *out, struct akin_diag *diag)
	__must_check;

#endif
