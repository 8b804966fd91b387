/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool on two lying disks, and the one thing it is for: what was backed up
 * comes back.
 */
#ifndef SIMPOOL_H
#define SIMPOOL_H

#include "akin/akin.h"
#include "simdisk.h"

struct simpool {
	struct simdisk *meta, *data;
	/* How it is opened and backed up to; zeros are the defaults. */
	const struct hash_ops *data_hash;
	enum akin_verify verify;
	int delta_depth;
	enum akin_engine engine;
	size_t memory;
	bool single_writer;
	/* Of the last simpool_put(). */
	struct akin_backup_result result;
	u32 nr_notices;
	char notice[256];	/* the last one */
};

/* Zeroes @sp. Chunks of 1 KiB and containers of 1 MiB, so that little data makes many. */
int simpool_init(struct simpool *sp, struct akin_diag *diag);
void simpool_free(struct simpool *sp);
struct simpool simpool_clone(const struct simpool *sp);
struct simpool simpool_reboot(const struct simpool *sp, u64 seed,
			      enum sim_mode mode);

/* One process: attaches, and akin_pool_close() detaches. */
int simpool_open(struct simpool *sp, bool read_only, struct akin_pool **out,
		 struct akin_diag *diag);

/* The test fails, and says @where, unless a check of every byte finds nothing. */
void simpool_expect_sound(struct simpool *sp, const char *where);

/* Back up @n bytes under @name in a process of its own. */
int simpool_put(struct simpool *sp, const char *name, const void *data,
		size_t n, struct akin_diag *diag);

enum simpool_found { SIMPOOL_ABSENT, SIMPOOL_WHOLE, SIMPOOL_OTHER };
/* The newest snapshot that holds @name, compared with @data. Errors of
 * reading it are returned. */
int simpool_get(struct simpool *sp, const char *name, const void *data,
		size_t n, enum simpool_found *out, struct akin_diag *diag);
/* The same with snapshot @number, whose only name is @name. */
int simpool_get_number(struct simpool *sp, u64 number, const char *name,
		       const void *data, size_t n, enum simpool_found *out,
		       struct akin_diag *diag);
/* How many snapshots the catalog names; negative: an error. */
int simpool_nr_snapshots(struct simpool *sp, struct akin_diag *diag);

/* Bytes with repetition inside and between seeds, and some of their own. */
void simpool_fill(u64 seed, u8 *data, size_t n);

#endif
