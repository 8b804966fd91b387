/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `akin capacity zfs`: from words such as 4xraidz2:6 to space and waste.
 */
#include "capacity_internal.h"
#include "capacity_units.h"
#include "capacity_zfs.h"

#define BLOCK_MAX (16u << 20)
#define NAME_BYTES 48
#define FORMS "stripe, mirror:2, raidz1:5, raidz2:6, raidz3:11, " \
	      "draid2:8d:24c:1s; '4x' in front makes four, '@4TB' behind " \
	      "names their disks"

/* Words ---------------------------------------------------------------------*/

static int bad_vdev(struct akin_diag *diag, const char *word, const char *why)
{
	cap_usage(diag, "'%s': %s", word, why);
	cap_hint(diag, "Possible are %s.", FORMS);
	return -AKIN_E_usage;
}

/* "2" of "draid2:..." or "raidz2:6"; 1 if there is none. */
static unsigned parity_of(const char **s)
{
	if (**s < '1' || **s > '3')
		return 1;
	return (unsigned)(*(*s)++ - '0');
}

/* ":8d:24c:1s" in any order. */
static int parse_draid(const char *word, const char **s,
		       struct cap_zfs_group *g, struct akin_diag *diag)
{
	unsigned v, *to;

	g->layout = CAP_ZFS_DRAID;
	g->parity = parity_of(s);
	g->data = g->children = 0;
	while (**s == ':') {
		++*s;
		if (cap_parse_number(*s, CAP_ZFS_MAX_CHILDREN, &v, s))
			return bad_vdev(diag, word, "a number up to 255 is "
					"missing behind ':'");
		to = **s == 'd' ? &g->data : **s == 'c' ? &g->children :
		     **s == 's' ? &g->spares : NULL;
		if (!to)
			return bad_vdev(diag, word, "dRAID counts d(ata), "
					"c(hildren) and s(pares)");
		*to = v;
		++*s;
	}
	if (!g->children)
		return bad_vdev(diag, word, "how many children? as in :24c");
	if (g->spares > 100 || g->children < g->spares + g->parity + 1)
		return bad_vdev(diag, word, "fewer children than spares, "
				"parity and one data disk (spares: at most "
				"100)");
	/* As zpool does it. */
	v = g->children - g->spares - g->parity;
	if (!g->data)
		g->data = v < 8 ? v : 8;
	if (g->data > v)
		return bad_vdev(diag, word, "fewer children than spares, "
				"parity and data");
	return 0;
}

static int parse_width(const char *word, const char **s, unsigned *out,
		       struct akin_diag *diag)
{
	if (**s != ':')
		return 0;
	++*s;
	if (cap_parse_number(*s, CAP_ZFS_MAX_CHILDREN, out, s) || !*out)
		return bad_vdev(diag, word, "behind ':' stands the number of "
				"disks of a vdev, 1 to 255");
	return 0;
}

static int parse_layout(const char *word, const char **s,
			struct cap_zfs_group *g, struct akin_diag *diag)
{
	const char *rest;
	int err;

	g->children = 0;
	if ((rest = cap_after(*s, "draid"))) {
		*s = rest;
		return parse_draid(word, s, g, diag);
	}
	if ((rest = cap_after(*s, "raidz"))) {
		*s = rest;
		g->layout = CAP_ZFS_RAIDZ;
		g->parity = parity_of(s);
		err = parse_width(word, s, &g->children, diag);
		if (err)
			return err;
		if (g->children <= g->parity)
			return bad_vdev(diag, word, "how many disks has a "
					"vdev? more than it has parity, as in "
					"raidz2:6");
		return 0;
	}
	if ((rest = cap_after(*s, "mirror"))) {
		*s = rest;
		g->layout = CAP_ZFS_MIRROR;
		g->children = 2;
		return parse_width(word, s, &g->children, diag);
	}
	if ((rest = cap_after(*s, "stripe"))) {
		unsigned n = 1;

		*s = rest;
		g->layout = CAP_ZFS_STRIPE;
		g->children = 1;
		err = parse_width(word, s, &n, diag);
		g->nr_vdevs *= n;
		return err;
	}
	return bad_vdev(diag, word, "no layout of ZFS");
}

static int parse_group(const char *word, struct cap_zfs_group *g,
		       struct akin_diag *diag)
{
	const char *s = word, *end;
	int err;

