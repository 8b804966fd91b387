/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reclaim protocol, every interleaving of it.
 *
 * Sweeps: all protections on, every three of the actors, several initial
 * stores, with and without faults; no state may violate an invariant. Races:
 * one protection off; the violation it is there to prevent must be found, and
 * must not be there when it is on. Variants: protocols that differ and promise
 * the same.
 *
 * MODEL_VERBOSE=1 prints what was explored, MODEL_TRACE=1 the shortest trace
 * of each race.
 */
#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>

#include "model_state.h"

static void say(const struct model *m, const struct model_result *r)
{
	if (!getenv("MODEL_VERBOSE"))
		return;
	print_message("# %s, %s, %s, store %d, kills %d, crash %d, off %llx: "
		      "%u states, %u ends, %u steps: %s\n",
		      model_kind_name(m->kinds[0]),
		      model_kind_name(m->kinds[1]),
		      model_kind_name(m->kinds[2]), m->setup, m->kills,
		      m->crash, (unsigned long long)m->off, r->nr_states,
		      r->nr_ends, r->depth, model_bad_name(r->bad));
}

static struct model_result explore(const struct model *m)
{
	FILE *trace = m->off && getenv("MODEL_TRACE") ? stderr : NULL;
	struct model_result r;

	assert_int_equal(model_explore(m, trace, &r), 0);
	say(m, &r);
	return r;
}

static void expect_sound(const struct model *m)
{
	struct model_result r = explore(m);

	if (r.bad) {
		assert_int_equal(model_explore(m, stderr, &r), 0);
		fail_msg("%s", model_bad_name(r.bad));
	}
	assert_true(r.nr_ends > 0);
}

static bool has_kind(const struct model *m, enum mkind kind)
{
	return m->kinds[0] == kind || m->kinds[1] == kind ||
	       m->kinds[2] == kind;
}

/*
 * Worth a walk of its own? Two writers at once multiply to millions of states:
 * they have cases of their own. A reader that dies is a reader that is done.
 * In the mixed store the second writer's snapshot number is taken.
 */
static bool worth(const struct model *m)
{
	bool faults = m->kills || m->crash;

	if (has_kind(m, MK_WRITER) && has_kind(m, MK_WRITER2))
		return false;
	if (has_kind(m, MK_WRITER2) && m->setup == MODEL_MIXED)
		return false;
	if (has_kind(m, MK_WRITER2) && faults)
		return false;
	return !(has_kind(m, MK_READER) && faults);
}

/* All triples of actors, on all stores. */
static void sweep(struct model m)
{
	unsigned setup, a, b, c;

	for (setup = MODEL_LIVE; setup <= MODEL_MIXED; setup++)
		for (a = MK_WRITER; a < MK_NR; a++)
			for (b = a + 1; b < MK_NR; b++)
				for (c = b + 1; c < MK_NR; c++) {
					m.setup = (enum msetup)setup;
					m.kinds[0] = (enum mkind)a;
					m.kinds[1] = (enum mkind)b;
					m.kinds[2] = (enum mkind)c;
					if (worth(&m))
						expect_sound(&m);
				}
}

static void test_sound_without_faults(void **state)
{
	sweep((struct model){ .copy = true, .batches = true,
			      .checkpoints = true });
}

static void test_sound_when_one_dies(void **state)
{
	sweep((struct model){ .copy = true, .checkpoints = true, .kills = 1 });
}

static void test_sound_in_crash_and_rebuild(void **state)
{
	sweep((struct model){ .copy = true, .batches = true, .crash = true,
			      .loss = true });
}

static void test_sound_with_pins(void **state)
{
	struct model m = { .kinds = { MK_WRITER, MK_GC, MK_FORGET },
			   .copy = true, .pins = true, .checkpoints = true,
			   .kills = 1 };

	expect_sound(&m);
	m.kinds[1] = MK_FORGET;
	m.kinds[2] = MK_OPTIMIZE;
	expect_sound(&m);
	m.kinds[1] = MK_GC2;
	expect_sound(&m);
	m.kills = 0;
	m.kinds[1] = MK_WRITER2;
	m.kinds[2] = MK_FORGET;
	m.checkpoints = false;
	expect_sound(&m);
}

