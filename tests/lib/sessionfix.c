/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "sessionfix.h"
#include "store/store.h"

int sf_setup(void **state)
{
	struct simpool *sp = calloc(1, sizeof(*sp));
	struct akin_diag d = { 0 };

	assert_int_equal(simpool_init(sp, &d), 0);
	*state = sp;
	return 0;
}

int sf_teardown(void **state)
{
	struct simpool *sp = *state;

	simpool_free(sp);
	free(sp);
	return 0;
}

int sf_try_open_with(struct simpool *sp, enum akin_engine engine,
		     struct akin_session **out, struct akin_diag *diag)
{
	struct akin_session_options opt = { .version = AKIN_SESSION_VERSION,
					    .host = "h", .program = "test",
					    .engine = engine };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, diag);
	if (err)
		return err;
	err = store_session_on(p, &opt, out, diag);
	if (err)
		akin_pool_close(p);
	return err;
}

int sf_try_open(struct simpool *sp, struct akin_session **out,
		struct akin_diag *diag)
{
	return sf_try_open_with(sp, AKIN_ENGINE_DEFAULT, out, diag);
}

struct akin_session *sf_open(struct simpool *sp)
{
	struct akin_diag d = { 0 };
	struct akin_session *s;

	if (sf_try_open(sp, &s, &d))
		fail_msg("%s", d.text);
	return s;
}

struct akin_object_name sf_name(const char *space, const char *path,
				       const char *name)
{
	struct akin_object_name n = { space, path, name, AKIN_OBJECT_FILE };

	return n;
}

void sf_begin(struct akin_session *s)
{
	struct akin_diag d = { 0 };

	if (akin_txn_begin(s, NULL, &d))
		fail_msg("%s", d.text);
}

u64 sf_commit(struct akin_session *s)
{
	struct akin_txn_result r;
	struct akin_diag d = { 0 };

	if (akin_txn_end(s, AKIN_VOTE_COMMIT, &r, &d) || r.reason)
		fail_msg("reason %d: %s", r.reason, d.text);
	assert_true(r.transaction > 0);
	assert_int_equal(strlen(r.id), 32);
	return r.transaction;
}

int sf_put(struct akin_session *s, const char *space, const char *path,
	       const char *name, const void *data, size_t n,
	       struct akin_object_stats *stats, struct akin_diag *d)
{
	struct akin_object_name on = sf_name(space, path, name);
	struct akin_object obj;
	int err;

	err = akin_object_begin(s, &on, NULL, &obj, d);
	if (!err && n)
		err = akin_object_send(s, obj, data, n, d);
	if (!err)
		err = akin_object_end(s, obj, stats, d);
	return err;
}

void sf_must_put(struct akin_session *s, const char *space,
		     const char *path, const char *name, const void *data,
		     size_t n)
{
	struct akin_diag d = { 0 };

	if (sf_put(s, space, path, name, data, n, NULL, &d))
		fail_msg("%s", d.text);
}

u8 *sf_make(u64 seed, size_t n)
{
	u8 *p = malloc(n + 1);
	struct rng r = { seed };

	rng_fill(&r, p, n);
	return p;
}

/* Is that the object, whole and in every range that is tried? */
void sf_expect(struct akin_session *s, u64 txn, const char *space,
		   const char *path, const char *name, const u8 *want, size_t n)
{
	struct akin_object_name on = sf_name(space, path, name);
	struct rng rng = { n + txn };
	struct akin_diag d = { 0 };
	struct akin_reader *r;
	u8 *got = malloc(n + 16);
	size_t len, done, off;
	int i;

	if (akin_object_open(s, txn, &on, &r, &d))
		fail_msg("%s", d.text);
	assert_int_equal(akin_reader_size(r), n);
	assert_int_equal(akin_reader_read(r, 0, got, n + 16, &done, &d), 0);
	assert_int_equal(done, n);
	assert_memory_equal(got, want, n);
	for (i = 0; i < 8; i++) {
		off = rng_below(&rng, n + 2);
		len = rng_below(&rng, n + 2);
		if (akin_reader_read(r, off, got, len, &done, &d))
			fail_msg("%s", d.text);
		assert_int_equal(done, off >= n ? 0 : min_u64(len, n - off));
		if (done)
			assert_memory_equal(got, want + off, done);
	}
	akin_object_close(r);
	free(got);
}

static int list_one(void *ctx, const struct akin_object_info *i)
{
	struct sf_listing *l = ctx;
	size_t at = strlen(l->text);
	u32 k;

	snprintf(l->text + at, sizeof(l->text) - at, "%s|%s|%s|%d|%llu",
		 i->name.space, i->name.path, i->name.name, i->name.type,
		 (unsigned long long)i->size);
	for (k = 0; k < i->nr_attributes; k++) {
		at = strlen(l->text);
		snprintf(l->text + at, sizeof(l->text) - at, "|%s=%.*s",
			 i->attributes[k].name, (int)i->attributes[k].len,
			 (const char *)i->attributes[k].value);
	}
	at = strlen(l->text);
	snprintf(l->text + at, sizeof(l->text) - at, "\n");
	l->nr++;
	l->size += i->size;
	return 0;
}

struct sf_listing sf_list(struct akin_session *s,
			   const struct akin_object_query *q)
{
	static const struct akin_object_query all;
	struct sf_listing l = { .text = "" };
	struct akin_diag d = { 0 };

	if (akin_object_query(s, q ? q : &all, list_one, &l, &d))
		fail_msg("%s", d.text);
	return l;
}
