/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in a directory, sorted bytewise, in bounded memory.
 *
 * The whole directory is read when the list is opened; afterwards the
 * descriptor is not needed and may be closed. Up to the budget the names stay
 * in memory, beyond it they are sorted on disk.
 *
 * Not thread safe; several lists may be open at once.
 */
#ifndef OS_DIRLIST_H
#define OS_DIRLIST_H

#include "base/diag.h"
#include "base/types.h"

struct dirlist;
struct disk;

/*
 * Where lists of one walk keep their names. @used_bytes is what all of them
 * hold now; a list opened when little is left of the budget spills early, but
 * always gets DIRLIST_MIN_BYTES, and SPILL_MIN_BYTES once it spills. Without
 * @disk nothing spills, and a directory beyond the budget is
 * -AKIN_E_too_large.
 */
struct dirlist_memory {
	size_t budget_bytes;
	size_t used_bytes;
	struct disk *disk; /* borrowed, may be NULL */
	const char *dir;   /* folder on @disk for temporary files */
};

/*
 * What a list may hold whatever the budget says: two hundred names, so that
 * ordinary directories on a deep path never touch the disk. Larger, a path of
 * thousands of full directories would overrun the budget by much.
 */
#define DIRLIST_MIN_BYTES (8 * KiB)

/*
 * List the directory open at @fd, whose file offset moves. Borrows @mem until
 * dirlist_free. A directory that was removed meanwhile is -AKIN_E_absent.
 * Returns owned: dirlist_free.
 */
int dirlist_open(struct dirlist_memory *mem, int fd, struct dirlist **out,
		 struct akin_diag *diag) __must_check;
/*
 * 1 and the next name, 0 at the end, or an error. "." and ".." are left out.
 * @type_ret is a DT_ constant of <dirent.h>, DT_UNKNOWN if the file system
 * does not say. The name is borrowed until the next call on @l.
 */
int dirlist_next(struct dirlist *l, const char **name_ret, u8 *type_ret,
		 struct akin_diag *diag) __must_check;
/* NULL is fine. */
void dirlist_free(struct dirlist *l);

#endif
