/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions when things go wrong: calls in no order at all, no memory, disks
 * that fail, power that does.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "sessionfix.h"

/* Any calls --------------------------------------------------------------- */

#define NR_NAMES 6
#define MODEL_BYTES 4000

/* An object as it ought to be. */
struct model_object {
	bool there, open, lent;
	struct akin_object obj;
	u32 n;
	u8 bytes[MODEL_BYTES];
	void *room;
	size_t room_n;
};

struct model {
	struct akin_session *s;
	struct rng r;
	bool in_txn;
	struct model_object now[NR_NAMES], stored[NR_NAMES];
	struct akin_object old;	/* one that has ended */
	u64 nr_refused, nr_commits;
};

static void model_sent(struct model_object *o, const u8 *data, u32 n)
{
	memcpy(o->bytes + o->n, data, n);
	o->n += n;
}

static int model_begin(struct model *m, struct model_object *o, u32 i,
		       int *want)
{
	char name[] = { (char)('a' + i), 0 };
	struct akin_object_name on = sf_name("s", "p", name);
	struct akin_object obj;
	int err;

	*want = !m->in_txn ? -AKIN_E_sequence :
		o->there ? -AKIN_E_exists : 0;
	err = akin_object_begin(m->s, &on, NULL, &obj, NULL);
	/* As many as can be open are: nothing has happened. */
	if (err == -AKIN_E_too_large && m->in_txn)
		*want = err;
	if (err)
		return err;
	memset(o, 0, sizeof(*o));
	o->there = o->open = true;
	o->obj = obj;
	return 0;
}

static int model_send(struct model *m, struct model_object *o, int *want)
{
	u8 data[500];
	u32 n = (u32)rng_below(&m->r, sizeof(data));
	int err;

	if (o->n + n > MODEL_BYTES)
		n = MODEL_BYTES - o->n;
	rng_fill(&m->r, data, n);
	*want = o->open && !o->lent ? 0 : -AKIN_E_sequence;
	err = akin_object_send(m->s, o->open ? o->obj : m->old, data, n, NULL);
	if (!err)
		model_sent(o, data, n);
	return err;
}

static int model_lend(struct model *m, struct model_object *o, int *want)
{
	int err;

	*want = o->open && !o->lent ? 0 : -AKIN_E_sequence;
	err = akin_object_room(m->s, o->open ? o->obj : m->old, &o->room,
			       &o->room_n, NULL);
	if (!err)
		o->lent = true;
	return err;
}

static int model_fill(struct model *m, struct model_object *o, int *want)
{
	u32 n = (u32)rng_below(&m->r, 300);
	int err;

	*want = o->open && o->lent ? 0 : -AKIN_E_sequence;
	if (!*want) {
		n = (u32)min_u64(min_u64(n, MODEL_BYTES - o->n), o->room_n);
		rng_fill(&m->r, o->room, n);
	}
	err = akin_object_filled(m->s, o->open ? o->obj : m->old, n, NULL);
	if (!err) {
		model_sent(o, o->room, n);
		o->lent = false;
	}
	return err;
}

static int model_end(struct model *m, struct model_object *o, int *want)
{
	struct akin_object_stats st;
	int err;

	*want = o->open && !o->lent ? 0 : -AKIN_E_sequence;
	err = akin_object_end(m->s, o->open ? o->obj : m->old,
			      rng_below(&m->r, 2) ? &st : NULL, NULL);
	if (!err) {
		m->old = o->obj;
		o->open = false;
	}
	return err;
}

