/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenZFS: what a pool of mirrors, RAID-Z and dRAID can hold.
 *
 * The arithmetic of OpenZFS itself, step by step, in exact integers; see
 * docs/design/capacity.md.
 */
#ifndef CAPACITY_ZFS_H
#define CAPACITY_ZFS_H

#include "capacity_text.h"

#define CAP_ZFS_MAX_GROUPS 16
#define CAP_ZFS_MAX_CHILDREN 255
#define CAP_ZFS_MAX_DISKS 1024		/* of a group times vdevs */
#define CAP_ZFS_MIN_DISK (64 * CAP_MIB)

enum cap_zfs_layout {
	CAP_ZFS_STRIPE, CAP_ZFS_MIRROR, CAP_ZFS_RAIDZ, CAP_ZFS_DRAID,
};

/* Equal top-level vdevs. */
struct cap_zfs_group {
	enum cap_zfs_layout layout;
	unsigned nr_vdevs;
	unsigned children;	/* disks of a vdev */
	unsigned parity;	/* RAID-Z, dRAID */
	unsigned data, spares;	/* dRAID: data disks of a group, spares */
	cap_u128 disk;		/* bytes */
};

struct cap_zfs_config {
	struct cap_zfs_group groups[CAP_ZFS_MAX_GROUPS];
	unsigned nr_groups;
	unsigned ashift;	/* 9 to 16 */
	unsigned slop_shift;	/* 1 to 31 */
	unsigned recordsize;	/* power of two, 512 to 16 MiB */
	cap_u128 disk_loss;	/* of each disk, to partitions */
};

/* One top-level vdev, bytes. */
struct cap_zfs_vdev {
	cap_u128 leaf;		/* of a disk, behind labels */
	cap_u128 asize;
	unsigned ms_shift;
	cap_u128 nr_metaslabs;
	cap_u128 usable;	/* whole metaslabs; parity included */
	unsigned deflate;	/* 512ths of usable that count as space */
	cap_u128 space;		/* after deflation */
};

/* What a block takes, in sectors. */
struct cap_zfs_block {
	unsigned data, parity, padding;
	uint64_t allocated;	/* bytes */
};

struct cap_zfs_pool {
	struct cap_zfs_vdev vdevs[CAP_ZFS_MAX_GROUPS];
	cap_u128 disks;		/* bytes of all disks as sold */
	cap_u128 size;		/* zpool list: SIZE */
	cap_u128 space;		/* deflated */
	cap_u128 slop;
	cap_u128 available;	/* zfs list: AVAIL of the empty pool */
	cap_u128 data;		/* of records of recordsize */
};

/* @bytes > 0, at most 16 MiB. */
void cap_zfs_block(const struct cap_zfs_group *g, unsigned ashift,
		   unsigned bytes, struct cap_zfs_block *out);
/* What zfs shows as used by that many allocated bytes. */
uint64_t cap_zfs_charged(const struct cap_zfs_vdev *v, uint64_t allocated);

/*
 * -1 if a disk of group *bad_ret is too small to have a single metaslab. Groups
 * are valid: at least one vdev, data + parity + spares <= children.
 */
int cap_zfs_calculate(const struct cap_zfs_config *c, struct cap_zfs_pool *out,
		      unsigned *bad_ret);

#endif
