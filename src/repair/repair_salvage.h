/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a container that cannot be opened: its directory or footer
 * is gone, or what they say is not true.
 *
 *	a directory that still decodes	everything it names is kept as it is,
 *					holes and all; a check says which
 *					chunks are damaged
 *	none				groups say what they hold: those whose
 *					checksum is right are decoded, and
 *					their chunks fingerprinted anew; the
 *					rest is left out
 *
 * Fingerprints that were salted and hints of metadata cannot be had from
 * groups; so chunks of a collision are not found again, and metadata is found
 * through the index.
 *
 * Linear in the length of the file, whatever stands in it. Memory: two groups,
 * their references, and a directory.
 */
#ifndef REPAIR_SALVAGE_H
#define REPAIR_SALVAGE_H

#include "depot/depot.h"
#include "repair/repair_writer.h"

struct repair_salvage {
	/* in */
	const char *name;	/* of the file, which may be put aside */
	u64 number;
	u8 kind;		/* if its header cannot be read; 0: unknown */
	u32 generation;		/* to write */
	u64 session;		/* that writes it */
	bool decode;		/* looking, too, count only what decodes */
	/* out */
	u64 groups, chunks;	/* that are sound; 0: nothing was written */
	u8 kind_found;
	struct repair_sealed sealed;
};

/*
 * Write s->generation with what is left, durably, unless that is nothing. With
 * @look nothing is written, and what groups refer to is not looked at. An error
 * means that it could not be done, not that the file is damaged.
 */
int repair_salvage(struct depot *depot, struct decoder *dec,
		   struct repair_salvage *s, bool look, struct akin_diag *diag)
	__must_check;

#endif
