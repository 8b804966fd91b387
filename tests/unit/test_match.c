/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backups that compare: fingerprints that collide (with a hash of eight bits),
 * copies that cannot be read, disks that write something else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "ingest/stream.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"
#include "weakhash.h"

/* Some hundred chunks: enough that fingerprints collide, and not so many that
 * 256 of them are used up. */
#define BYTES (120 * 1024)

static void init(struct simpool *sp, enum akin_verify verify)
{
	struct akin_diag d = { 0 };

	if (simpool_init(sp, &d))
		fail_msg("%s", d.text);
	sp->verify = verify;
}

static void put(struct simpool *sp, const char *name, const u8 *data)
{
	struct akin_diag d = { 0 };

	if (simpool_put(sp, name, data, BYTES, &d))
		fail_msg("put %s: %s", name, d.text);
}

static enum simpool_found found(struct simpool *sp, const char *name,
				const u8 *data)
{
	struct akin_diag d = { 0 };
	enum simpool_found f;

	if (simpool_get(sp, name, data, BYTES, &f, &d))
		fail_msg("get %s: %s", name, d.text);
	return f;
}

static u8 *fill(u64 seed)
{
	u8 *data = malloc(BYTES);
	struct rng r = { seed };

	rng_fill(&r, data, BYTES);
	return data;
}

static void on_finding(void *ctx, int code, const char *text,
		       const char *snapshot, const char *path)
{
	if (code)
		fail_msg("%s", text);
}

/* Every byte is compared with its fingerprint, salted or not. */
static void check_all(struct simpool *sp)
{
	struct akin_check_options opt = { .read_data = true,
					  .finding = on_finding };
	struct akin_check_result result;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	assert_int_equal(simpool_open(sp, false, &p, &d), 0);
	if (akin_check(p, &opt, &result, &d))
		fail_msg("%s", d.text);
	akin_pool_close(p);
}

static void rebuild_index(struct simpool *sp)
{
	struct akin_index_options opt = { 0 };
	struct akin_index_result result;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	assert_int_equal(simpool_open(sp, false, &p, &d), 0);
	if (akin_index_rebuild(p, &opt, &result, &d))
		fail_msg("%s", d.text);
	akin_pool_close(p);
}

static u64 nr_damaged(struct simpool *sp)
{
	struct akin_stats s = { 0 };
	struct akin_pool *p;

	assert_int_equal(simpool_open(sp, true, &p, NULL), 0);
	assert_int_equal(akin_stats(p, &s, NULL), 0);
	akin_pool_close(p);
	return s.damaged;
}

/* Without a comparison this hash loses data; so the other tests test. */
static void test_trust_is_misplaced(void **state)
{
	enum simpool_found f;
	u8 *a = fill(1);
	struct simpool sp;

	init(&sp, AKIN_VERIFY_OFF);
	sp.data_hash = &weakhash_ops;
	put(&sp, "a", a);
	assert_int_equal(sp.result.chunks_compared, 0);
	assert_int_equal(sp.result.chunks_collided, 0);
	assert_true(simpool_get(&sp, "a", a, BYTES, &f, NULL) ||
		    f == SIMPOOL_OTHER);
	simpool_free(&sp);
	free(a);
}

