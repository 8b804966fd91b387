/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of snapshots as files; see record.h.
 */
#include <stdlib.h>

#include "record/record.h"

/* 1: there, 0: not there, or an error. */
static int there(struct disk *data, const char *name, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct disk_stat st;
	int err;

	err = disk_stat(data, name, &st, &why);
	if (!err)
		return 1;
	return err == -AKIN_E_absent ? 0 : diag_pass(diag, err, &why);
}

/* Rename @from to @to unless @to is there; no longer there is @absent. */
static int move(struct disk *data, const char *from, const char *to, int absent,
		struct akin_diag *diag)
{
	int err;

	err = there(data, to, diag);
	if (err)
		return err < 0 ? err : 0;
	err = there(data, from, diag);
	if (err <= 0)
		return err ? err : absent;
	return disk_rename(data, from, to, diag);
}

int record_bury(struct disk *data, const u64 *numbers, u32 nr,
		struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX], gone[FORMAT_NAME_MAX];
	int err = 0;
	u32 i;

	for (i = 0; !err && i < nr; i++) {
		format_snapshot_name(numbers[i], name);
		format_buried_name(numbers[i], gone);
		err = move(data, name, gone, 0, diag);
	}
	/* Also for those that were moved before: that may not have been synced. */
	return err || !nr ? err : disk_sync_dir(data, DIR_SNAPSHOTS, diag);
}

/* A record that has both names is a rename that was cut short: the old name is
 * dropped, or the record would stay buried. */
static int drop(struct disk *data, const char *name, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err = disk_unlink(data, name, &why);

	if (!err || err == -AKIN_E_absent)
		return 0;
	return diag_pass(diag, err, &why);
}

int record_revive(struct disk *data, u64 number, struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX], gone[FORMAT_NAME_MAX];
	int err;

	format_snapshot_name(number, name);
	format_buried_name(number, gone);
	err = move(data, gone, name, -AKIN_E_absent, diag);
	if (err == -AKIN_E_absent)
		return diag_set(diag, err, "data pool: the record of snapshot "
				"%llu is missing", (unsigned long long)number);
	if (!err)
		err = drop(data, gone, diag);
	return err ? err : disk_sync_dir(data, DIR_SNAPSHOTS, diag);
}

int record_remove(struct disk *data, u64 number, struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	int err;

	/* The tombstone last: what is there of a record must not look alive. */
	format_label_name(number, name);
	err = drop(data, name, diag);
	format_snapshot_name(number, name);
	if (!err)
		err = drop(data, name, diag);
	format_buried_name(number, name);
	return err ? err : drop(data, name, diag);
}

int record_write_label(struct disk *data, u64 number, const struct buf *bytes,
		       struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];

	format_label_name(number, name);
	return disk_write_file(data, name, bytes->data, bytes->len, diag);
}

enum record_kind record_parse_name(const char *name, u64 *number_ret)
{
	const char *tail = name + 16;

	*number_ret = 0;
	if (strspn(name, "0123456789abcdef") != 16)
		return RECORD_OTHER;
	*number_ret = strtoull(name, NULL, 16);
	if (!*tail)
		return RECORD_SNAPSHOT;
	if (strcmp(tail, ".gone") == 0)
		return RECORD_BURIED;
	return strcmp(tail, ".label") == 0 ? RECORD_LABEL : RECORD_OTHER;
}