	g->nr_vdevs = 1;
	if (cap_is_digit(*s)) {
		if (cap_parse_number(s, CAP_ZFS_MAX_DISKS, &g->nr_vdevs, &end) ||
		    !g->nr_vdevs || *end != 'x')
			return bad_vdev(diag, word, "in front stands how many "
					"of them, 1x to 1024x");
		s = end + 1;
	}
	err = parse_layout(word, &s, g, diag);
	if (err)
		return err;
	if (g->nr_vdevs * g->children > CAP_ZFS_MAX_DISKS)
		return bad_vdev(diag, word, "more than 1024 disks");
	if (*s == '@') {
		if (cap_parse_size(s + 1, &g->disk))
			return bad_vdev(diag, word, "behind '@' stands the "
					"size of a disk, such as 4TB");
		return 0;
	}
	return *s ? bad_vdev(diag, word, "no layout of ZFS") : 0;
}

static int parse_groups(const struct cap_request *r, struct cap_zfs_config *c,
			struct akin_diag *diag)
{
	struct cap_zfs_group *g;
	cap_u128 disk = 0, sum = 0;
	unsigned i;
	int err;

	err = cap_get_size(r, CAP_DISK, &disk, diag);
	if (err)
		return err;
	if (!r->nr_words || r->nr_words > CAP_ZFS_MAX_GROUPS) {
		cap_usage(diag, r->nr_words ? "more than 16 kinds of vdevs" :
			  "which vdevs?");
		cap_hint(diag, "Possible are %s.", FORMS);
		return -AKIN_E_usage;
	}
	for (i = 0; i < r->nr_words; i++) {
		g = &c->groups[i];
		g->disk = disk;
		err = parse_group(r->words[i], g, diag);
		if (err)
			return err;
		if (!g->disk)
			return cap_usage(diag, "'%s': how large are the disks? "
					 "--disk 4TB, or %s@4TB", r->words[i],
					 r->words[i]);
		sum += g->disk * g->children * g->nr_vdevs;
	}
	c->nr_groups = r->nr_words;
	return sum <= CAP_MAX_SUM ? 0 :
	       cap_usage(diag, "more than 2^90 bytes of disks");
}

static int parse_config(const struct cap_request *r, struct cap_zfs_config *c,
			struct akin_diag *diag)
{
	cap_u128 record = 128 * CAP_KIB;
	int err;

	c->ashift = 12;
	c->slop_shift = 5;
	err = parse_groups(r, c, diag);
	if (!err)
		err = cap_get_count(r, CAP_ASHIFT, 9, 16, &c->ashift, diag);
	if (!err)
		err = cap_get_count(r, CAP_SLOP_SHIFT, 1, 31, &c->slop_shift,
				    diag);
	if (!err)
		err = cap_get_size(r, CAP_RECORDSIZE, &record, diag);
	if (!err)
		err = cap_get_size(r, CAP_DISK_LOSS, &c->disk_loss, diag);
	if (!err && (record < 512 || record > BLOCK_MAX ||
		     (record & (record - 1))))
		err = cap_usage(diag, "--recordsize: %N is no power of two from "
				"512 to 16M", record);
	c->recordsize = (unsigned)record;
	return err;
}

/* Results -------------------------------------------------------------------*/

static void put_group(struct cap_text *t, const struct cap_zfs_group *g)
{
	if (g->nr_vdevs > 1)
		cap_put(t, "%ux", g->nr_vdevs);
	switch (g->layout) {
	case CAP_ZFS_STRIPE:
		cap_put(t, "stripe");
		break;
	case CAP_ZFS_MIRROR:
		cap_put(t, "mirror:%u", g->children);
		break;
	case CAP_ZFS_RAIDZ:
		cap_put(t, "raidz%u:%u", g->parity, g->children);
		break;
	case CAP_ZFS_DRAID:
		cap_put(t, "draid%u:%ud:%uc:%us", g->parity, g->data,
			g->children, g->spares);
		break;
	}
}

static const char *group_name(const struct cap_zfs_group *g,
			      char out[NAME_BYTES])
{
	struct cap_text t;

	cap_text_init(&t, out, NAME_BYTES);
	put_group(&t, g);
	return out;
}

