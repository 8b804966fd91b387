/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of each format and version, all of the same six chunks; cut off
 * anywhere; and loads made after them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "testlib.h"

#include "loadgen.h"
#include "trace.h"

#define NR 6
/* Which of the chunks are equal. */
static const u32 contents[NR] = { 1, 2, 3, 1, 2, 2 };

struct sample {
	const char *name;
	u32 bytes[NR];
};

static const struct sample samples[] = {
	{ "hashfile/v1-fixed", { 4096, 4096, 4096, 1000, 4096, 96 } },
	{ "hashfile/v1-variable", { 2500, 2500, 2500, 2501, 3000, 3000 } },
	{ "hashfile/v2-variable", { 2500, 2500, 2500, 2501, 3000, 3000 } },
	{ "hashfile/v3-fixed", { 4096, 4096, 4096, 1000, 4096, 96 } },
	{ "hashfile/v3-variable", { 5000, 2048, 16384, 5000, 2048, 2048 } },
	{ "hashfile/v4-fixed", { 4096, 4096, 4096, 1000, 4096, 96 } },
	{ "hashfile/v5-variable", { 5000, 2048, 16384, 5000, 2048, 2048 } },
	{ "hashfile/v6-fixed", { 4096, 4096, 4096, 1000, 4096, 96 } },
	{ "hashfile/v7-fixed", { 4096, 4096, 4096, 1000, 4096, 96 } },
	{ "hashfile/v7-variable", { 5000, 2048, 16384, 5000, 2048, 2048 } },
};

static char *path_of(const char *name, char path[4096])
{
	const char *root = getenv("AKIN_SOURCE_ROOT");

	snprintf(path, 4096, "%s/tests/fuzz/corpus/%s", root ? root : ".",
		 name);
	return path;
}

static u8 *load(const char *name, size_t *n_ret)
{
	char path[4096];
	FILE *f = fopen(path_of(name, path), "rb");
	u8 *p = malloc(1 << 20);

	if (!f)
		fail_msg("%s: cannot be opened", path);
	*n_ret = fread(p, 1, 1 << 20, f);
	fclose(f);
	return p;
}

/* All records, at most @max; the error or 0. */
static int read_all(const u8 *p, size_t n, enum trace_format format,
		    struct trace_record *out, u32 max, u32 *nr_ret,
		    struct akin_diag *diag)
{
	struct trace_record r;
	struct trace *t;
	FILE *f;
	int err;

	memset(diag, 0, sizeof(*diag));
	*nr_ret = 0;
	f = fmemopen((void *)(uintptr_t)p, n, "rb");
	err = trace_open(f, "sample", format, &t, diag);
	if (!err) {
		while ((err = trace_next(t, &r, diag)) > 0) {
			if (*nr_ret < max)
				out[*nr_ret] = r;
			++*nr_ret;
		}
		trace_close(t);
	}
	fclose(f);
	return err;
}

static void check_equal(const struct trace_record *r)
{
	u32 i, k;

	for (i = 0; i < NR; i++) {
		for (k = 0; k < i; k++)
			assert_int_equal(trace_number(&r[i]) ==
					 trace_number(&r[k]),
					 contents[i] == contents[k]);
	}
}

static void test_hashfiles(void **state)
{
	struct trace_record r[NR];
	struct akin_diag d;
	size_t i, n, cut;
	u32 nr, k;
	u8 *p;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		p = load(samples[i].name, &n);
		assert_int_equal(read_all(p, n, TRACE_ANY, r, NR, &nr, &d), 0);
		assert_int_equal(nr, NR);
		for (k = 0; k < NR; k++) {
			assert_int_equal(r[k].bytes, samples[i].bytes[k]);
			assert_int_equal(r[k].hash_bytes, 6);
			assert_int_equal(r[k].begins_file, k == 0 || k == 4);
		}
		check_equal(r);
		/* Whatever is missing is missed. */
		for (cut = 4; cut < n; cut += cut < 4000 || cut > n - 300 ?
		     1 : 97) {
			if (read_all(p, cut, TRACE_ANY, r, NR, &nr, &d) !=
			    -AKIN_E_usage || !d.text[0])
				fail_msg("%s, the first %zu bytes",
					 samples[i].name, cut);
		}
		free(p);
	}
}

static void refused(const u8 *p, size_t n, size_t at, u8 value,
		    const char *says)
{
	struct trace_record r[NR];
	u8 *copy = malloc(n);
	struct akin_diag d;
	u32 nr;

	memcpy(copy, p, n);
	copy[at] = value;
	assert_int_equal(read_all(copy, n, TRACE_HASHFILE, r, NR, &nr, &d),
			 -AKIN_E_usage);
	if (!strstr(d.text, says))
		fail_msg("'%s' does not say '%s'", d.text, says);
	free(copy);
}