static int model_txn(struct model *m, bool commit_it, int *want)
{
	struct akin_txn_result r;
	bool open = false, any = false;
	u32 i;
	int err;

	for (i = 0; i < NR_NAMES; i++) {
		open |= m->now[i].open;
		any |= m->now[i].there;
	}
	if (!m->in_txn && rng_below(&m->r, 2)) {
		*want = 0;
		err = akin_txn_begin(m->s, NULL, NULL);
		m->in_txn = !err;
		return err;
	}
	*want = m->in_txn && !(commit_it && open) ? 0 : -AKIN_E_sequence;
	err = akin_txn_end(m->s, commit_it ? AKIN_VOTE_COMMIT :
			   AKIN_VOTE_ABORT, &r, NULL);
	if (err)
		return err;
	assert_int_equal(r.reason, !commit_it ? AKIN_TXN_ABORTED :
			 !any ? AKIN_TXN_EMPTY : AKIN_TXN_COMMITTED);
	for (i = 0; i < NR_NAMES; i++) {
		if (!r.reason && m->now[i].there)
			m->stored[i] = m->now[i];
	}
	m->nr_commits += !r.reason;
	memset(m->now, 0, sizeof(m->now));
	m->in_txn = false;
	return 0;
}

static void model_check(struct model *m)
{
	char name[2] = { 0 };
	u32 i;

	for (i = 0; i < NR_NAMES; i++) {
		name[0] = (char)('a' + i);
		if (m->stored[i].there)
			sf_expect(m->s, 0, "s", "p", name, m->stored[i].bytes,
			       m->stored[i].n);
	}
}

/* Calls in no order at all: each does what it should or is refused, and what
 * is there at the end is what was committed. */
static void test_any_calls(void **state)
{
	struct model *m = calloc(1, sizeof(*m));
	struct model_object *o;
	int err, want = 0;
	u32 step, i;

	m->s = sf_open(*state);
	m->r.s = 11;
	for (step = 0; step < 4000; step++) {
		i = (u32)rng_below(&m->r, NR_NAMES);
		o = &m->now[i];
		switch (rng_below(&m->r, 40)) {
		case 0 ... 1:
			err = model_txn(m, rng_below(&m->r, 4) > 0, &want);
			break;
		case 2 ... 5:
			err = model_begin(m, o, i, &want);
			break;
		case 6 ... 15:
			err = model_send(m, o, &want);
			break;
		case 16 ... 19:
			err = model_lend(m, o, &want);
			break;
		case 20 ... 27:
			err = model_fill(m, o, &want);
			break;
		default:
			err = model_end(m, o, &want);
		}
		if (err != want)
			fail_msg("step %u: %d, not %d", step, err, want);
		m->nr_refused += err != 0;
	}
	model_check(m);
	akin_session_close(m->s);
	m->s = sf_open(*state);
	model_check(m);
	akin_session_close(m->s);
	assert_true(m->nr_refused > 500);
	assert_true(m->nr_commits > 10);
	free(m);
}

/* Memory and power --------------------------------------------------------- */

/* Two objects in a session of its own; 0 if they are committed. */
static int run_once(struct simpool *sp, const u8 *a, size_t n,
		    struct akin_diag *d)
{
	struct akin_txn_result r = { 0 };
	struct akin_session *s;
	int err, err2;

	err = sf_try_open(sp, &s, d);
	if (err)
		return err;
	err = akin_txn_begin(s, NULL, d);
	if (!err) {
		err = sf_put(s, "s", "p", "a", a, n, NULL, d);
		if (!err)
			err = sf_put(s, "s", "p", "b", a + 1, n - 1, NULL, d);
		err2 = akin_txn_end(s, err ? AKIN_VOTE_ABORT :
				    AKIN_VOTE_COMMIT, &r, d);
		err = err ? err : err2 ? err2 : r.code;
	}
	akin_session_close(s);
	return err;
}

