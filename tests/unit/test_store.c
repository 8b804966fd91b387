/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store through its public face: trees come back as they were, parents
 * save reading, what is unknown is not deleted, and several handles, pools and
 * backups at once do not mind each other.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testlib.h"

#include "base/mem.h"
#include "ingest/stream.h"
#include "simpool.h"
#include "store/store.h"
#include "treefix.h"
#include "tree/tree_builder.h"
#include "tree/tree_reader.h"

struct counts {
	u64 warnings;
	char last[300];
};

static void on_warning(void *ctx, const char *path, int code,
		       const char *text, bool vanished)
{
	struct counts *c = ctx;

	c->warnings++;
	snprintf(c->last, sizeof(c->last), "%.100s: %.150s", path, text);
}

static void on_restore_warning(void *ctx, const char *path, int code,
			       const char *text)
{
	on_warning(ctx, path, code, text, false);
}

/* A pool in the fixture's directory, on real files. */
static struct akin_pool *open_files(struct treefix *fx, const char *name)
{
	struct akin_init_options init = { .chunk_size = 1024 };
	struct akin_open_options opt = { .memory_bytes = 48 << 20,
					 .nr_threads = 2 };
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", fx->dir, name);
	init.path = opt.path = path;
	if (access(path, F_OK) && akin_pool_init(&init, &d))
		fail_msg("%s", d.text);
	if (akin_pool_open(&opt, &p, &d))
		fail_msg("%s", d.text);
	return p;
}

static struct akin_backup_result backup_with(struct akin_pool *p,
					     struct akin_backup_options *opt,
					     const char *path)
{
	struct akin_backup_result r;
	struct akin_diag d = { 0 };
	struct counts c = { 0 };

	opt->paths = &path;
	opt->nr_paths = 1;
	opt->host = "test";
	opt->warning = on_warning;
	opt->ctx = &c;
	if (akin_backup_tree(p, opt, &r, &d))
		fail_msg("%s %s", d.text, c.last);
	assert_int_equal(c.warnings, 0);
	return r;
}

static struct akin_backup_result backup(struct akin_pool *p, const char *path)
{
	struct akin_backup_options opt = { 0 };

	return backup_with(p, &opt, path);
}

static int restore(struct akin_pool *p, u64 number, const char *path,
		   const char *target, bool delete_extra, struct counts *c)
{
	struct akin_restore_options opt = { .snapshot = number, .path = path,
					    .target = target,
					    .delete_extra = delete_extra,
					    .verify = true,
					    .warning = on_restore_warning };
	struct akin_restore_result r;
	struct akin_diag d = { 0 };
	int err;

	opt.ctx = c;
	err = akin_restore(p, &opt, &r, &d);
	if (err && err != -AKIN_E_partial)
		fail_msg("%s", d.text);
	return err;
}

static void test_round_trip(void **state)
{
	struct treefix *fx = *state;
	struct akin_backup_result r;
	struct akin_pool *p = open_files(fx, "pool");
	struct counts c = { 0 };
	int err;

	treefix_fill(fx);
	r = backup(p, fx->src);
	assert_int_equal(strlen(r.id), 32);
	assert_string_equal(r.parent, "");
	akin_pool_close(p);
	p = open_files(fx, "pool");
	err = restore(p, r.number, fx->src, fx->dst, false, &c);
	/* Not everything may be made by everybody. */
	if (err)
		assert_true(geteuid() != 0);
	else
		treefix_compare(fx, fx->src, fx->dst);
	/* Onto itself: nothing to do. */
	memset(&c, 0, sizeof(c));
	assert_int_equal(restore(p, r.number, fx->src, fx->dst, true, &c),
			 err);
	akin_pool_close(p);
}

/* Files of @n bytes with numbers for names. */
static void make_files(struct treefix *fx, u32 nr, size_t n)
{
	u8 *data = malloc(n);
	char name[16];
	u32 i;

	for (i = 0; i < nr; i++) {
		struct rng r = { i };

		rng_fill(&r, data, n);
		snprintf(name, sizeof(name), "f%04u", i);
		put_bytes(fx->s, name, data, n, 0);
	}
	free(data);
}