static void test_bad_hashfiles(void **state)
{
	size_t n, at = 8296;
	u8 *p = load("hashfile/v7-variable", &n);
	struct trace_record r[NR];
	struct akin_diag d;
	u32 nr;

	refused(p, n, 0, 0, "version 1 to 7");
	refused(p, n, 4, 0, "version 1 to 7");
	refused(p, n, 4, 8, "version 1 to 7");
	refused(p, n, 8, 4, "ends before all");
	refused(p, n, 4112, 7, "ends before all");
	refused(p, n, 4120, 3, "way to cut");
	refused(p, n, 4172, 49, "length of hashes");
	refused(p, n, 4173, 8, "length of hashes");
	/* Of the first file: more chunks, a long path, a long link. */
	refused(p, n, at + 80 + 7, 1, "at byte");
	refused(p, n, at + 88 + 3, 1, "too long a path");
	refused(p, n, at + 92 + 3, 1, "too long a link");
	/* Of its first chunk. */
	refused(p, n, at + 96 + 5 + 3, 1, "size of a chunk");
	free(p);
	/* Who did not come to the end has no numbers, and is believed. */
	p = load("hashfile/unfinished", &n);
	assert_int_equal(read_all(p, n, TRACE_ANY, r, NR, &nr, &d), 0);
	assert_int_equal(nr, 1);
	free(p);
}

static void test_text(void **state)
{
	const u32 bytes[] = { 5000, 2048, 16384, 5000, 2048 };
	struct trace_record r[NR], h[NR];
	struct akin_diag d;
	size_t n;
	u32 nr, k;
	u8 *p;

	p = load("blktrace/text", &n);
	assert_int_equal(read_all(p, n, TRACE_ANY, r, NR, &nr, &d), 0);
	assert_int_equal(nr, 5);
	free(p);
	/* The same hashes as in the binary. */
	p = load("hashfile/v7-variable", &n);
	assert_int_equal(read_all(p, n, TRACE_ANY, h, NR, &nr, &d), 0);
	free(p);
	for (k = 0; k < 5; k++) {
		assert_int_equal(r[k].bytes, bytes[k]);
		assert_memory_equal(r[k].hash, h[k].hash, TRACE_HASH_MAX);
		assert_int_equal(trace_number(&r[k]), trace_number(&h[k]));
	}
}

static void test_blktrace(void **state)
{
	/* Eight sectors, and two more of which one was there. */
	const u32 homes[] = { 1, 1, 2, 3, 4, 5, 6, 1, 1, 7 };
	struct trace_record r[10];
	struct akin_diag d;
	size_t n;
	u32 nr, i, k;
	u8 *p;

	p = load("blktrace/homes", &n);
	assert_int_equal(read_all(p, n, TRACE_ANY, r, 10, &nr, &d), 0);
	assert_int_equal(nr, 10);
	for (i = 0; i < 10; i++) {
		assert_int_equal(r[i].bytes, 512);
		assert_int_equal(r[i].hash_bytes, 16);
		for (k = 0; k < i; k++)
			assert_int_equal(memcmp(r[i].hash, r[k].hash, 16) == 0,
					 homes[i] == homes[k]);
	}
	free(p);
	/* What is read does not count; a process may have a blank. */
	p = load("blktrace/mail", &n);
	assert_int_equal(read_all(p, n, TRACE_ANY, r, 10, &nr, &d), 0);
	assert_int_equal(nr, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(r[i].bytes, 4096);
	assert_memory_equal(r[0].hash, r[2].hash, 16);
	assert_int_equal(r[0].hash[0], 0xed);
	assert_int_equal(r[0].hash[15], 0xc0);
	free(p);
}

static void test_bad_text(void **state)
{
#define MD5 "edbab45572c72a5d9440b40bcc0500c0"
	static const struct {
		enum trace_format format;
		const char *text, *says;
	} bad[] = {
		{ TRACE_ANY, "hello", "neither" },
		{ TRACE_ANY, "1 2 3", "line 1: less than nine" },
		{ TRACE_ANY, "1 2 p 8 8 W 6 0 " MD5 "\n1 2 p 8 8 X 6 0 " MD5,
		  "line 2: neither W nor R" },
		{ TRACE_ANY, "1 2 p 8 0 W 6 0 " MD5, "number of sectors" },
		{ TRACE_ANY, "1 2 p 8 -8 W 6 0 " MD5, "number of sectors" },
		{ TRACE_ANY, "1 2 p 8 8x W 6 0 " MD5, "number of sectors" },
		{ TRACE_ANY, "1 2 p 8 8 W 6 0 abc", "no digests" },
		{ TRACE_ANY, "1 2 p 8 1 W 6 0 " MD5 MD5, "do not match" },
		{ TRACE_ANY, "1 2 p 8 99999999 W 6 0 " MD5, "do not match" },
		{ TRACE_ANY, "1 2 p 8 8 W 6 0 gdbab45572c72a5d9440b40bcc0500c0",
		  "no digest" },
		{ TRACE_TEXT, "Chunk Hash\nab:c  5 1", "not a hash" },
		{ TRACE_TEXT, "ab:cd5 1", "not a hash" },
		{ TRACE_TEXT, "ab:cd  0 1", "size of a chunk" },
		{ TRACE_TEXT, "ab:cd  16777217 1", "size of a chunk" },
		{ TRACE_TEXT, "ab:cd", "not a hash" },
	};
	struct trace_record r[2];
	struct akin_diag d;
	u32 nr;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(read_all((const u8 *)bad[i].text,
					  strlen(bad[i].text), bad[i].format, r,
					  2, &nr, &d), -AKIN_E_usage);
		if (!strstr(d.text, bad[i].says))
			fail_msg("%zu: '%s' does not say '%s'", i, d.text,
				 bad[i].says);
	}
#undef MD5
}

