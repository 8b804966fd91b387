/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real pool in a temporary directory and a source tree beside it, for tests
 * that damage pools. All failures are assertions.
 */
#ifndef POOLFIX_H
#define POOLFIX_H

#include "store/store.h"
#include "testlib.h"

#define POOLFIX_FINDINGS 256

struct poolfix_finding {
	int code;
	char text[512];
	char snapshot[33];
	char path[256];
};

struct poolfix {
	const char *top;	/* where temporary directories are made */
	char dir[64];		/* in it; holds pool/ and src/ */
	struct akin_pool *p;
	struct disk *data;	/* read only; outlives reopening */
	/* Of the last check. */
	struct poolfix_finding findings[POOLFIX_FINDINGS];
	u32 nr_findings, nr_remarks;	/* remarks are not kept */
	struct akin_check_result result;
	struct akin_diag diag;
};

/* cmocka's; *state is the fixture. The pool stores raw (no compression), in
 * containers of 1 MiB, and is open. */
int poolfix_setup(void **state);
/* Fixed blocks: chunks lie alike in any pool, whatever its keys. */
int poolfix_setup_fixed(void **state);
int poolfix_teardown(void **state);

/* Fresh caches: what is on disk counts. */
void poolfix_reopen(struct poolfix *fx, bool read_only);
/* src/@name becomes @len bytes of seed @seed; directories are made. */
void poolfix_write(struct poolfix *fx, const char *name, u64 seed, size_t len);
/* Backs up src/; its number. */
u64 poolfix_backup(struct poolfix *fx, bool force);
/* Is src/@name in snapshot @number what poolfix_write put there? The error of
 * reading it otherwise. */
int poolfix_read(struct poolfix *fx, u64 number, const char *name, u64 seed,
		 size_t len);
/* akin_check; fills fx->findings, result and diag. */
int poolfix_check(struct poolfix *fx, const struct akin_check_options *opt);
/* How many findings have @what in their text. */
u32 poolfix_count(const struct poolfix *fx, const char *what);

/* Path of a file of the pool: "data/containers/...". */
void poolfix_path(const struct poolfix *fx, const char *name, char out[256]);
/* One bit of one byte; negative offsets count from the end. */
void poolfix_flip(const struct poolfix *fx, const char *name, long off);
/* The @nth container of @kind in order, as the catalog has it. */
struct catalog_container poolfix_container(struct poolfix *fx, u8 kind,
					   u32 nth);
/* "data/containers/01/..." */
void poolfix_container_name(u64 number, char out[128]);

#endif
