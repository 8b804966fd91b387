/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of a real tree in a pool on lying disks, and a path of it that is
 * dropped: for tests that fail and stop a rewrite and a verification.
 */
#ifndef DROPFIX_H
#define DROPFIX_H

#include "simpool.h"
#include "treefix.h"

struct dropfix {
	struct treefix *fx;
	struct simpool base;	/* holds one snapshot of fx->src */
	u64 number;
	char id[33];
	char drop[128];		/* the path that goes, with what is below */
};

/* cmocka's; *state is a struct dropfix. */
int dropfix_setup(void **state);
int dropfix_teardown(void **state);

/* A process that drops the path. */
int dropfix_rewrite(struct dropfix *x, struct simpool *sp,
		    struct akin_diag *d);
/* A process that compares the snapshot with fx->src; the test fails if it
 * finds a difference. */
int dropfix_compare(struct dropfix *x, struct simpool *sp,
		    struct akin_diag *d);
/* A check of every byte. */
int dropfix_check(struct simpool *sp, struct akin_check_result *r,
		  struct akin_diag *d);

struct dropfix_view {
	u32 nr_old, nr_new;	/* listed, with the path and without */
	u64 old;		/* the one with it */
};
/*
 * All that is listed is the old snapshot or one without the path, each whole,
 * and a check of every byte finds nothing. @where: for the message.
 */
struct dropfix_view dropfix_look(struct dropfix *x, struct simpool *sp,
				 const char *where);
/* The same, and then it is done again, if need be, and must succeed. */
void dropfix_finish(struct dropfix *x, struct simpool *sp, const char *where);

#endif
