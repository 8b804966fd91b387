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

#endif
