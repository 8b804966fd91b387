/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts of the Sun Storage 7000; see capacity_sun.h.
 */
#include "capacity_sun.h"

/* Up to here one spare is enough: the tables for 11, 12 and 24 disks have one,
 * those from 72 on at least four. What lies between is not known. */
#define FEW_DISKS 24
#define MIN_SPARES 4
/* No published row tells widths from 55 to 66 apart. */
#define WIDE_MAX 64

const struct cap_sun_rule cap_sun_rules[CAP_SUN_NR_PROFILES] = {
	[CAP_SUN_MIRROR] = { "mirror", "mirrored", 1, 2, 2 },
	[CAP_SUN_MIRROR3] = { "mirror3", "triple mirrored", 2, 3, 3 },
	[CAP_SUN_RAIDZ1] = { "raidz1", "single parity, narrow stripes",
			     1, 4, 4 },
	[CAP_SUN_RAIDZ2] = { "raidz2", "double parity", 2, 3, 14 },
	[CAP_SUN_RAIDZ2_WIDE] = { "raidz2 wide", "double parity, wide stripes",
				  2, 3, WIDE_MAX },
	[CAP_SUN_RAIDZ3_WIDE] = { "raidz3 wide", "triple parity, wide stripes",
				  3, 4, WIDE_MAX },
	[CAP_SUN_STRIPE] = { "stripe", "striped", 0, 0, 0 },
};

unsigned cap_sun_disks(const struct cap_sun_step *s)
{
	unsigned i, n = 0;

	for (i = 0; i < s->nr_jbods; i++)
		n += s->disks[i];
	return n;
}

unsigned cap_sun_min_spares(unsigned disks)
{
	return disks <= FEW_DISKS ? 1 : MIN_SPARES;
}

/* Can the vdevs be spread so that none has more than @parity disks in one
 * JBOD? Each JBOD gives at most that many to each vdev. */
static bool survives_jbod(const struct cap_sun_step *s, unsigned parity,
			  unsigned width, unsigned nr_vdevs)
{
	unsigned i, places = 0, most = nr_vdevs * parity;

	if (width > parity * s->nr_jbods)
		return false;
	for (i = 0; i < s->nr_jbods; i++)
		places += s->disks[i] < most ? s->disks[i] : most;
	return places >= nr_vdevs * width;
}

static bool try_stripe(unsigned disks, bool nspf, struct cap_sun_layout *out)
{
	if (nspf || !disks)
		return false;
	*out = (struct cap_sun_layout){ .nr_vdevs = disks, .data = disks,
					.raw = disks };
	return true;
}

bool cap_sun_try(const struct cap_sun_step *s, enum cap_sun_profile profile,
		 bool nspf, unsigned width, struct cap_sun_layout *out)
{
	const struct cap_sun_rule *rule = &cap_sun_rules[profile];
	unsigned disks = cap_sun_disks(s), spares = cap_sun_min_spares(disks);
	unsigned v;

	if (profile == CAP_SUN_STRIPE)
		return try_stripe(disks, nspf, out);
	if (width < rule->width_min || width > rule->width_max ||
	    disks < spares + width)
		return false;
	v = (disks - spares) / width;
	if (nspf && (s->nr_jbods < 2 ||
		     !survives_jbod(s, rule->parity, width, v)))
		return false;
	out->width = width;
	out->nr_vdevs = v;
	out->data = v * width;
	out->spares = disks - out->data;
	out->raw = v * (width - rule->parity);
	return true;
}

/* Most data; of equals, fewest spares; of these, the narrowest. */
bool cap_sun_allocate(const struct cap_sun_step *s,
		      enum cap_sun_profile profile, bool nspf,
		      struct cap_sun_layout *out)
{
	const struct cap_sun_rule *rule = &cap_sun_rules[profile];
	struct cap_sun_layout one;
	bool found = false;
	unsigned w;

	for (w = rule->width_min; w <= rule->width_max; w++) {
		if (!cap_sun_try(s, profile, nspf, w, &one))
			continue;
		if (!found || one.raw > out->raw ||
		    (one.raw == out->raw && one.spares < out->spares))
			*out = one;
		found = true;
	}
	return found;
}