static void explain_asize(struct cap_doc *d, const struct cap_zfs_group *g,
			  const struct cap_zfs_vdev *v)
{
	switch (g->layout) {
	case CAP_ZFS_RAIDZ:
		cap_step(d, "2. raidz: %u x %N B = %N B", g->children, v->leaf,
			 v->asize);
		break;
	case CAP_ZFS_DRAID:
		cap_step(d, "2. draid: (%N B - 32 MiB for expansion) in rows of "
			 "16 MiB x (%u children - %u spares), whole groups of "
			 "(%u + %u) x 16 MiB: %N B", v->leaf, g->children,
			 g->spares, g->data, g->parity, v->asize);
		break;
	default:
		cap_step(d, "2. %s: as large as %s disk: %N B",
			 g->layout == CAP_ZFS_MIRROR ? "mirror" : "stripe",
			 g->layout == CAP_ZFS_MIRROR ? "its smallest" : "the",
			 v->asize);
		break;
	}
}

static void explain_vdev(struct cap_doc *d, const struct cap_zfs_config *c,
			 const struct cap_zfs_group *g,
			 const struct cap_zfs_vdev *v)
{
	char name[NAME_BYTES];
	struct cap_zfs_block b;

	cap_step(d, "%s with disks of %N B:", group_name(g, name), g->disk);
	cap_step(d, "1. a disk: %N B - %N B lost to partitions, rounded down to "
		 "256 KiB, - 4 MiB in front (2 labels, boot block) - 512 KiB "
		 "behind (2 labels) = %N B", g->disk, c->disk_loss, v->leaf);
	explain_asize(d, g, v);
	cap_step(d, "3. metaslabs of 2^%u = %I: %N whole ones%s = %N B",
		 v->ms_shift, CAP_POW2(v->ms_shift), v->nr_metaslabs,
		 g->layout == CAP_ZFS_DRAID ? ", cut to whole rows" : "",
		 v->usable);
	cap_zfs_block(g, c->ashift, 128 * 1024, &b);
	cap_step(d, "4. a block of 128 KiB takes %u data + %u parity + %u "
		 "padding sectors of %u B = %N B", b.data, b.parity, b.padding,
		 1u << c->ashift, cap_n(b.allocated));
	cap_step(d, "5. deflation: 131072 / (%N / 512) = %u of 512; %N B / 512 "
		 "x %u = %N B of space%s", cap_n(b.allocated), v->deflate,
		 v->usable, v->deflate, v->space,
		 g->nr_vdevs > 1 ? " each" : "");
}

static void explain_pool(struct cap_doc *d, const struct cap_zfs_config *c,
			 const struct cap_zfs_pool *p)
{
	unsigned i;

	if (!d->explain)
		return;
	for (i = 0; i < c->nr_groups; i++)
		explain_vdev(d, c, &c->groups[i], &p->vdevs[i]);
	cap_step(d, "6. all vdevs: %N B of space; slop: 1/%u of it, at most 128 "
		 "GiB, at least 128 MiB or half of all = %N B", p->space,
		 1u << c->slop_shift, p->slop);
	cap_step(d, "   available: %N - %N = %N B", p->space, p->slop,
		 p->available);
}

static void show_vdevs(struct cap_doc *d, const struct cap_zfs_config *c,
		       const struct cap_zfs_pool *p)
{
	static const struct cap_column columns[] = {
		{ "vdev", "vdevs", 22, true },
		{ "disk_bytes", "disk", 9, false },
		{ "metaslabs", "metaslabs", 9, false },
		{ "metaslab_bytes", "of", 9, false },
		{ "usable_bytes", "with parity", 11, false },
		{ "deflate_512ths", "/512", 5, false },
		{ "space_bytes", "space each", 10, false },
	};
	const struct cap_zfs_group *g;
	char name[NAME_BYTES];
	unsigned i;

	cap_table(d, "vdev", columns, CAP_ARRAY_SIZE(columns));
	for (i = 0; i < c->nr_groups; i++) {
		g = &c->groups[i];
		cap_cell_text(d, group_name(g, name));
		cap_cell_bytes(d, g->disk);
		cap_cell_count(d, p->vdevs[i].nr_metaslabs);
		cap_cell_bytes(d, CAP_POW2(p->vdevs[i].ms_shift));
		cap_cell_bytes(d, p->vdevs[i].usable);
		cap_cell_count(d, p->vdevs[i].deflate);
		cap_cell_bytes(d, p->vdevs[i].space);
		cap_cell_extra(d, "vdevs", g->nr_vdevs);
		cap_cell_extra(d, "children", g->children);
		cap_cell_extra(d, "parity", g->layout == CAP_ZFS_MIRROR ?
			       g->children - 1 : g->parity);
		cap_cell_extra(d, "spares", g->spares);
		cap_row_end(d);
	}
}

