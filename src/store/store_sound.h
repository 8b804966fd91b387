/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damage and backups: what is known to be damaged or is missing must neither
 * be matched (depot/ sees to that) nor be taken from the parent snapshot.
 */
#ifndef STORE_SOUND_H
#define STORE_SOUND_H

#include "store/store.h"

/* The catalog's marks into p->depot.damage; at open, before any lookup. */
int store_damage_load(struct akin_pool *p, struct akin_diag *diag)
	__must_check;

struct store_soundness;

/*
 * For a backup that has a parent. Containers that the catalog names and whose
 * files are not there are added to p->depot.damage, so no stream may be
 * running yet. One listing of each folder and one pass over the catalog's
 * rows.
 */
int store_soundness_new(struct akin_pool *p, struct decoder *dec,
			struct store_soundness **out, struct akin_diag *diag)
	__must_check;
/* NULL is fine. */
void store_soundness_free(struct store_soundness *s);

/*
 * Can all of a content's chunks and pieces be had, as far as is known? One
 * branch while nothing is known to be damaged; else its recipe is read. In
 * doubt (no memory) it is not sound. One caller at a time.
 */
bool store_content_is_sound(struct store_soundness *s,
			    const struct content *ct, const struct hint *hint);

#endif
