/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCE_INTERNAL_H
#define SOURCE_INTERNAL_H

#include "base/buf.h"
#include "os/dirlist.h"
#include "os/dirstack.h"
#include "source/source.h"

struct source_walk {
	struct dirstack *stack;
	struct dirlist_memory lists;
	struct source_options opt;
	struct buf path; /* text of source_walk_path */
	u64 nr_skipped_xattrs;
};

/* The code of class SOURCE (or a fatal one) that fits an errno. */
int source_code(int err);
/* The message for it: @path, or its end if it is too long. */
int source_fail(const char *path, int err, struct akin_diag *diag);
/* The part of a path that fits a message. */
const char *source_path_tail(const char *path);

#endif