/* Waste by the size of blocks. */
static void show_blocks(struct cap_doc *d, const struct cap_zfs_config *c,
			const struct cap_zfs_group *g,
			const struct cap_zfs_vdev *v)
{
	static const struct cap_column columns[] = {
		{ "vdev", "block of", 22, true },
		{ "block_bytes", "bytes", 9, false },
		{ "data_sectors", "data", 6, false },
		{ "parity_sectors", "parity", 6, false },
		{ "padding_sectors", "padding", 7, false },
		{ "allocated_bytes", "allocated", 10, false },
		{ "data_percent", "data %", 6, false },
	};
	struct cap_zfs_group one = *g;
	unsigned size, most = c->recordsize > 1u << 20 ? c->recordsize : 1u << 20;
	struct cap_zfs_block b;
	char name[NAME_BYTES];

	one.nr_vdevs = 1;
	cap_table(d, "block", columns, CAP_ARRAY_SIZE(columns));
	for (size = 1u << c->ashift; size <= most; size *= 2) {
		cap_zfs_block(g, c->ashift, size, &b);
		cap_cell_text(d, group_name(&one, name));
		cap_cell_bytes(d, size);
		cap_cell_count(d, b.data);
		cap_cell_count(d, b.parity);
		cap_cell_count(d, b.padding);
		cap_cell_bytes(d, b.allocated);
		cap_cell_fixed(d, (cap_u128)size * 100, b.allocated, 1);
		cap_cell_extra(d, "charged_bytes",
			       cap_zfs_charged(v, b.allocated));
		cap_row_end(d);
	}
}

static bool same_blocks(const struct cap_zfs_group *a,
			const struct cap_zfs_group *b)
{
	return a->layout == b->layout && a->children == b->children &&
	       a->parity == b->parity && a->data == b->data;
}

static void show_all_blocks(struct cap_doc *d, const struct cap_zfs_config *c,
			    const struct cap_zfs_pool *p)
{
	unsigned i, j;

	for (i = 0; i < c->nr_groups; i++) {
		for (j = 0; j < i; j++) {
			if (same_blocks(&c->groups[i], &c->groups[j]))
				break;
		}
		if (j == i && c->groups[i].layout >= CAP_ZFS_RAIDZ)
			show_blocks(d, c, &c->groups[i], &p->vdevs[i]);
	}
}

static void show_summary(struct cap_doc *d, const struct cap_zfs_config *c,
			 const struct cap_zfs_pool *p)
{
	char label[64];
	struct cap_text t;

	cap_summary(d, "zfs");
	cap_fact_bytes(d, "disks_bytes", "all disks", p->disks);
	cap_fact_bytes(d, "size_bytes", "zpool SIZE (parity included)",
		       p->size);
	cap_fact_bytes(d, "space_bytes", "space, deflated", p->space);
	cap_fact_bytes(d, "slop_bytes", "slop, kept back", p->slop);
	cap_fact_bytes(d, "available_bytes", "zfs AVAIL, empty pool",
		       p->available);
	cap_fact_fixed(d, "available_tib", NULL, p->available, CAP_TIB, 3, "");
	cap_fact_fixed(d, NULL, "  exactly", p->available, CAP_TIB, 3, " TiB");
	cap_text_init(&t, label, sizeof(label));
	cap_put(&t, "data in records of %I", cap_n(c->recordsize));
	cap_fact_bytes(d, "data_bytes", label, p->data);
	cap_fact_fixed(d, "data_percent", "  of all disks", p->data * 100,
		       p->disks, 1, " %");
	/* Deletes may go into half of the slop, destroys into three
	 * quarters. */
	cap_fact_bytes(d, "slop_delete_bytes", NULL, p->slop / 2);
	cap_fact_bytes(d, "slop_destroy_bytes", NULL, p->slop - p->slop / 4);
	cap_summary_end(d);
}

int cap_run_zfs(const struct cap_request *r, struct cap_doc *d,
		struct akin_diag *diag)
{
	struct cap_zfs_config c = { 0 };
	struct cap_zfs_pool p;
	unsigned bad;
	int err;

	err = parse_config(r, &c, diag);
	if (err)
		return err;
	if (cap_zfs_calculate(&c, &p, &bad))
		return cap_usage(diag, "'%s': disks of %N B are too small; "
				 "64 MiB is the least for most layouts, more "
				 "for wide dRAID", r->words[bad],
				 c.groups[bad].disk);
	explain_pool(d, &c, &p);
	show_vdevs(d, &c, &p);
	show_all_blocks(d, &c, &p);
	show_summary(d, &c, &p);
	return 0;
}
