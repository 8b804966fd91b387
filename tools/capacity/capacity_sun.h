/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sun Storage 7000: how an appliance lays disks of its JBODs out.
 *
 * The rules were never published. These reproduce every row of the tables that
 * the appliance's engineers printed; see docs/design/capacity.md.
 */
#ifndef CAPACITY_SUN_H
#define CAPACITY_SUN_H

#include "capacity_text.h"

#define CAP_SUN_SLOTS 24	/* of a JBOD; a half JBOD has 12 */
#define CAP_SUN_MAX_JBODS 96	/* of a step */

enum cap_sun_profile {
	CAP_SUN_MIRROR, CAP_SUN_MIRROR3, CAP_SUN_RAIDZ1, CAP_SUN_RAIDZ2,
	CAP_SUN_RAIDZ2_WIDE, CAP_SUN_RAIDZ3_WIDE, CAP_SUN_STRIPE,
	CAP_SUN_NR_PROFILES
};

struct cap_sun_rule {
	const char *name, *text;
	unsigned parity;	/* disks that a vdev can lose, and takes */
	unsigned width_min, width_max;
};
extern const struct cap_sun_rule cap_sun_rules[CAP_SUN_NR_PROFILES];

/* JBODs that were added at the same time: data disks of each, and what else is
 * in it. */
struct cap_sun_step {
	unsigned nr_jbods;
	uint8_t disks[CAP_SUN_MAX_JBODS];
	uint8_t logs[CAP_SUN_MAX_JBODS];	/* not used here */
};

struct cap_sun_layout {
	unsigned width;		/* disks of a vdev; 0: stripe */
	unsigned nr_vdevs;
	unsigned data;		/* disks in vdevs */
	unsigned spares;
	unsigned raw;		/* disks' worth of data */
};

unsigned cap_sun_disks(const struct cap_sun_step *s);
/* Disks that must stay spare. */
unsigned cap_sun_min_spares(unsigned disks);

/*
 * The layout with vdevs of @width; false if there is none: too few disks, or
 * with @nspf (no single point of failure) the loss of a JBOD would lose a vdev.
 */
bool cap_sun_try(const struct cap_sun_step *s, enum cap_sun_profile profile,
		 bool nspf, unsigned width, struct cap_sun_layout *out);
/* The layout that the appliance takes. */
bool cap_sun_allocate(const struct cap_sun_step *s,
		      enum cap_sun_profile profile, bool nspf,
		      struct cap_sun_layout *out);

/* What ZFS leaves of @raw bytes: 63 of 64. As a ratio of bytes. */
static inline cap_u128 cap_sun_usable_x64(cap_u128 raw)
{
	return raw * 63;
}

#endif