static void test_sound_with_two_writers(void **state)
{
	struct model m = { .kinds = { MK_WRITER, MK_WRITER2, MK_GC },
			   .copy = true };

	m.setup = MODEL_FORGOTTEN;
	expect_sound(&m);
	m.kinds[2] = MK_GC2;
	m.setup = MODEL_LIVE;
	m.copy = false;
	m.checkpoints = true;
	m.kills = 1;
	expect_sound(&m);
}

static void test_sound_going_on_after_the_crash(void **state)
{
	struct model m = { .kinds = { MK_WRITER, MK_GC, MK_NONE },
			   .crash = true, .loss = true, .resume = true };

	m.setup = MODEL_FORGOTTEN;
	expect_sound(&m);
	m.kinds[0] = MK_FORGET;
	m.kinds[2] = MK_UNDELETE;
	m.setup = MODEL_LIVE;
	expect_sound(&m);
	m.kinds[2] = MK_GC2;
	m.copy = true;
	expect_sound(&m);
}

struct race {
	const char *name;
	struct model m;
	enum mbad bad;
};

static void expect_race(const struct race *r)
{
	struct model on = r->m, off = r->m;
	struct model_result found;

	if (getenv("MODEL_VERBOSE") || getenv("MODEL_TRACE"))
		print_message("# %s\n", r->name);
	/* Wait for the loss itself: a sharper proof, if a longer trace. */
	off.lenient = true;
	found = explore(&off);
	if (found.bad != r->bad)
		fail_msg("%s: %s, expected: %s", r->name,
			 model_bad_name(found.bad), model_bad_name(r->bad));
	on.off = 0;
	expect_sound(&on);
}

static void expect_races(const struct race *r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		expect_race(&r[i]);
}

#define KINDS(a, b, c) .kinds = { MK_##a, MK_##b, MK_##c }

static void test_race_commit_between_mark_and_condemn(void **state)
{
	static const struct race races[] = {
		{ "the condemn transaction does not compare the roots",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_NO_ROOT_COMPARE }, MB_I1_SNAPSHOT },
		{ "an undelete does not count as a new root",
		  { KINDS(UNDELETE, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_UNDELETE_NOT_ROOT }, MB_I1_SNAPSHOT },
		{ "a checkpoint does not count as a new root",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .checkpoints = true, .kills = 1,
		    .off = MODEL_CHECKPOINT_UNSEEN }, MB_I2_CHECKPOINT },
		{ "a commit revives nothing",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_NO_REVIVE }, MB_I1_SNAPSHOT },
		{ "a commit revives what was condemned before it looked",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_NO_COMMIT_RECHECK }, MB_I1_SNAPSHOT },
		{ "reviving does not follow the bases",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_NO_BASE_CLOSURE }, MB_I1_SNAPSHOT },
		{ "gc deletes what it condemned, revived or not",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_UNNAME_REVIVED }, MB_I1_SNAPSHOT },
	};

	expect_races(races, ARRAY_SIZE(races));
}

static void test_race_locks(void **state)
{
	static const struct race races[] = {
		{ "gc deletes under a session's lock",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_NO_LOCK_TEST }, MB_I2_SESSION },
		{ "gc tests the locks, then condemns",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_TEST_BEFORE_CONDEMN }, MB_I2_SESSION },
		{ "a session matches condemned data",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_MATCH_CONDEMNED }, MB_I2_SESSION },
		{ "gc copies forward without a lock of its own",
		  { KINDS(WRITER, GC, GC2), .setup = MODEL_FORGOTTEN,
		    .copy = true, .off = MODEL_NO_GC_LOCK }, MB_I2_READER },
		{ "gc waits with its old lock",
		  { KINDS(WRITER, GC, GC2), .copy = true,
		    .off = MODEL_GC_KEEPS_LOCK }, MB_STUCK },
	};

	expect_races(races, ARRAY_SIZE(races));
}