static void test_collisions_are_stored_apart(void **state)
{
	u8 *a = fill(1), *b = fill(2);
	u64 collided;
	struct simpool sp;
	int i;

	init(&sp, AKIN_VERIFY_MATCH);
	sp.data_hash = &weakhash_ops;
	put(&sp, "a", a);
	assert_int_equal(sp.result.chunks_new, sp.result.chunks);
	assert_true(sp.result.chunks_collided > 0);
	assert_true(sp.nr_notices > 0);
	assert_non_null(strstr(sp.notice, "stored apart, with salt "));
	assert_int_equal(found(&sp, "a", a), SIMPOOL_WHOLE);
	put(&sp, "b", b);
	assert_int_equal(sp.result.chunks_new, sp.result.chunks);
	collided = sp.result.chunks_collided;
	assert_true(collided > sp.result.chunks / 8);
	/* Later backups match each, whichever way it is found. */
	for (i = 0; i < 3; i++) {
		put(&sp, "b", b);
		assert_int_equal(sp.result.chunks_new, 0);
		assert_true(sp.result.chunks_collided >= collided);
		assert_int_equal(sp.nr_notices, 0);
		assert_true(sp.result.chunks_compared > sp.result.chunks);
		put(&sp, "a", a);
		assert_int_equal(sp.result.chunks_new, 0);
		if (i == 0)
			rebuild_index(&sp);
		check_all(&sp);
	}
	assert_int_equal(found(&sp, "a", a), SIMPOOL_WHOLE);
	assert_int_equal(found(&sp, "b", b), SIMPOOL_WHOLE);
	assert_int_equal(nr_damaged(&sp), 0);
	simpool_free(&sp);
	free(a);
	free(b);
}

/* Forget the first snapshot and copy what the others need of its containers. */
static void reclaim(struct simpool *sp)
{
	const uint64_t first = 1;
	struct akin_forget_options fopt = { .snapshots = &first,
					    .nr_snapshots = 1 };
	struct akin_gc_options gopt = { .threshold = 1 };
	struct akin_forget_result forgot;
	struct akin_gc_result freed;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	assert_int_equal(simpool_open(sp, false, &p, &d), 0);
	if (akin_forget(p, &fopt, &forgot, &d) ||
	    akin_gc(p, &gopt, &freed, &d))
		fail_msg("%s", d.text);
	assert_int_equal(forgot.forgotten, 1);
	assert_true(freed.copied_containers > 0);
	akin_pool_close(p);
}

/* A new generation of a container keeps the salts. */
static void test_salts_survive_a_copy(void **state)
{
	struct akin_diag d = { 0 };
	enum simpool_found f;
	u8 *a = fill(9);
	struct simpool sp;

	init(&sp, AKIN_VERIFY_MATCH);
	sp.data_hash = &weakhash_ops;
	put(&sp, "a", a);
	assert_true(sp.result.chunks_collided > 0);
	assert_int_equal(simpool_put(&sp, "half", a, BYTES / 2, &d), 0);
	assert_true(sp.result.chunks_new <= 1);
	reclaim(&sp);
	check_all(&sp);
	assert_int_equal(simpool_get(&sp, "half", a, BYTES / 2, &f, &d), 0);
	assert_int_equal(f, SIMPOOL_WHOLE);
	put(&sp, "a", a);
	assert_true(sp.result.chunks_new < sp.result.chunks);
	assert_int_equal(sp.result.chunks_unreadable, 0);
	assert_int_equal(found(&sp, "a", a), SIMPOOL_WHOLE);
	simpool_free(&sp);
	free(a);
}

/* 256 fingerprints, then none is left: an error, not a wrong match. */
static void test_no_fingerprint_left(void **state)
{
	struct akin_diag d = { 0 };
	enum simpool_found f;
	struct simpool sp;
	size_t n = 600 * 1024;
	u8 *data = malloc(n);
	struct rng r = { 3 };

	rng_fill(&r, data, n);
	init(&sp, AKIN_VERIFY_MATCH);
	sp.data_hash = &weakhash_ops;
	assert_int_equal(simpool_put(&sp, "a", data, n, &d),
			 -AKIN_E_internal);
	assert_non_null(strstr(d.text, "256 chunks with one fingerprint"));
	assert_int_equal(simpool_get(&sp, "a", data, n, &f, NULL), 0);
	assert_int_equal(f, SIMPOOL_ABSENT);
	simpool_free(&sp);
	free(data);
}

/* The largest container: what the first backup stored. */
static void data_container(struct simpool *sp, char out[FORMAT_NAME_MAX])
{
	struct sim_name *names;
	size_t nr, i;
	u64 largest = 0;

	names = simdisk_names(sp->data, &nr);
	for (i = 0; i < nr; i++) {
		if (strncmp(names[i].path, "containers/", 11) ||
		    names[i].is_dir || names[i].size_bytes <= largest)
			continue;
		largest = names[i].size_bytes;
		snprintf(out, FORMAT_NAME_MAX, "%s", names[i].path);
	}
	simdisk_names_free(names, nr);
	assert_true(largest > BYTES / 2);
}

