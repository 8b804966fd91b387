/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arithmetic of OpenZFS; see capacity_zfs.h.
 *
 * Space in a RAID-Z or dRAID vdev is counted with parity, and turned into what
 * users see by one fixed ratio, that of a block of 128 KiB (deflation). Blocks
 * of other sizes do better or worse; nobody is told.
 *
 * Not modelled: the metaslab that each large vdev sets apart as its embedded
 * log. It is taken from the space and from the slop, so what is available
 * stays the same unless it is more than half of the slop.
 */
#include "capacity_zfs.h"

#define LABEL (256 * CAP_KIB)
#define FRONT (4 * CAP_MIB)		/* two labels and the boot block */
#define BACK (2 * LABEL)
#define DRAID_REFLOW (32 * CAP_MIB)	/* at the end of each child */
#define DRAID_ROW (16 * CAP_MIB)
#define DEFLATE_BLOCK (128 * 1024u)
#define SLOP_MAX (128 * CAP_GIB)
#define SLOP_MIN (128 * CAP_MIB)

#define MS_COUNT_MIN 16
#define MS_COUNT_DEFAULT 200
#define MS_COUNT_LIMIT 131072
#define MS_SHIFT_MIN 24			/* the largest block must fit */
#define MS_SHIFT_DEFAULT 29
#define MS_SHIFT_MAX 34

static unsigned bit_length(cap_u128 v)
{
	unsigned n = 0;

	for (; v; v >>= 1)
		n++;
	return n;
}

void cap_zfs_block(const struct cap_zfs_group *g, unsigned ashift,
		   unsigned bytes, struct cap_zfs_block *out)
{
	unsigned d = (unsigned)(((uint64_t)bytes + (1u << ashift) - 1) >>
				ashift);
	unsigned columns, rows, sum;

	*out = (struct cap_zfs_block){ .data = d };
	if (g->layout == CAP_ZFS_RAIDZ) {
		columns = g->children - g->parity;
		rows = (d + columns - 1) / columns;
		out->parity = rows * g->parity;
		/* Nothing smaller than a minimal block may stay between two
		 * blocks: it could never be used. */
		sum = d + out->parity;
		out->padding = (g->parity + 1 - sum % (g->parity + 1)) %
			       (g->parity + 1);
	} else if (g->layout == CAP_ZFS_DRAID) {
		rows = (d + g->data - 1) / g->data;
		out->parity = rows * g->parity;
		out->padding = rows * g->data - d;
	}
	out->allocated = (uint64_t)(d + out->parity + out->padding) << ashift;
}

uint64_t cap_zfs_charged(const struct cap_zfs_vdev *v, uint64_t allocated)
{
	return allocated / 512 * v->deflate;
}

static cap_u128 leaf_size(cap_u128 disk, cap_u128 loss)
{
	cap_u128 size = disk > loss ? disk - loss : 0;

	size -= size % LABEL;
	return size > FRONT + BACK ? size - FRONT - BACK : 0;
}

static cap_u128 draid_asize(const struct cap_zfs_group *g, cap_u128 leaf)
{
	cap_u128 group = (g->data + g->parity) * DRAID_ROW, sum;

	if (leaf < DRAID_REFLOW)
		return 0;
	leaf = (leaf - DRAID_REFLOW) / DRAID_ROW * DRAID_ROW;
	sum = leaf * (g->children - g->spares);
	return sum - sum % group;
}

static cap_u128 vdev_asize(const struct cap_zfs_group *g, cap_u128 leaf)
{
	switch (g->layout) {
	case CAP_ZFS_RAIDZ:
		return leaf * g->children;
	case CAP_ZFS_DRAID:
		return draid_asize(g, leaf);
	default:
		return leaf;
	}
}

static unsigned metaslab_shift(cap_u128 asize)
{
	cap_u128 count = asize >> MS_SHIFT_DEFAULT;
	unsigned shift = MS_SHIFT_DEFAULT;

	if (count < MS_COUNT_MIN)
		shift = bit_length(asize / MS_COUNT_MIN);
	else if (count > MS_COUNT_DEFAULT)
		shift = bit_length(asize / MS_COUNT_DEFAULT);
	if (shift < MS_SHIFT_MIN)
		return MS_SHIFT_MIN;
	if (shift <= MS_SHIFT_MAX)
		return shift;
	if (asize >> MS_SHIFT_MAX > MS_COUNT_LIMIT)
		return bit_length(asize / MS_COUNT_LIMIT);
	return MS_SHIFT_MAX;
}

/* Metaslabs of dRAID begin and end at whole rows of a group. */
static cap_u128 draid_usable(const struct cap_zfs_group *g, unsigned ashift,
			     const struct cap_zfs_vdev *v)
{
	cap_u128 row = (cap_u128)(g->data + g->parity) << ashift;
	cap_u128 size = CAP_POW2(v->ms_shift), i, start, skip, sum = 0;

	for (i = 0; i < v->nr_metaslabs; i++) {
		start = i << v->ms_shift;
		skip = (row - start % row) % row;
		sum += (size - skip) / row * row;
	}
	return sum;
}

static void calculate_vdev(const struct cap_zfs_config *c,
			   const struct cap_zfs_group *g,
			   struct cap_zfs_vdev *v)
{
	struct cap_zfs_block b;

	v->leaf = leaf_size(g->disk, c->disk_loss);
	v->asize = vdev_asize(g, v->leaf);
	v->ms_shift = metaslab_shift(v->asize);
	v->nr_metaslabs = v->asize >> v->ms_shift;
	if (g->layout == CAP_ZFS_DRAID)
		v->usable = draid_usable(g, c->ashift, v);
	else
		v->usable = v->nr_metaslabs << v->ms_shift;
	cap_zfs_block(g, c->ashift, DEFLATE_BLOCK, &b);
	v->deflate = (unsigned)(DEFLATE_BLOCK / (b.allocated / 512));
	v->space = v->usable / 512 * v->deflate;
}

static cap_u128 slop_of(cap_u128 space, unsigned shift)
{
	cap_u128 slop = space >> shift, least = space / 2;

	if (slop > SLOP_MAX)
		slop = SLOP_MAX;
	if (least > SLOP_MIN)
		least = SLOP_MIN;
	return slop > least ? slop : least;
}

int cap_zfs_calculate(const struct cap_zfs_config *c, struct cap_zfs_pool *out,
		      unsigned *bad_ret)
{
	const struct cap_zfs_group *g;
	struct cap_zfs_block b;
	struct cap_zfs_vdev *v;
	cap_u128 data = 0;
	unsigned i;

	*out = (struct cap_zfs_pool){ 0 };
	for (i = 0; i < c->nr_groups; i++) {
		g = &c->groups[i];
		v = &out->vdevs[i];
		calculate_vdev(c, g, v);
		if (!v->nr_metaslabs || !v->space) {
			*bad_ret = i;
			return -1;
		}
		out->disks += g->disk * g->children * g->nr_vdevs;
		out->size += v->usable * g->nr_vdevs;
		out->space += v->space * g->nr_vdevs;
		cap_zfs_block(g, c->ashift, c->recordsize, &b);
		data += v->usable / b.allocated * c->recordsize * g->nr_vdevs;
	}
	out->slop = slop_of(out->space, c->slop_shift);
	out->available = out->space - out->slop;
	/* The same share stays free, whatever the blocks are. */
	out->data = data - (data >> 1) * out->slop / out->space * 2;
	return 0;
}