static void test_race_crashed_session(void **state)
{
	static const struct race races[] = {
		{ "a checkpoint moves the lock and revives nothing",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .checkpoints = true, .kills = 1,
		    .off = MODEL_NO_CHECKPOINT_REVIVE }, MB_I2_SESSION },
		{ "an interrupted session is no root",
		  { KINDS(WRITER, GC, NONE), .setup = MODEL_FORGOTTEN,
		    .checkpoints = true, .kills = 1,
		    .off = MODEL_NO_CHECKPOINT_ROOT }, MB_I2_CHECKPOINT },
		{ "gc sweeps up the files of a living session",
		  { KINDS(WRITER, GC, NONE),
		    .off = MODEL_ORPHANS_LIVING }, MB_I4_PARTIAL },
		{ "the catalog names what is not durable",
		  { KINDS(WRITER, GC, NONE), .crash = true, .checkpoints = true,
		    .off = MODEL_NO_SYNC }, MB_I2_CHECKPOINT },
		{ "a tree taken whole, its snapshot not pinned",
		  { KINDS(WRITER, GC, FORGET), .pins = true,
		    .off = MODEL_NO_PIN }, MB_I1_SNAPSHOT },
	};

	expect_races(races, ARRAY_SIZE(races));
}

static void test_race_reader_during_deletion(void **state)
{
	static const struct race races[] = {
		{ "a reader believes what it read before it locked",
		  { KINDS(READER, GC, FORGET),
		    .off = MODEL_NO_READER_RECHECK }, MB_I2_READER },
		{ "a reader reads a condemned copy",
		  { KINDS(READER, GC2, OPTIMIZE),
		    .off = MODEL_READ_CONDEMNED }, MB_I2_READER },
	};

	expect_races(races, ARRAY_SIZE(races));
}

static void test_race_optimize_between_match_and_commit(void **state)
{
	static const struct race races[] = {
		{ "what the writer stands on has been moved away",
		  { KINDS(WRITER, GC, OPTIMIZE), .copy = true,
		    .off = MODEL_NO_REVIVE }, MB_I1_SNAPSHOT },
		{ "a changed hint does not count as a new root",
		  { KINDS(WRITER, GC, OPTIMIZE), .setup = MODEL_COPIES,
		    .off = MODEL_HINTS_NOT_ROOT }, MB_I2_SESSION },
		{ "an entry that the newer generation dropped is not revived",
		  { KINDS(WRITER, GC, OPTIMIZE), .copy = true,
		    .off = MODEL_NO_OLD_GENERATION }, MB_I1_SNAPSHOT },
	};

	expect_races(races, ARRAY_SIZE(races));
}

static void test_race_two_gcs(void **state)
{
	static const struct race races[] = {
		{ "each keeps a different copy",
		  { KINDS(GC, GC2, OPTIMIZE), .copy = true,
		    .off = MODEL_TWO_GC_NO_CHECK }, MB_I1_SNAPSHOT },
		{ "batches that begin with the bases",
		  { KINDS(WRITER, GC, FORGET), .batches = true,
		    .off = MODEL_BASES_FIRST }, MB_I2_SESSION },
	};

	expect_races(races, ARRAY_SIZE(races));
}

static void test_race_record_without_commit(void **state)
{
	static const struct race races[] = {
		{ "gc deletes under a record whose session died",
		  { KINDS(WRITER, GC, NONE), .kills = 1,
		    .off = MODEL_NO_RECORD_TOMBSTONE }, MB_I4_PARTIAL },
		{ "gc buries the record of a living session",
		  { KINDS(WRITER, GC, NONE),
		    .off = MODEL_TOMBSTONE_LIVING }, MB_I4_RECORD },
		{ "gc lists the orphans after the tombstones",
		  { KINDS(WRITER, GC, NONE), .kills = 1,
		    .off = MODEL_LATE_ORPHANS }, MB_I4_PARTIAL },
		{ "the record follows the commit",
		  { KINDS(WRITER, GC, NONE),
		    .off = MODEL_RECORD_LATE }, MB_I4_RECORD },
	};

	expect_races(races, ARRAY_SIZE(races));
}

