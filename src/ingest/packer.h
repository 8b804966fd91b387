/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing: chunks of one kind, in stream order, into groups and containers.
 *
 * A chunk's place is known the moment it is added: the packer decides when a
 * group and a container close, compressors only fill in the bytes later.
 * One thread.
 */
#ifndef INGEST_PACKER_H
#define INGEST_PACKER_H

#include "ingest/nearset.h"
#include "ingest/session.h"

struct packer {
	struct session *session;
	u8 kind;
	struct session_container *sc;	/* the open container, or NULL */
	u8 *raw;			/* the open group's bytes */
	u32 raw_len;
	u32 nr_chunks;
	struct nearset near;		/* what it may be compressed against */
	struct refgate *gate;		/* shared with groups on their way */
};

int packer_init(struct packer *p, struct session *s, u8 kind,
		struct akin_diag *diag) __must_check;
/* After packer_close; zeroed is fine. */
void packer_release(struct packer *p);
/* Neighbours are worth finding: references are allowed and have paid lately. */
bool packer_wants_near(struct packer *p);
/* They are, and what has none may be looked for by its sketch. */
bool packer_wants_sketches(struct packer *p);
/*
 * Store a chunk; *at is its place. @hint: metadata only. @near (borrowed during
 * the call; may be NULL if @nr_near is 0): runs of stored chunks it is likely
 * to resemble, the most promising entry first. They are advice: any may be
 * passed over, and those that come late are.
 */
int packer_add(struct packer *p, const struct fp *fp, const void *data,
	       u32 len, const struct hint *hint, const struct group_ref *near,
	       u32 nr_near, struct place *at, struct akin_diag *diag)
	__must_check;
/* The sketch of the chunk that was added last, at @at. */
int packer_sketch(struct packer *p, const struct place *at,
		  const struct dir_sketch *sketch, struct akin_diag *diag)
	__must_check;
/* Close group and container; in any case nothing stays open. */
int packer_close(struct packer *p, struct akin_diag *diag);

#endif