static void test_parent(void **state)
{
	struct treefix *fx = *state;
	struct akin_backup_options force = { .force = true };
	struct akin_backup_result a, b;
	struct akin_pool *p = open_files(fx, "pool");
	struct counts c = { 0 };

	make_files(fx, 40, 5000);
	a = backup(p, fx->src);
	assert_int_equal(a.total.files, 40);
	assert_int_equal(a.total.files_unchanged, 0);
	assert_int_equal(a.total.bytes_read, 40 * 5000);
	b = backup(p, fx->src);
	assert_string_equal(b.parent, a.id);
	assert_int_equal(b.total.files, 40);
	assert_int_equal(b.total.files_unchanged, 40);
	assert_int_equal(b.total.bytes_read, 0);
	assert_int_equal(b.total.bytes, 40 * 5000);
	assert_int_equal(b.chunks_new, 0);
	/* One is another now, one is new, one is gone. */
	put_text(fx->s, "f0007", "changed");
	put_text(fx->s, "g", "new");
	ok(unlinkat(fx->s, "f0003", 0));
	b = backup(p, fx->src);
	assert_int_equal(b.total.files, 40);
	assert_int_equal(b.total.files_unchanged, 38);
	assert_int_equal(b.total.bytes_read, 7 + 3);
	b = backup_with(p, &force, fx->src);
	assert_int_equal(b.total.files_unchanged, 0);
	assert_int_equal(b.total.bytes_read, 38 * 5000 + 7 + 3);
	assert_int_equal(b.chunks_new, 0);
	ok(restore(p, b.number, fx->src, fx->dst, false, &c));
	treefix_compare(fx, fx->src, fx->dst);
	assert_false(exists_at(fx->d, "f0003"));
	/* Another path is another series. */
	b = backup(p, fx->out);
	assert_string_equal(b.parent, "");
	akin_pool_close(p);
}

static void test_excludes(void **state)
{
	static const char *const patterns[] = { "*.tmp", "/**/cache/" };
	struct akin_backup_options opt = { .excludes = patterns,
					   .nr_excludes = 2,
					   .exclude_if_present = ".nobackup" };
	struct treefix *fx = *state;
	struct akin_backup_result r;
	struct akin_pool *p = open_files(fx, "pool");
	struct counts c = { 0 };

	ok(mkdirat(fx->s, "cache", 0755));
	ok(mkdirat(fx->s, "skip", 0755));
	ok(mkdirat(fx->s, "keep", 0755));
	put_text(fx->s, "cache/a", "a");
	put_text(fx->s, "skip/.nobackup", "");
	put_text(fx->s, "skip/a", "a");
	put_text(fx->s, "keep/a", "a");
	put_text(fx->s, "keep/b.tmp", "b");
	r = backup_with(p, &opt, fx->src);
	assert_int_equal(r.total.files, 1);
	ok(restore(p, r.number, fx->src, fx->dst, false, &c));
	assert_text(fx->d, "keep/a", "a");
	assert_false(exists_at(fx->d, "keep/b.tmp"));
	assert_false(exists_at(fx->d, "cache"));
	assert_false(exists_at(fx->d, "skip"));
	akin_pool_close(p);
}

/* The pool lies below what is backed up. */
static void test_not_itself(void **state)
{
	struct treefix *fx = *state;
	struct akin_backup_result r;
	struct akin_pool *p = open_files(fx, "src/pool");

	put_text(fx->s, "a", "a");
	r = backup(p, fx->src);
	assert_int_equal(r.total.files, 1);
	akin_pool_close(p);
}

static void test_two_pools(void **state)
{
	struct treefix *fx = *state;
	struct akin_backup_result r[2], again;
	struct akin_pool *p[2] = { open_files(fx, "one"),
				   open_files(fx, "two") };
	struct counts c = { 0 };
	int i;

	make_files(fx, 10, 3000);
	r[0] = backup(p[0], fx->src);
	assert_true(r[0].chunks_new > 10);
	/* Nothing of one is known to the other. */
	r[1] = backup(p[1], fx->src);
	assert_true(r[1].chunks_new > 10);
	put_text(fx->s, "f0001", "other");
	again = backup(p[0], fx->src);
	assert_string_equal(again.parent, r[0].id);
	for (i = 1; i >= 0; i--) {
		assert_int_equal(akin_snapshot_find(p[i], "latest", NULL,
						    &again.number, NULL), 0);
		ok(restore(p[i], r[i].number, fx->src, fx->dst, true, &c));
		assert_false(!exists_at(fx->d, "f0001"));
		assert_int_equal(stat_of(fx->d, "f0001").st_size, 3000);
	}
	akin_pool_close(p[0]);
	akin_pool_close(p[1]);
}