static void test_out_of_memory(void **state)
{
	struct simpool *base = *state, sp;
	struct akin_diag d;
	struct sf_listing l;
	u8 *a = sf_make(7, 20000);
	struct akin_session *s;
	u64 n, nr_failed = 0;
	int err;

	for (n = 1, err = 1; err; n += 1 + n / 12) {
		sp = simpool_clone(base);
		memset(&d, 0, sizeof(d));
		mem_fail_after(n);
		err = run_once(&sp, a, 20000, &d);
		mem_fail_after(0);
		assert_true(err == 0 || err == -AKIN_E_nomem);
		assert_int_equal(err, d.code);
		nr_failed += err != 0;
		s = sf_open(&sp);
		l = sf_list(s, NULL);
		assert_int_equal(l.nr, err ? 0 : 2);
		akin_session_close(s);
		simpool_free(&sp);
	}
	assert_true(nr_failed > 10);
	free(a);
}

/* One operation fails, and the disk is well again. */
static void test_failing_disk(void **state)
{
	struct simpool *base = *state, sp;
	struct sim_fault fault = { .kinds = SIM_MUTATING | SIM_READ };
	u8 *a = sf_make(12, 60000);
	u64 n, nr_failed = 0, struck = 1;
	struct akin_session *s;
	struct akin_diag d;
	u32 there;
	int err;

	for (n = 1; struck; n += 1 + n / 6) {
		sp = simpool_clone(base);
		fault.nth = n;
		fault.code = n % 2 ? -AKIN_E_io : -AKIN_E_nospace;
		simdisk_fail(n % 3 ? sp.data : sp.meta, &fault);
		memset(&d, 0, sizeof(d));
		err = run_once(&sp, a, 60000, &d);
		struck = simdisk_nr_faults(sp.data) +
			 simdisk_nr_faults(sp.meta);
		fault.kinds = 0;
		simdisk_fail(n % 3 ? sp.data : sp.meta, &fault);
		fault.kinds = SIM_MUTATING | SIM_READ;
		nr_failed += err != 0;
		s = sf_open(&sp);
		there = sf_list(s, NULL).nr;
		/* After an error of the last sync nobody can know. */
		assert_true(there == 2 || (there == 0 && err));
		if (there == 2)
			sf_expect(s, 0, "s", "p", "b", a + 1, 59999);
		sf_begin(s);
		sf_must_put(s, "s", "p", "c", a, 100);
		sf_commit(s);
		assert_int_equal(sf_list(s, NULL).nr, there + 1);
		akin_session_close(s);
		simpool_free(&sp);
	}
	assert_true(nr_failed > 5);
	free(a);
}

static void test_power_cuts(void **state)
{
	struct simpool *base = *state, sp, after;
	struct akin_diag d = { 0 };
	struct akin_session *s;
	u64 n, total, nr_there = 0, nr_absent = 0;
	u8 *a = sf_make(8, 60000);
	u32 there;
	int err, mode;

	assert_int_equal(simpool_put(base, "first", a, 100, &d), 0);
	sp = simpool_clone(base);
	total = simdisk_nr_ops(sp.meta);
	assert_int_equal(run_once(&sp, a, 60000, &d), 0);
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	for (n = 1; n <= total + 1; n += n + 20 < total ? 1 + total / 25 : 1) {
		sp = simpool_clone(base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + n);
		memset(&d, 0, sizeof(d));
		err = run_once(&sp, a, 60000, &d);
		for (mode = 0; mode < SIM_NR_MODES; mode++) {
			after = simpool_reboot(&sp, n + (u64)mode, mode);
			s = sf_open(&after);
			there = sf_list(s, NULL).nr;	/* "first", too */
			assert_true(there == 1 || there == 3);
			if (err == 0)
				assert_int_equal(there, 3);
			if (there == 3)
				sf_expect(s, 0, "s", "p", "b", a + 1, 59999);
			nr_there += there == 3;
			nr_absent += there == 1;
			akin_session_close(s);
			simpool_free(&after);
		}
		simpool_free(&sp);
	}
	assert_int_equal(err, 0);
	assert_true(nr_there >= 4 && nr_absent > 20);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_any_calls, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_out_of_memory, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_failing_disk, sf_setup,
						sf_teardown),
		cmocka_unit_test_setup_teardown(test_power_cuts, sf_setup,
						sf_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