static void test_damaged_copy_is_stored_anew(void **state)
{
	char name[FORMAT_NAME_MAX];
	u8 *a = fill(4);
	struct simpool sp;

	init(&sp, AKIN_VERIFY_MATCH);
	put(&sp, "a", a);
	assert_int_equal(sp.result.chunks_new, sp.result.chunks);
	data_container(&sp, name);
	simdisk_flip_bit(sp.data, name, BYTES / 2, 3);
	/* Who trusts fingerprints does not notice. */
	sp.verify = AKIN_VERIFY_OFF;
	put(&sp, "b", a);
	assert_int_equal(sp.result.chunks_new, 0);
	sp.verify = AKIN_VERIFY_MATCH;
	put(&sp, "c", a);
	assert_true(sp.result.chunks_unreadable > 0);
	assert_true(sp.nr_notices > 0);
	assert_non_null(strstr(sp.notice, "stored anew"));
	assert_int_equal(sp.result.chunks_new, sp.result.chunks_unreadable);
	assert_int_equal(nr_damaged(&sp), sp.result.chunks_unreadable);
	assert_int_equal(found(&sp, "c", a), SIMPOOL_WHOLE);
	/* And the old snapshots are whole again. */
	assert_int_equal(found(&sp, "a", a), SIMPOOL_WHOLE);
	put(&sp, "d", a);
	assert_int_equal(sp.result.chunks_new, 0);
	assert_int_equal(sp.result.chunks_unreadable, 0);
	simpool_free(&sp);
	free(a);
}

/* One read after the other fails while chunks are compared. */
static void test_reads_fail_while_comparing(void **state)
{
	struct sim_fault f = { .kinds = SIM_READ | SIM_OPEN,
			       .code = -AKIN_E_io, .name = "containers/" };
	struct simpool base, sp;
	u64 n, struck, anew = 0;
	u8 *a = fill(5);

	init(&base, AKIN_VERIFY_MATCH);
	put(&base, "a", a);
	for (n = 1, struck = 1; struck; n++) {
		sp = simpool_clone(&base);
		f.nth = n;
		simdisk_fail(sp.data, &f);
		put(&sp, "b", a);
		struck = simdisk_nr_faults(sp.data);
		anew += sp.result.chunks_new;
		simdisk_fail(sp.data, &(struct sim_fault){ 0 });
		assert_int_equal(found(&sp, "a", a), SIMPOOL_WHOLE);
		assert_int_equal(found(&sp, "b", a), SIMPOOL_WHOLE);
		simpool_free(&sp);
		assert_true(n < 1000);
	}
	assert_true(n > 3);
	assert_true(anew > 0);
	simpool_free(&base);
	free(a);
}

static void test_allocations_fail(void **state)
{
	struct simpool base, sp;
	struct akin_diag d;
	u8 *a = fill(6);
	u64 n, total;
	int err;

	init(&base, AKIN_VERIFY_WRITE);
	base.data_hash = &weakhash_ops;
	put(&base, "a", a);
	sp = simpool_clone(&base);
	total = mem_nr_allocs();
	put(&sp, "b", a);
	total = mem_nr_allocs() - total;
	simpool_free(&sp);
	for (n = 1; n < total; n += 1 + n / 16) {
		memset(&d, 0, sizeof(d));
		sp = simpool_clone(&base);
		mem_fail_after(n);
		err = simpool_put(&sp, "b", a, BYTES, &d);
		mem_fail_after(0);
		if (err) {
			assert_int_equal(err, -AKIN_E_nomem);
			assert_true(d.text[0] != 0);
		}
		assert_int_equal(found(&sp, "a", a), SIMPOOL_WHOLE);
		put(&sp, "b", a);
		assert_int_equal(found(&sp, "b", a), SIMPOOL_WHOLE);
		simpool_free(&sp);
	}
	simpool_free(&base);
	free(a);
}