/* Two handles on one pool, two sessions at once. */
struct writer {
	pthread_t thread;
	struct akin_pool *p;
	const char *name;
	u8 *data;
	size_t n, at;
	int err;
	u64 number;
	char text[200];
};

static long writer_read(void *ctx, void *buf, size_t cap,
			struct akin_diag *diag)
{
	struct writer *w = ctx;
	size_t n = min_u64(cap, min_u64(w->n - w->at, 3000));

	if (n)
		memcpy(buf, w->data + w->at, n);
	w->at += n;
	return (long)n;
}

static void *writer_main(void *arg)
{
	struct akin_backup_options opt = { .host = "test" };
	struct akin_backup_result r = { 0 };
	struct akin_diag d = { 0 };
	struct writer *w = arg;

	w->err = akin_backup_stream(w->p, &opt, w->name, writer_read, NULL, w,
				    &r, &d);
	w->number = r.number;
	snprintf(w->text, sizeof(w->text), "%.150s", d.text);
	return NULL;
}

struct compare {
	const u8 *data;
	size_t left;
};

static int compare_data(void *ctx, const void *data, size_t n)
{
	struct compare *c = ctx;

	assert_true(n <= c->left);
	assert_memory_equal(c->data, data, n);
	c->data += n;
	c->left -= n;
	return 0;
}

static void assert_stream(struct akin_pool *p, u64 number, const char *name,
			  const u8 *data, size_t n)
{
	struct compare c = { data, n };
	struct akin_diag d = { 0 };

	if (akin_snapshot_read(p, number, name, compare_data, NULL, &c, &d))
		fail_msg("%s", d.text);
	assert_int_equal(c.left, 0);
}

static void test_two_sessions(void **state)
{
	struct writer w[2] = { { .name = "a" }, { .name = "b" } };
	struct akin_diag d = { 0 };
	struct simpool sp;
	int i, k, round;

	assert_int_equal(simpool_init(&sp, &d), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(simpool_open(&sp, false, &w[i].p, &d), 0);
		w[i].n = 2 << 20;
		w[i].data = malloc(w[i].n);
	}
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 2; i++) {
			/* Much of it is the same. */
			simpool_fill((u64)round * 2 + i, w[i].data, w[i].n);
			w[i].at = 0;
			assert_int_equal(pthread_create(&w[i].thread, NULL,
							writer_main, &w[i]),
					 0);
		}
		for (i = 0; i < 2; i++) {
			pthread_join(w[i].thread, NULL);
			if (w[i].err)
				fail_msg("%s", w[i].text);
		}
		assert_true(w[0].number != w[1].number);
		/* Each sees both. */
		for (i = 0; i < 2; i++)
			for (k = 0; k < 2; k++)
				assert_stream(w[i].p, w[k].number, w[k].name,
					      w[k].data, w[k].n);
	}
	for (i = 0; i < 2; i++) {
		akin_pool_close(w[i].p);
		free(w[i].data);
	}
	simpool_free(&sp);
}

/* Hints of a listing do not grow with the number of its versions. */
static u32 root_hint(struct akin_pool *p, u64 number, const char *path)
{
	struct snapshot s = { 0 };
	struct akin_diag d = { 0 };
	const struct hint *hint;
	const struct node *n;
	struct tree_reader *r;
	struct hint own = { 0 };
	struct node dir;
	u32 most = 0;

	assert_int_equal(catalog_snapshot(p->catalog, number, &s, &d), 0);
	assert_int_equal(store_lookup(p, &s, path, &dir, &own, &d), 0);
	assert_int_equal(tree_reader_open(&p->depot, &p->dec, &dir.content,
					  &own, &r, &d), 0);
	while (tree_reader_next(r, &n, &hint, &d) > 0)
		most = hint->nr > most ? hint->nr : most;
	tree_reader_close(r);
	node_release(&dir);
	mem_free(own.containers);
	snapshot_release(&s);
	return most;
}

#define HINT_FILES 30
#define HINT_ROUNDS 100

static void test_hints_stay_small(void **state)
{
	struct treefix *fx = *state;
	struct akin_backup_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	struct simpool sp;
	struct counts c = { 0 };
	struct rng rng = { 77 };
	char name[16];
	u8 data[400];
	u32 i;

	assert_int_equal(simpool_init(&sp, &d), 0);
	assert_int_equal(simpool_open(&sp, false, &p, &d), 0);
	make_files(fx, HINT_FILES, 400);
	for (i = 0; i < HINT_ROUNDS; i++) {
		snprintf(name, sizeof(name), "f%04u", i % HINT_FILES);
		rng_fill(&rng, data, sizeof(data));
		put_bytes(fx->s, name, data, sizeof(data), 0);
		r = backup(p, fx->src);
	}
	/* Each file's one chunk is in a container of its own. */
	assert_in_range(root_hint(p, r.number, fx->src), HINT_FILES / 2,
			HINT_FILES + 4);
	ok(restore(p, r.number, fx->src, fx->dst, false, &c));
	treefix_compare(fx, fx->src, fx->dst);
	akin_pool_close(p);
	simpool_free(&sp);
}

