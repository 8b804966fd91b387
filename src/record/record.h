/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the data pool that say what snapshots there are: records,
 * labels, and which of them are buried. docs/format/snapshot.md has the format,
 * docs/design/protocol.md the order in which things become durable.
 *
 *    snapshots/N          the record of a snapshot
 *    snapshots/N.gone     the same, buried: its tombstone
 *    snapshots/N.label    what was changed about it since
 *
 * A tombstone is the record under another name: burying and reviving are one
 * rename each, which is atomic, needs no space on a full disk, and can be
 * undone. Of a snapshot that has both names, N.gone counts: then object stores,
 * whose renames are a copy and a deletion, keep the same promises.
 *
 * Which snapshots may be buried or revived is the catalog's to say, under its
 * write lock; here nothing is decided.
 */
#ifndef RECORD_H
#define RECORD_H

#include "format/format_label.h"
#include "os/disk.h"

/*
 * Tombstones for @nr snapshots, durable on return. Those buried already, and
 * those without a record (nothing to bury: nobody will find them), are fine.
 * After an error some may be buried.
 */
int record_bury(struct disk *data, const u64 *numbers, u32 nr,
		struct akin_diag *diag) __must_check;
/* Void its tombstone, durably. Fine if it has none; -AKIN_E_absent if it has no
 * record. */
int record_revive(struct disk *data, u64 number, struct akin_diag *diag)
	__must_check;
/* Remove what there is of it, label and record, buried or not. Not durable. */
int record_remove(struct disk *data, u64 number, struct akin_diag *diag)
	__must_check;

/* Replace its label, durably: @bytes as label_encode() made them. */
int record_write_label(struct disk *data, u64 number, const struct buf *bytes,
		       struct akin_diag *diag) __must_check;

/* What the name of a file in DIR_SNAPSHOTS stands for. */
enum record_kind {
	RECORD_OTHER,		/* nothing of ours */
	RECORD_SNAPSHOT, RECORD_BURIED, RECORD_LABEL
};
enum record_kind record_parse_name(const char *name, u64 *number_ret);

#endif
