/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting files aside; see repair_quarantine.h.
 *
 * The name in the quarantine is looked for before the rename, which would
 * replace what is there: one caller at a time, as is whoever repairs.
 */
#include <stdio.h>

#include "repair/repair_quarantine.h"

/* Of one name; it takes as many repairs to get there. */
#define COPIES_MAX 1000

/* 1: there, 0: not there, or an error. */
static int there(struct disk *d, const char *name, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct disk_stat st;
	int err = disk_stat(d, name, &st, &why);

	if (!err)
		return 1;
	return err == -AKIN_E_absent ? 0 : diag_pass(diag, err, &why);
}

static int free_name(struct disk *d, const char *base, char *out, size_t size,
		     struct akin_diag *diag)
{
	int i, len, err = 1;

	for (i = 0; err > 0 && i < COPIES_MAX; i++) {
		len = i ? snprintf(out, size, "%s/%s.%d", DIR_QUARANTINE, base,
				   i) :
			  snprintf(out, size, "%s/%s", DIR_QUARANTINE, base);
		if (len >= (int)size)
			return diag_set(diag, -AKIN_E_internal,
					"%s: name too long", base);
		err = there(d, out, diag);
	}
	return err > 0 ? diag_set(diag, -AKIN_E_exists, "%s: too many in the "
				  "quarantine", base) : err;
}

/* The folder it was in; "." at the top. */
static void folder_of(const char *name, char out[FORMAT_NAME_MAX])
{
	char *slash;

	snprintf(out, FORMAT_NAME_MAX, "%s", name);
	slash = strrchr(out, '/');
	if (slash)
		*slash = 0;
	else
		memcpy(out, ".", 2);
}

int repair_quarantine(struct disk *d, const char *name, bool *moved_ret,
		      struct akin_diag *diag)
{
	const char *slash = strrchr(name, '/');
	char to[FORMAT_NAME_MAX], folder[FORMAT_NAME_MAX];
	int err;

	if (moved_ret)
		*moved_ret = false;
	err = there(d, name, diag);
	if (err <= 0)
		return err;
	err = disk_mkdir(d, DIR_QUARANTINE, diag);
	if (!err)
		err = disk_sync_dir(d, ".", diag);
	if (!err)
		err = free_name(d, slash ? slash + 1 : name, to, sizeof(to),
				diag);
	if (!err)
		err = disk_rename(d, name, to, diag);
	if (!err)
		err = disk_sync_dir(d, DIR_QUARANTINE, diag);
	folder_of(name, folder);
	if (!err)
		err = disk_sync_dir(d, folder, diag);
	if (!err && moved_ret)
		*moved_ret = true;
	return err;
}