/* Each write to a container in turn lies. */
static void test_reading_back_notices(void **state)
{
	struct sim_fault f = { .kinds = SIM_WRITE, .name = "containers/" };
	struct simpool base, sp;
	struct akin_diag d;
	u64 n, struck;
	u8 *a = fill(7);
	int err;

	init(&base, AKIN_VERIFY_WRITE);
	for (n = 1;; n++) {
		memset(&d, 0, sizeof(d));
		sp = simpool_clone(&base);
		f.nth = n;
		simdisk_fail(sp.data, &f);
		err = simpool_put(&sp, "a", a, BYTES, &d);
		struck = simdisk_nr_faults(sp.data);
		simdisk_fail(sp.data, &(struct sim_fault){ 0 });
		if (!struck)
			break;
		assert_int_equal(akin_error_class(err), AKIN_CLASS_CORRUPT);
		assert_non_null(strstr(d.text, "read back after writing"));
		assert_int_equal(found(&sp, "a", a), SIMPOOL_ABSENT);
		/* The disk has got better. */
		put(&sp, "a", a);
		check_all(&sp);
		simpool_free(&sp);
	}
	assert_int_equal(err, 0);
	assert_true(n > 3);
	assert_int_equal(found(&sp, "a", a), SIMPOOL_WHOLE);
	simpool_free(&sp);
	/* The same lie, and nobody asks. */
	sp = simpool_clone(&base);
	sp.verify = AKIN_VERIFY_MATCH;
	f.nth = 1;
	simdisk_fail(sp.data, &f);
	put(&sp, "a", a);
	assert_int_equal(simdisk_nr_faults(sp.data), 1);
	simpool_free(&sp);
	simpool_free(&base);
	free(a);
}

/* A pool's own setting counts where a backup says nothing. */
static void test_pool_decides(void **state)
{
	u8 *a = fill(8);
	struct akin_pool_info info;
	struct akin_pool *p;
	struct simpool sp;

	init(&sp, AKIN_VERIFY_DEFAULT);
	put(&sp, "a", a);
	put(&sp, "b", a);
	assert_int_equal(sp.result.chunks_compared, 0);
	assert_int_equal(simpool_open(&sp, true, &p, NULL), 0);
	akin_pool_get_info(p, &info);
	assert_int_equal(info.verify, AKIN_VERIFY_OFF);
	akin_pool_close(p);
	sp.verify = (enum akin_verify)17;
	assert_int_equal(simpool_put(&sp, "c", a, BYTES, NULL),
			 -AKIN_E_usage);
	simpool_free(&sp);
	free(a);
}

/* One stream, in one session, with a group cache of no size at all. */
struct repeats {
	struct simpool sp;
	struct akin_pool *p;
	struct session *s;
	struct ingest_stream *st;
};

static void repeats_open(struct repeats *w, enum super_verify verify)
{
	struct session_options opt = { .lock = store_lock_session,
				       .verify = verify };
	struct ingest_options iopt = { 0 };

	init(&w->sp, AKIN_VERIFY_MATCH);
	assert_int_equal(simpool_open(&w->sp, false, &w->p, NULL), 0);
	opt.lock_ctx = w->p;
	assert_int_equal(session_begin(&w->p->depot, w->p->catalog, &opt,
				       &w->s, NULL), 0);
	w->p->reserve_session = session_number(w->s);
	assert_int_equal(ingest_stream_open(w->s, &iopt, &w->st, NULL), 0);
}

static void repeats_close(struct repeats *w)
{
	assert_int_equal(ingest_stream_close(w->st, NULL), 0);
	store_unlock_session(w->p, session_number(w->s));
	session_free(w->s);
	akin_pool_close(w->p);
	simpool_free(&w->sp);
}

struct settled {
	struct work work;
	atomic_bool done;
};

static void settle_run(struct work *work, void *thread_ctx)
{
	atomic_store(&container_of(work, struct settled, work)->done, true);
}