static void test_race_forget_and_undelete(void **state)
{
	static const struct race races[] = {
		{ "gc deletes before a forget has its tombstone",
		  { KINDS(GC, FORGET, NONE),
		    .off = MODEL_NO_TOMBSTONE_FIRST }, MB_I4_PARTIAL },
		{ "forget buries before it tells the catalog",
		  { KINDS(GC, FORGET, NONE),
		    .off = MODEL_FORGET_TOMB_FIRST }, MB_I4_RECORD },
		{ "the late tombstone of a forget buries an undeleted one",
		  { KINDS(GC, FORGET, UNDELETE),
		    .off = MODEL_TOMB_UNCHECKED }, MB_I4_RECORD },
		{ "undelete commits, then voids the tombstone",
		  { KINDS(GC, FORGET, UNDELETE),
		    .off = MODEL_VOID_LATE }, MB_I4_RECORD },
		{ "undelete voids the tombstone without the write lock",
		  { KINDS(GC, FORGET, UNDELETE),
		    .off = MODEL_UNDELETE_NO_WLOCK }, MB_I4_RECORD },
		{ "undelete of what is condemned",
		  { KINDS(GC, UNDELETE, NONE), .setup = MODEL_FORGOTTEN,
		    .off = MODEL_UNDELETE_UNCHECKED }, MB_I4_PARTIAL },
	};

	expect_races(races, ARRAY_SIZE(races));
}

/*
 * Protocols that are simpler, or differ, and keep every promise: see
 * docs/design/protocol.md, "Variants".
 */
static void test_variants_are_sound(void **state)
{
	static const u64 variants[] = {
		MODEL_ONE_GC | MODEL_TWO_GC_NO_CHECK,
		MODEL_ANY_CHANGE_REMARKS | MODEL_TWO_GC_NO_CHECK,
		MODEL_UNLINK_FIRST,
		MODEL_READER_RESTARTS,
		MODEL_UNDELETE_SINCE,
	};
	static const struct model models[] = {
		{ KINDS(WRITER, GC, GC2), .setup = MODEL_FORGOTTEN,
		  .copy = true, .kills = 1 },
		{ KINDS(GC, GC2, OPTIMIZE), .copy = true, .kills = 1 },
		{ KINDS(READER, GC2, OPTIMIZE), .setup = MODEL_COPIES,
		  .batches = true },
		{ KINDS(GC, FORGET, UNDELETE), .crash = true, .loss = true },
		{ KINDS(WRITER, GC, UNDELETE), .setup = MODEL_MIXED,
		  .copy = true, .checkpoints = true, .crash = true,
		  .loss = true },
		{ KINDS(GC, GC2, UNDELETE), .setup = MODEL_FORGOTTEN,
		  .copy = true, .kills = 1 },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(variants); i++)
		for (k = 0; k < ARRAY_SIZE(models); k++) {
			struct model m = models[k];

			m.off = variants[i];
			expect_sound(&m);
		}
}

/* A checker that cannot count checks nothing: one actor alone is a line. */
static void test_exploration_is_complete(void **state)
{
	struct model m = { KINDS(FORGET, NONE, NONE) };
	struct model_result r = explore(&m);

	/* start, forgotten, buried, acknowledged */
	assert_int_equal(r.nr_states, 4);
	assert_int_equal(r.nr_ends, 1);
	m.kinds[1] = MK_READER;
	r = explore(&m);
	/*
	 * By the reader's position, times the forgetter's: 4 before it starts;
	 * then it has the number of before (4) or after (3) the forget, twice;
	 * 4 if it saw the snapshot; 4 when it is done.
	 */
	assert_int_equal(r.nr_ends, 1);
	assert_int_equal(r.nr_states, 4 + 7 + 7 + 4 + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exploration_is_complete),
		cmocka_unit_test(test_sound_without_faults),
		cmocka_unit_test(test_sound_when_one_dies),
		cmocka_unit_test(test_sound_in_crash_and_rebuild),
		cmocka_unit_test(test_sound_with_pins),
		cmocka_unit_test(test_sound_with_two_writers),
		cmocka_unit_test(test_sound_going_on_after_the_crash),
		cmocka_unit_test(test_race_commit_between_mark_and_condemn),
		cmocka_unit_test(test_race_locks),
		cmocka_unit_test(test_race_crashed_session),
		cmocka_unit_test(test_race_reader_during_deletion),
		cmocka_unit_test(test_race_optimize_between_match_and_commit),
		cmocka_unit_test(test_race_two_gcs),
		cmocka_unit_test(test_race_record_without_commit),
		cmocka_unit_test(test_race_forget_and_undelete),
		cmocka_unit_test(test_variants_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