/* Equal where the trace is, in any part of it. */
static void test_load(void **state)
{
	struct loadgen_options opt = { .random_share = -1 };
	struct loadgen_plan plan;
	struct loadgen_stream *s;
	char path[4096];
	struct loadgen *l;
	struct rng rng = { 3 };
	size_t i, off, len;
	u8 *all, *part;

	opt.trace = path_of("hashfile/v7-variable", path);
	assert_int_equal(loadgen_new(&opt, &l, NULL), 0);
	loadgen_get_plan(l, &plan);
	assert_int_equal(plan.units, 6);
	assert_int_equal(plan.distinct, 3);
	assert_int_equal(plan.bytes, 32528);
	assert_int_equal(loadgen_open(l, 0, 0, &s, NULL), 0);
	assert_int_equal(loadgen_size(s), 32528);
	all = malloc(32528);
	part = malloc(32528);
	assert_int_equal(loadgen_read(s, 0, all, 32528), 32528);
	/* 5000, 2048, 16384, 5000, 2048, 2048. */
	assert_memory_equal(all, all + 23432, 5000);
	assert_memory_equal(all + 5000, all + 28432, 2048);
	assert_memory_equal(all + 5000, all + 30480, 2048);
	assert_memory_not_equal(all, all + 5000, 2048);
	assert_memory_not_equal(all + 7048, all + 5000, 2048);
	for (i = 0; i < 300; i++) {
		off = rng_below(&rng, 32528);
		len = rng_below(&rng, 32528 - off + 1);
		assert_int_equal(loadgen_read(s, off, part, len), len);
		assert_memory_equal(part, all + off, len);
	}
	loadgen_close(s);
	loadgen_free(l);
	free(all);
	free(part);
}

static void test_load_refused(void **state)
{
	struct loadgen_options opt = { .random_share = -1 };
	struct akin_diag d = { 0 };
	char path[4096];
	struct loadgen *l;

	opt.trace = path_of("hashfile/v7-variable", path);
	opt.dedup = 2;
	assert_int_equal(loadgen_new(&opt, &l, NULL), -AKIN_E_usage);
	opt.dedup = 0;
	opt.nr_streams = 2;
	assert_int_equal(loadgen_new(&opt, &l, NULL), -AKIN_E_usage);
	opt.nr_streams = 1;
	/* A part of it, in whole chunks. */
	opt.stream_bytes = 5001;
	assert_int_equal(loadgen_new(&opt, &l, NULL), 0);
	loadgen_free(l);
	path_of("distribution/example", path);
	assert_int_equal(loadgen_new(&opt, &l, &d), -AKIN_E_usage);
	assert_non_null(strstr(d.text, "line 1"));
	memset(&d, 0, sizeof(d));
	path_of("nothing", path);
	assert_int_equal(loadgen_new(&opt, &l, &d), -AKIN_E_absent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hashfiles),
		cmocka_unit_test(test_bad_hashfiles),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_blktrace),
		cmocka_unit_test(test_bad_text),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_load_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
