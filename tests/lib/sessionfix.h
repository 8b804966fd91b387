/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions on a lying disk, for tests: what cannot fail there is asserted.
 */
#ifndef SESSIONFIX_H
#define SESSIONFIX_H

#include "simpool.h"
#include "testlib.h"

#define REFUSED(call, error) assert_int_equal(call, -AKIN_E_##error)

/* cmocka's; *state is a struct simpool. */
int sf_setup(void **state);
int sf_teardown(void **state);

int sf_try_open_with(struct simpool *sp, enum akin_engine engine,
		     struct akin_session **out, struct akin_diag *diag);
int sf_try_open(struct simpool *sp, struct akin_session **out,
		struct akin_diag *diag);
struct akin_session *sf_open(struct simpool *sp);

struct akin_object_name sf_name(const char *space, const char *path,
				const char *name);
void sf_begin(struct akin_session *s);
/* Its number. */
u64 sf_commit(struct akin_session *s);
/* A whole object; @stats may be NULL. */
int sf_put(struct akin_session *s, const char *space, const char *path,
	   const char *name, const void *data, size_t n,
	   struct akin_object_stats *stats, struct akin_diag *d);
void sf_must_put(struct akin_session *s, const char *space, const char *path,
		 const char *name, const void *data, size_t n);
/* Random bytes, for free(). */
u8 *sf_make(u64 seed, size_t n);
/* That is the object, whole and in every range that is tried. */
void sf_expect(struct akin_session *s, u64 txn, const char *space,
	       const char *path, const char *name, const u8 *want, size_t n);

struct sf_listing {
	char text[2000];	/* "space|path|name|type|size|KEY=VALUE...\n" */
	u32 nr;
	u64 size;
};
/* @q NULL: everything. */
struct sf_listing sf_list(struct akin_session *s,
			  const struct akin_object_query *q);

#endif
