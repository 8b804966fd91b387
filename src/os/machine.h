/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which machine this is, for pools that several can reach.
 *
 * Kernel locks are certain between processes of one kernel, whatever file
 * system they are on: so two machines are the same if they are the same boot.
 * After another boot it is the same machine if it says so: by its id
 * (/etc/machine-id) and its name; whatever ran before then runs no more.
 */
#ifndef OS_MACHINE_H
#define OS_MACHINE_H

#include "base/types.h"

#define MACHINE_NAME_MAX 64

struct machine {
	u8 boot[16];		/* zeros: unknown */
	u64 id;			/* a digest; 0: unknown */
	char name[MACHINE_NAME_MAX + 1];	/* A-Z a-z 0-9 . _ - only */
};

void machine_read(struct machine *out);
bool machine_same(const struct machine *a, const struct machine *b);

#endif
