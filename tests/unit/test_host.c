/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two machines and one pool: one at a time, the other is refused by name; and
 * disks whose locks are local, missing or lies.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "format/format.h"
#include "os/machine.h"
#include "simpool.h"
#include "testlib.h"

#define BYTES 50000

static const struct machine one = { .boot = { 1 }, .id = 11, .name = "one" };
static const struct machine two = { .boot = { 2 }, .id = 22, .name = "two" };
/* The first one after a reboot; a container on it. */
static const struct machine again = { .boot = { 3 }, .id = 11, .name = "one" };
static const struct machine inside = { .boot = { 1 }, .name = "f00ba4" };
/* Somebody who only has its name. */
static const struct machine namesake = { .boot = { 4 }, .name = "one" };

struct setup {
	struct simpool sp;
	u8 *data;
};

static int setup(void **state)
{
	struct setup *s = calloc(1, sizeof(*s));
	struct akin_diag d = { 0 };

	s->data = malloc(BYTES);
	simpool_fill(1, s->data, BYTES);
	assert_int_equal(simpool_init(&s->sp, &d), 0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct setup *s = *state;

	simpool_free(&s->sp);
	free(s->data);
	free(s);
	return 0;
}

static int open_as(struct setup *s, const struct machine *m, bool read_only,
		   struct akin_pool **out, struct akin_diag *d)
{
	memset(d, 0, sizeof(*d));
	*out = NULL;
	simdisk_set_machine(s->sp.meta, m);
	return simpool_open(&s->sp, read_only, out, d);
}

static void expect_open(struct setup *s, const struct machine *m)
{
	struct akin_pool *p;
	struct akin_diag d;

	if (open_as(s, m, false, &p, &d))
		fail_msg("%s: %s", m->name, d.text);
	akin_pool_close(p);
}

/* @text: part of the message. */
static void expect_refused(struct setup *s, const struct machine *m, int code,
			   const char *text)
{
	struct akin_pool *p;
	struct akin_diag d;

	assert_int_equal(open_as(s, m, false, &p, &d), code);
	if (!strstr(d.text, text))
		fail_msg("'%s' is not in '%s'", text, d.text);
	assert_true(d.hint[0] || code == -AKIN_E_busy);
}

/* "" if it is empty. */
static void line(struct setup *s, char text[129])
{
	struct disk *d = simdisk_attach(s->sp.meta, false);
	size_t len;
	u8 *data;

	assert_int_equal(disk_read_file(d, FILE_LOCKS, 128, &data, &len, NULL),
			 0);
	memcpy(text, data, len);
	text[len] = '\0';
	mem_free(data);
	disk_free(d);
}

static void write_line(struct setup *s, const void *data, size_t n)
{
	struct disk *d = simdisk_attach(s->sp.meta, true);
	struct file *f;

	assert_int_equal(disk_open(d, FILE_LOCKS, DISK_WRITE | DISK_TRUNC, &f,
				   NULL), 0);
	assert_int_equal(file_pwrite(f, data, n, 0, NULL), 0);
	assert_int_equal(file_close(f, NULL), 0);
	disk_free(d);
}

static void expect_line(struct setup *s, const char *want)
{
	char text[129];

	line(s, text);
	assert_int_equal(strlen(text), 128);
	if (strncmp(text, want, strlen(want)) || text[strlen(want)] != '\n')
		fail_msg("the line is '%s'", text);
}

static void test_one_at_a_time(void **state)
{
	struct akin_pool *a, *b;
	struct setup *s = *state;
	struct akin_diag d;

	simdisk_set_locks(s->sp.meta, SIM_LOCKS_LOCAL);
	assert_int_equal(open_as(s, &one, false, &a, &d), 0);
	expect_line(s, "used 01000000000000000000000000000000 "
		    "000000000000000b one");
	assert_int_equal(open_as(s, &one, false, &b, &d), 0);
	expect_refused(s, &two, -AKIN_E_busy, "one is using the pool");
	akin_pool_close(a);
	/* The other handle is still there. */
	expect_refused(s, &two, -AKIN_E_busy, "one is using the pool");
	expect_open(s, &inside);
	expect_line(s, "used 01000000000000000000000000000000 "
		    "000000000000000b one");
	akin_pool_close(b);
	expect_line(s, "free");
	expect_open(s, &two);
	expect_line(s, "free");
}

/* Reading needs no permission. */
static void test_readers(void **state)
{
	struct akin_pool *a, *b;
	struct setup *s = *state;
	struct akin_diag d;

	assert_int_equal(open_as(s, &one, false, &a, &d), 0);
	assert_int_equal(open_as(s, &two, true, &b, &d), 0);
	akin_pool_close(b);
	akin_pool_close(a);
	expect_line(s, "free");
}

/* Where locks are seen, it is certain that somebody is there. */
static void test_locks_seen(void **state)
{
	struct setup *s = *state;
	struct akin_pool *a;
	struct akin_diag d;

	simdisk_set_locks(s->sp.meta, SIM_LOCKS_KEPT);
	assert_int_equal(open_as(s, &one, false, &a, &d), 0);
	expect_refused(s, &two, -AKIN_E_busy, "one is using the pool");
	assert_string_equal(d.text, "");
	akin_pool_close(a);
	expect_open(s, &two);
}

static void die(struct setup *s, const struct machine *m)
{
	struct simpool sp;
	struct akin_pool *p;
	struct akin_diag d;

	assert_int_equal(open_as(s, m, false, &p, &d), 0);
	/* What is on the disk while it is open is what a death leaves. */
	sp = simpool_clone(&s->sp);
	akin_pool_close(p);
	simpool_free(&s->sp);
	s->sp = sp;
	simdisk_set_locks(s->sp.meta, SIM_LOCKS_LOCAL);
}

static void test_death(void **state)
{
	struct setup *s = *state;

	die(s, &one);
	expect_refused(s, &two, -AKIN_E_busy, "one is using the pool, or");
	expect_refused(s, &namesake, -AKIN_E_busy, "one is using the pool, or");
	expect_open(s, &one);
	expect_line(s, "free");

	die(s, &one);
	expect_open(s, &again);

	die(s, &one);
	s->sp.single_writer = true;
	expect_open(s, &two);
	s->sp.single_writer = false;
	expect_line(s, "free");
	expect_open(s, &one);
}

static void test_nonsense(void **state)
{
	static const char *const lines[] = {
		"x", "used", "used ", "used 01\n", "free", "freedom\n",
		"used 0100000000000000000000000000000g 000000000000000b one\n",
		"used 01000000000000000000000000000000 000000000000000b \n",
		"used 01000000000000000000000000000000 000000000000000b a b\n",
		"used 01000000000000000000000000000000 000000000000000b a\x1b\n",
	};
	struct setup *s = *state;
	u8 full[300];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		write_line(s, lines[i], strlen(lines[i]));
		expect_refused(s, &one, -AKIN_E_busy, "an unknown machine");
	}
	memset(full, 'a', sizeof(full));
	write_line(s, full, sizeof(full));
	expect_refused(s, &one, -AKIN_E_busy, "an unknown machine");
	write_line(s, "", 0);
	expect_open(s, &one);
	/* Nobody looks where there is one kernel. */
	write_line(s, "x", 1);
	simdisk_set_machine(s->sp.meta, NULL);
	assert_int_equal(simpool_put(&s->sp, "data", s->data, BYTES, NULL), 0);
}