/* Flip a bit in the group that holds the root listing of a snapshot. */
static void damage_root(struct simpool *sp, struct akin_pool *p, u64 number)
{
	char name[FORMAT_NAME_MAX];
	struct container_reader *r;
	const struct dir_group *g;
	struct snapshot s = { 0 };
	struct chunk_spot spot;
	struct akin_diag d = { 0 };
	struct dir_hit at;

	assert_int_equal(catalog_snapshot(p->catalog, number, &s, &d), 0);
	assert_int_equal(s.root.kind, CONTENT_ENTRIES);
	assert_int_equal(depot_locate(&p->depot, &s.root_hint,
				      &s.root.entries[0].fp, 1, &at, &d), 0);
	assert_int_equal(depot_spot(&p->depot, &at, &s.root.entries[0].fp,
				    &spot, &d), 0);
	assert_int_equal(container_open(p->data, &p->super.pool, at.container,
					0, &r, &d), 0);
	g = &container_directory(r)->groups[spot.group];
	format_container_name(at.container, 0, name);
	simdisk_flip_bit(sp->data, name, g->off + g->len - 1, 0);
	container_close(r);
	snapshot_release(&s);
}

/* With the listing gone nobody knows what is too much. */
static void test_damage_deletes_nothing(void **state)
{
	struct treefix *fx = *state;
	struct akin_backup_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	struct simpool sp;
	struct counts c = { 0 };

	assert_int_equal(simpool_init(&sp, &d), 0);
	assert_int_equal(simpool_open(&sp, false, &p, &d), 0);
	make_files(fx, 5, 100);
	r = backup(p, fx->src);
	put_text(fx->d, "precious", "data");
	damage_root(&sp, p, r.number);
	akin_pool_close(p);
	assert_int_equal(simpool_open(&sp, false, &p, &d), 0);
	assert_int_equal(restore(p, r.number, NULL, fx->dst, true, &c),
			 -AKIN_E_partial);
	assert_true(c.warnings >= 1);
	assert_text(fx->d, "precious", "data");
	akin_pool_close(p);
	simpool_free(&sp);
}

/* A snapshot whose only directory could not be listed by its backup. */
static u64 commit_unlisted(struct akin_pool *p, u32 flags)
{
	struct session_options sopt = { .lock = store_lock_session };
	struct ingest_options iopt = { 0 };
	struct node n = { .type = NODE_DIR, .name = "dir", .mode = 0755 };
	struct snapshot snap = { 0 };
	struct hintset hint = { 0 };
	struct ingest_stream *st;
	struct tree_builder *tb;
	struct akin_diag d = { 0 };
	struct session *s;

	n.flags = flags;
	n.uid = getuid();
	n.gid = getgid();
	sopt.lock_ctx = p;
	assert_int_equal(session_begin(&p->depot, p->catalog, &sopt, &s, &d),
			 0);
	p->reserve_session = session_number(s);
	assert_int_equal(ingest_stream_open(s, &iopt, &st, &d), 0);
	assert_int_equal(tree_builder_new(ingest_store_piece, st, &tb, &d), 0);
	assert_int_equal(tree_builder_begin(tb, &d), 0);
	assert_int_equal(tree_builder_add(tb, &n, NULL, &d), 0);
	assert_int_equal(tree_builder_end(tb, &snap.root, &hint, &d), 0);
	tree_builder_free(tb);
	assert_int_equal(ingest_stream_close(st, &d), 0);
	snap.id[0] = (u8)(1 + flags);
	snap.root_hint = hint.hint;
	if (session_commit(s, &snap, &d))
		fail_msg("%s", d.text);
	p->reserve_session = 0;
	store_unlock_session(p, session_number(s));
	session_free(s);
	hintset_release(&hint);
	return snap.number;
}

