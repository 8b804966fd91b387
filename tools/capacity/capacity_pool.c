/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of akin's pools; see capacity_pool.h.
 *
 * Only +, -, *, / on doubles: the result is the same on every machine that
 * rounds as IEEE 754 says, in the command and in the page.
 */
#include "capacity_pool.h"

/* Formats (docs/format): a directory has a fingerprint of 32 bytes, a length
 * and a share of a group's row for each chunk; a recipe a fingerprint, type and
 * length, and a share of the nodes above. */
#define DIRECTORY_BYTES 35.0
#define RECIPE_BYTES 36.0
#define LEAF_ENTRIES 48		/* of a recipe's leaf, on average */
/* Header and footer of a container, and its row in the catalog. */
#define CONTAINER_BYTES (8.0 * 1024 * 1024)
#define CONTAINER_FRAME 192.0
#define CONTAINER_ROW 100.0
#define CATALOG_BYTES (2.0 * 1024 * 1024)	/* empty, with its journal */
/* An entry of a run: pages have room for 255, and are begun with 204. */
#define INDEX_BYTES (4096.0 / 204)
/* Chunks of a container that memory should know, so that whatever is in it is
 * found: four, the sampling of the index's design. */
#define HOOKS 4
/* The budget (docs/design/index.md): a fixed part and one for each of four
 * threads; of the rest 5/16 for the index, of that 20/32 for the table, in
 * which a fingerprint takes 20 bytes. */
#define RAM_FIXED (22.0 * 1024 * 1024)
#define RAM_ENTRY (20.0 * 32 / 20 * 16 / 5)

#define CEILING 1237940039285380274899124224.0	/* 2^90 */

static double power(double x, unsigned n)
{
	double v = 1;

	for (; n; n >>= 1) {
		if (n & 1)
			v *= x;
		x *= x;
	}
	return v;
}

double cap_pool_change_compression(const struct cap_pool *p)
{
	return p->change_compression > 0 ? p->change_compression :
					   p->compression;
}

double cap_pool_changed(double share, unsigned n)
{
	return 1 - power(1 - share, n);
}

/* The factor whose 365th power is 1 + growth; between 1 and that. */
void cap_pool_prepare(struct cap_pool *p)
{
	double low = 1, high = 1 + p->growth, mid;
	unsigned i;

	for (i = 0; i < 64; i++) {
		mid = (low + high) / 2;
		if (power(mid, 365) <= 1 + p->growth)
			low = mid;
		else
			high = mid;
	}
	p->growth_per_day = low;
}

/* Ages of kept versions, newest first. */
struct walk {
	const struct cap_keep *keep;
	unsigned class, left, age;
	bool any;
};

static unsigned class_left(const struct cap_keep *k, unsigned class)
{
	return class == 0 ? k->days : class == 1 ? k->weeks :
	       class == 2 ? k->months : k->years;
}

/* False at the end. *gap_ret: days to the one before. */
static bool walk_next(struct walk *w, unsigned *age_ret, unsigned *gap_ret)
{
	static const unsigned spans[] = { 1, 7, 30, 365 };
	unsigned span, next;

	while (!w->left) {
		if (w->class == CAP_ARRAY_SIZE(spans))
			return false;
		w->left = class_left(w->keep, w->class++);
	}
	span = spans[w->class - 1];
	next = w->any ? (w->age / span + 1) * span : 0;
	*gap_ret = next - w->age;
	*age_ret = w->age = next;
	w->any = true;
	w->left--;
	return true;
}

unsigned cap_pool_versions(const struct cap_keep *keep)
{
	return keep->days + keep->weeks + keep->months + keep->years;
}

static double limited(double v, bool *too_much)
{
	if (v < CEILING)
		return v;
	*too_much = true;
	return CEILING;
}

/* Everything that follows from what is held. @entries of recipes are new. */
static void derive(const struct cap_pool *p, double entries,
		   struct cap_pool_need *n)
{
	double containers;

	n->unique = limited(n->unique, &n->too_much);
	n->logical = limited(n->logical, &n->too_much);
	n->older = limited(n->older, &n->too_much);
	n->stored = limited((n->unique - n->older) / p->compression +
			    n->older / cap_pool_change_compression(p),
			    &n->too_much);
	n->chunks = n->unique / p->chunk;
	containers = n->stored / CONTAINER_BYTES + 1;
	n->directories = n->chunks * DIRECTORY_BYTES +
			 containers * CONTAINER_FRAME;
	n->recipes = limited(entries * RECIPE_BYTES, &n->too_much);
	n->disk = limited(n->stored + n->directories + n->recipes,
			  &n->too_much);
	n->index = n->chunks * INDEX_BYTES;
	n->catalog = CATALOG_BYTES + containers * CONTAINER_ROW;
	n->meta_disk = limited(2 * n->index + n->catalog, &n->too_much);
}

void cap_pool_at(const struct cap_pool *p, unsigned day,
		 struct cap_pool_need *out)
{
	struct walk w = { .keep = &p->keep };
	unsigned age, gap, last_gap = 0;
	double changed = 0, leaves = 0, entries = 0, data, x;

	*out = (struct cap_pool_need){ 0 };
	while (walk_next(&w, &age, &gap) && age <= day) {
		data = p->data * power(p->growth_per_day, day - age);
		data = limited(data, &out->too_much);
		if (!out->versions++) {
			out->data = data;
			out->unique = data / p->dedup;
			entries = data / p->chunk;
		} else {
			if (gap != last_gap) {
				changed = cap_pool_changed(p->change, gap);
				x = cap_pool_changed(p->change, LEAF_ENTRIES);
				leaves = cap_pool_changed(x, gap);
				last_gap = gap;
			}
			out->older += data / p->dedup * changed;
			entries += data / p->chunk * leaves;
		}
		out->logical += data;
	}
	out->unique += out->older;
	derive(p, entries, out);
}

bool cap_pool_fits(const struct cap_pool_need *n, double disk, double meta)
{
	if (n->too_much)
		return false;
	if (meta > 0)
		return n->disk <= disk && n->meta_disk <= meta;
	return n->disk + n->meta_disk <= disk;
}

unsigned cap_pool_full(const struct cap_pool *p, double disk, double meta)
{
	unsigned low = 0, high = CAP_POOL_MAX_DAYS, mid;
	struct cap_pool_need n;

	cap_pool_at(p, high, &n);
	if (cap_pool_fits(&n, disk, meta))
		return UINT32_MAX;
	while (low < high) {
		mid = (low + high) / 2;
		cap_pool_at(p, mid, &n);
		if (cap_pool_fits(&n, disk, meta))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

double cap_pool_ram(double chunks, unsigned shift)
{
	return RAM_FIXED + chunks * RAM_ENTRY /
	       (double)((uint64_t)1 << shift);
}

unsigned cap_pool_ram_shift(double chunks, double ram)
{
	unsigned shift = 0;

	while (shift < 63 && cap_pool_ram(chunks, shift) > ram)
		shift++;
	return shift;
}

unsigned cap_pool_hook_shift(unsigned chunk)
{
	unsigned shift = 0;

	while (CONTAINER_BYTES / chunk >= HOOKS * (double)(2u << shift))
		shift++;
	return shift;
}
