/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of depot/.
 */
#ifndef DEPOT_INTERNAL_H
#define DEPOT_INTERNAL_H

#include "depot/depot.h"

/* Answers of depot_is_damaged(). NULL: out of memory. */
struct depot_bases *depot_bases_new(void);
/* NULL is fine. */
void depot_bases_free(struct depot_bases *b);

/* Of those not found, what similar containers have. Nothing if there is no
 * table. */
void depot_find_similar(struct depot *d, const struct fp *fps, u32 n,
			struct dir_hit *out);
/* Copies at damaged places are not found. */
void depot_drop_damaged(struct depot *d, struct dir_hit *out, u32 n);

#endif