static void test_unlisted_deletes_nothing(void **state)
{
	struct treefix *fx = *state;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	struct simpool sp;
	struct counts c = { 0 };
	u64 listed, unlisted;

	assert_int_equal(simpool_init(&sp, &d), 0);
	assert_int_equal(simpool_open(&sp, false, &p, &d), 0);
	unlisted = commit_unlisted(p, NODE_UNREADABLE);
	listed = commit_unlisted(p, 0);
	ok(mkdirat(fx->d, "dir", 0755));
	put_text(fx->d, "dir/precious", "data");
	put_text(fx->d, "extra", "data");
	ok(restore(p, unlisted, NULL, fx->dst, true, &c));
	assert_text(fx->d, "dir/precious", "data");
	assert_false(exists_at(fx->d, "extra"));
	ok(restore(p, listed, NULL, fx->dst, true, &c));
	assert_false(exists_at(fx->d, "dir/precious"));
	assert_true(exists_at(fx->d, "dir"));
	akin_pool_close(p);
	simpool_free(&sp);
}

/* A begin that fails leaves no lock: the other handle gets the number. */
static void test_failed_begin(void **state)
{
	struct sim_fault fault = { .kinds = SIM_WRITE | SIM_SYNC,
				   .code = -AKIN_E_nospace };
	struct akin_diag d;
	struct simpool sp;
	struct writer a = { .name = "a" }, b = { .name = "b" };
	u8 data[5000];
	u32 nr_failed = 0;

	memset(&d, 0, sizeof(d));
	memset(data, 3, sizeof(data));
	assert_int_equal(simpool_init(&sp, &d), 0);
	assert_int_equal(simpool_open(&sp, false, &a.p, &d), 0);
	assert_int_equal(simpool_open(&sp, false, &b.p, &d), 0);
	a.data = b.data = data;
	a.n = b.n = sizeof(data);
	for (fault.nth = 1; fault.nth < 40; fault.nth += 3) {
		simdisk_fail(sp.meta, &fault);
		a.at = 0;
		writer_main(&a);
		nr_failed += a.err != 0;
		simdisk_fail(sp.meta, &(struct sim_fault){ 0 });
		b.at = 0;
		writer_main(&b);
		if (b.err)
			fail_msg("%u: %s", (unsigned)fault.nth, b.text);
		assert_stream(a.p, b.number, "b", data, sizeof(data));
	}
	assert_in_range(nr_failed, 3, 13);
	akin_pool_close(a.p);
	akin_pool_close(b.p);
	simpool_free(&sp);
}

/* Readers that do what they must not. */
static long too_much(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	return (long)cap + 1;
}

static long fails(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	return -AKIN_E_source_read;
}

static int producer_failed(void *ctx, struct akin_diag *diag)
{
	return -AKIN_E_source_exec;
}

static void test_bad_readers(void **state)
{
	struct akin_backup_options opt = { .host = "test" };
	struct akin_backup_result r;
	struct writer w = { .n = 0 };
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	struct simpool sp;

	assert_int_equal(simpool_init(&sp, &d), 0);
	assert_int_equal(simpool_open(&sp, false, &p, &d), 0);
	assert_int_equal(akin_backup_stream(p, &opt, "x", too_much, NULL, NULL,
					    &r, &d), -AKIN_E_usage);
	memset(&d, 0, sizeof(d));
	assert_int_equal(akin_backup_stream(p, &opt, "x", fails, NULL, NULL,
					    &r, &d), -AKIN_E_source_read);
	assert_int_equal(d.code, -AKIN_E_source_read);
	memset(&d, 0, sizeof(d));
	assert_int_equal(akin_backup_stream(p, &opt, "x", writer_read,
					    producer_failed, &w, &r, &d),
			 -AKIN_E_source_exec);
	memset(&d, 0, sizeof(d));
	assert_int_equal(akin_backup_stream(p, &opt, "a/b", writer_read, NULL,
					    &w, &r, &d), -AKIN_E_usage);
	akin_pool_close(p);
	assert_int_equal(simpool_nr_snapshots(&sp, &d), 0);
	simpool_free(&sp);
}

#define with_tree(fn) \
	cmocka_unit_test_setup_teardown(fn, treefix_setup, treefix_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(test_round_trip),
		with_tree(test_parent),
		with_tree(test_excludes),
		with_tree(test_not_itself),
		with_tree(test_two_pools),
		cmocka_unit_test(test_two_sessions),
		with_tree(test_hints_stay_small),
		with_tree(test_damage_deletes_nothing),
		with_tree(test_unlisted_deletes_nothing),
		cmocka_unit_test(test_failed_begin),
		cmocka_unit_test(test_bad_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