/* There is one worker: what was queued before has been compressed. */
static void settle(struct repeats *w)
{
	struct settled s = { .work.run = settle_run };

	workers_queue(w->p->depot.workers, &s.work);
	while (!atomic_load(&s.done))
		usleep(100);
}

static void feed(struct repeats *w, const u8 *data, size_t n)
{
	struct akin_diag d = { 0 };

	assert_int_equal(ingest_object_begin(w->st, &d), 0);
	assert_int_equal(ingest_write(w->st, data, n, &d), 0);
	assert_int_equal(ingest_object_end(w->st, NULL, &d), 0);
	assert_int_equal(ingest_drain(w->st, &d), 0);
}

/*
 * What repeats in a stream is compared wherever the first one is: in the open
 * group, in a group that is being compressed, in the file of a container that
 * is still open, in a sealed one.
 */
static void test_repeats_in_a_stream(void **state)
{
	static const size_t distances[] = { 4096, 100000, 400000, 900000,
					    3000000 };
	size_t n = 3000000, k;
	struct session_stats st;
	struct ingest_counts before, after;
	u8 *data = malloc(n);
	struct repeats w;
	int i;

	for (i = 0; i < 4; i++) {
		repeats_open(&w, i < 2 ? SUPER_VERIFY_MATCH :
					 SUPER_VERIFY_WRITE);
		if (i % 2)
			groupcache_set_budget(w.p->depot.groups, 0);
		for (k = 0; k < ARRAY_SIZE(distances); k++) {
			struct rng r = { 100 + k };

			rng_fill(&r, data, distances[k]);
			feed(&w, data, distances[k]);
			settle(&w);
			ingest_get_counts(w.st, &before);
			feed(&w, data, distances[k]);
			ingest_get_counts(w.st, &after);
			assert_int_equal(after.chunks_new, before.chunks_new);
		}
		session_get_stats(w.s, &st);
		assert_true(st.chunks_compared * 2 >= after.chunks);
		assert_int_equal(st.chunks_collided, 0);
		assert_int_equal(st.chunks_unreadable, 0);
		repeats_close(&w);
	}
	free(data);
}

/* Which groups of container 1 are decoded, a bit for each. */
static u32 decoded(struct repeats *w)
{
	const struct group_data *g;
	u32 i, set = 0;

	settle(w);
	for (i = 0; i < 8; i++) {
		g = groupcache_find(w->p->depot.groups, 1, i);
		if (!g)
			continue;
		set |= 1U << i;
		groupcache_put(w->p->depot.groups, g);
	}
	return set;
}

/*
 * A batch that goes on where the one before ended has the groups behind it
 * decoded, as many as it needed itself; none in any other order. (Groups are of
 * 128 KiB, a container of eight.)
 */
static void test_decoding_ahead(void **state)
{
	const size_t n = 3000000, piece = 100000;
	struct rng r = { 5 };
	u8 *data = malloc(n);
	struct repeats w;

	repeats_open(&w, SUPER_VERIFY_MATCH);
	rng_fill(&r, data, n);
	feed(&w, data, n);
	settle(&w);
	groupcache_clear(w.p->depot.groups);
	feed(&w, data + 5 * piece, piece);
	assert_int_equal(decoded(&w), 0x18);
	feed(&w, data, piece);
	assert_int_equal(decoded(&w), 0x19);
	feed(&w, data + piece, piece);
	assert_int_equal(decoded(&w), 0x1f);
	repeats_close(&w);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trust_is_misplaced),
		cmocka_unit_test(test_collisions_are_stored_apart),
		cmocka_unit_test(test_salts_survive_a_copy),
		cmocka_unit_test(test_no_fingerprint_left),
		cmocka_unit_test(test_damaged_copy_is_stored_anew),
		cmocka_unit_test(test_reads_fail_while_comparing),
		cmocka_unit_test(test_allocations_fail),
		cmocka_unit_test(test_reading_back_notices),
		cmocka_unit_test(test_pool_decides),
		cmocka_unit_test(test_repeats_in_a_stream),
		cmocka_unit_test(test_decoding_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