static void expect_works(struct setup *s, const char *name)
{
	struct akin_diag d = { 0 };
	enum simpool_found found;

	if (simpool_put(&s->sp, name, s->data, BYTES, &d) ||
	    simpool_get(&s->sp, name, s->data, BYTES, &found, &d))
		fail_msg("%s", d.text);
	assert_int_equal(found, SIMPOOL_WHOLE);
	simpool_expect_sound(&s->sp, name);
}

static void test_no_locks(void **state)
{
	struct setup *s = *state;
	struct akin_pool *p;
	struct akin_diag d;

	simdisk_set_locks(s->sp.meta, SIM_LOCKS_NONE);
	expect_refused(s, NULL, -AKIN_E_no_locks, "locks");
	expect_refused(s, &one, -AKIN_E_no_locks, "locks");
	assert_int_equal(open_as(s, &one, true, &p, &d), 0);
	akin_pool_close(p);
	s->sp.single_writer = true;
	simdisk_set_machine(s->sp.meta, &one);
	expect_works(s, "shared");
	simdisk_set_machine(s->sp.meta, NULL);
	expect_works(s, "own");
}

static void test_lies(void **state)
{
	struct setup *s = *state;

	simdisk_set_locks(s->sp.meta, SIM_LOCKS_LIE);
	expect_refused(s, &one, -AKIN_E_no_locks, "does not keep them");
	s->sp.single_writer = true;
	simdisk_set_machine(s->sp.meta, &two);
	expect_works(s, "data");
}

/* Every operation of entering and leaving fails once: no handle leaks, and
 * afterwards it opens. */
static void test_faults(void **state)
{
	struct sim_fault f = { .kinds = SIM_ALL, .code = -AKIN_E_io };
	struct setup *s = *state;
	struct akin_pool *p;
	struct akin_diag d;
	u64 struck;
	int err;

	f.name = FILE_LOCKS;
	for (f.nth = 1;; f.nth++) {
		simdisk_fail(s->sp.meta, &f);
		err = open_as(s, &one, false, &p, &d);
		if (err)
			assert_int_equal(err, d.code);
		else
			akin_pool_close(p);
		struck = simdisk_nr_faults(s->sp.meta);
		if (!struck)
			break;
		simdisk_fail(s->sp.meta, &(struct sim_fault){ 0 });
		expect_open(s, &one);
		assert_true(f.nth < 100);
	}
	assert_in_range(f.nth, 8, 100);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_one_at_a_time),
		CASE(test_readers),
		CASE(test_locks_seen),
		CASE(test_death),
		CASE(test_nonsense),
		CASE(test_no_locks),
		CASE(test_lies),
		CASE(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
