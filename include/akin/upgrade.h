/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of a pool's format: what it has, what this version knows, and
 * switching on what it does not have.
 *
 * New pools have all features that the version which makes them knows. A later
 * version works on an older pool without changing what it is; its features are
 * switched on by this call and by nothing else, because programs that do not
 * know one may not work on the pool any more. What a pool is set to when it is
 * made, or what optimizing changes (parity), is no feature.
 */
#ifndef AKIN_UPGRADE_H
#define AKIN_UPGRADE_H

#include "akin/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a program does with a pool that has a feature it does not know. */
enum akin_feature_kind {
	AKIN_FEATURE_IGNORED,	/* goes on */
	AKIN_FEATURE_READ_ONLY,	/* only reads */
	AKIN_FEATURE_REFUSED,	/* does not open it */
};

struct akin_feature {
	const char *name;	/* "" if this version does not know it */
	const char *text;	/* one sentence, lower case, no full stop; or "" */
	enum akin_feature_kind kind;
	unsigned bit;		/* in the superblock's word for that kind */
	bool known;
	bool on;		/* before the call, on both disks */
};

struct akin_upgrade_options {
	bool dry_run;	/* works on a pool opened for reading, too */
	/* Each that is known or on; before anything is changed. May be NULL. */
	void (*feature)(void *ctx, const struct akin_feature *f);
	void *ctx;
};

struct akin_upgrade_result {
	unsigned version_major, version_minor;	/* the pool's format */
	unsigned known, unknown;	/* features: by this version, not by it */
	unsigned switched_on;	/* with dry_run: would be */
};

/*
 * Durable on return, and safe to kill at any point: the pool then has a feature
 * or does not have it, and the next call goes on. Backups and restores go on
 * meanwhile; reclaiming, repairing and changes of the parity do not
 * (-AKIN_E_busy). If there is nothing to switch on, nothing is written. *out is
 * filled also after errors.
 */
AKIN_API int akin_upgrade(struct akin_pool *p,
			  const struct akin_upgrade_options *opt,
			  struct akin_upgrade_result *out,
			  struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
