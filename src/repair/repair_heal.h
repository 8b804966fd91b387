/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Healing a container: groups that cannot be read, and of which every chunk has
 * another, sound copy somewhere, are made again from those copies, under their
 * old entry numbers; then hints, index and whatever was compressed against them
 * are right again. All of a group or nothing of it: of what has no other copy,
 * the bytes as they are may be somebody's last hope.
 *
 * Memory: one group raw, and what it compresses to.
 */
#ifndef REPAIR_HEAL_H
#define REPAIR_HEAL_H

#include "depot/depot.h"
#include "repair/repair_writer.h"

struct repair_heal {
	/* in */
	u64 number;
	u32 from;		/* its generation */
	u32 to;			/* to write; 0: only look */
	u64 session;		/* that writes it */
	/* out */
	u32 groups_sound;	/* marked, and read well all the same */
	u32 groups_healed;	/* or that could be */
	u64 chunks_healed;
	struct place *lift;	/* marks that no longer hold: those of the sound
				 * ones, and of the healed ones once @to counts;
				 * owned, mem_free() */
	u32 nr_lift;
	struct repair_sealed sealed;	/* if anything was healed */
};

/*
 * Looks at the groups with marks in depot->damage; of a container that cannot be
 * opened there are none. Writes h->to, durably, if
 * there is something to heal. An error means that it could not be done;
 * h->lift is to be freed in any case.
 */
int repair_heal(struct depot *depot, struct decoder *dec, struct repair_heal *h,
		struct akin_diag *diag) __must_check;

#endif
