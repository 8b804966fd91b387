/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index as a cache: lost in part or whole it is rebuilt from the
 * containers, whenever that is cut short; its files live as long as somebody
 * may need them, and no longer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "container/container_reader.h"
#include "indexworld.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"

#define OK(expr) assert_int_equal(expr, 0)
#define BYTES (200 * 1024)
#define NR_STREAMS 3
#define NOTES 8

struct notes {
	u32 nr;
	char text[NOTES][512];
};

static void note(void *ctx, const char *text)
{
	struct notes *n = ctx;

	assert_true(n->nr < NOTES);
	snprintf(n->text[n->nr++], sizeof(n->text[0]), "%s", text);
}

static u8 *stream_data(u64 seed, size_t n)
{
	u8 *data = malloc(n);

	simpool_fill(seed, data, n);
	return data;
}

struct input {
	const u8 *data;
	size_t left;
};

static long input_read(void *ctx, void *buf, size_t cap,
		       struct akin_diag *diag)
{
	struct input *in = ctx;
	size_t n = min_u64(in->left, cap);

	memcpy(buf, in->data, n);
	in->data += n;
	in->left -= n;
	return (long)n;
}

/* One backup through an opened pool; how many chunks were new. */
static u64 put_on(struct akin_pool *p, u64 seed, size_t n, struct notes *notes)
{
	struct akin_backup_options opt = { .host = "test", .ctx = notes,
					   .waiting = notes ? note : NULL };
	struct akin_backup_result result;
	struct akin_diag d = { 0 };
	u8 *data = stream_data(seed, n);
	struct input in = { data, n };
	char name[32];

	snprintf(name, sizeof(name), "stream %llu", (unsigned long long)seed);
	if (akin_backup_stream(p, &opt, name, input_read, NULL, &in, &result,
			       &d))
		fail_msg("%s", d.text);
	free(data);
	return result.chunks_new;
}

static struct akin_pool *open_pool(struct simpool *sp)
{
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	if (simpool_open(sp, false, &p, &d))
		fail_msg("%s", d.text);
	return p;
}

/* The same in a process of its own. */
static u64 put(struct simpool *sp, u64 seed, struct notes *notes)
{
	struct akin_pool *p = open_pool(sp);
	u64 nr_new = put_on(p, seed, BYTES, notes);

	akin_pool_close(p);
	return nr_new;
}

static void expect_stream(struct simpool *sp, u64 seed)
{
	u8 *data = stream_data(seed, BYTES);
	struct akin_diag d = { 0 };
	enum simpool_found found;
	char name[32];

	snprintf(name, sizeof(name), "stream %llu", (unsigned long long)seed);
	if (simpool_get(sp, name, data, BYTES, &found, &d))
		fail_msg("%s", d.text);
	assert_int_equal(found, SIMPOOL_WHOLE);
	free(data);
}

/* Streams 1 to NR_STREAMS, each with a run of its own. */
static struct simpool new_pool(void)
{
	struct akin_diag d = { 0 };
	struct simpool sp;
	u64 seed;

	OK(simpool_init(&sp, &d));
	for (seed = 1; seed <= NR_STREAMS; seed++)
		assert_true(put(&sp, seed, NULL) > 0);
	return sp;
}

/* ---- what the index answers ---- */

struct asking {
	struct akin_pool *p;
	struct index *ix;
	u64 hash;		/* of all questions and answers */
	u64 nr, nr_missing;	/* chunks; not found where they are */
	u64 skip;		/* container that is not asked about */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->container != y->container)
		return x->container < y->container ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void mix(u64 *hash, u64 n)
{
	*hash = (*hash ^ n) * 0x9e3779b97f4a7c15ull;
	*hash ^= *hash >> 29;
}

static void ask(struct asking *a, const struct fp *fp, u64 container, u32 entry)
{
	struct place at[16];
	bool found = false;
	u32 nr, i;

	OK(index_lookup_disk(a->ix, fp, at, ARRAY_SIZE(at), &nr, NULL));
	qsort(at, nr, sizeof(at[0]), compare_places);
	mix(&a->hash, fp_prefix(fp));
	for (i = 0; i < nr; i++) {
		mix(&a->hash, at[i].container);
		mix(&a->hash, at[i].entry);
		found |= at[i].container == container && at[i].entry == entry;
	}
	a->nr++;
	a->nr_missing += !found;
}

static int ask_container(void *ctx, const struct catalog_container *row)
{
	struct container_reader *r;
	const struct directory *dir;
	struct asking *a = ctx;
	u32 i;

	if (row->number == a->skip)
		return 0;
	OK(container_open(a->p->data, &a->p->super.pool, row->number,
			  row->generation, &r, NULL));
	dir = container_directory(r);
	for (i = 0; i < dir->nr_entries; i++)
		ask(a, &dir->entries[i].fp, row->number,
		    dir->entries[i].entry);
	container_close(r);
	return 0;
}

static struct asking ask_all(struct akin_pool *p)
{
	struct asking a = { .p = p, .ix = p->index };

	OK(catalog_each_container(p->catalog, ask_container, &a, NULL));
	assert_true(a.nr > 100);
	return a;
}

/* Everything is found, by a process that has just opened the pool. */
static u64 expect_complete(struct simpool *sp)
{
	struct akin_pool *p = open_pool(sp);
	struct asking a = ask_all(p);

	assert_int_equal(a.nr_missing, 0);
	assert_int_equal(index_damage(p->index, NULL, 0), 0);
	akin_pool_close(p);
	return a.hash;
}

static void count_finding(void *ctx, int code, const char *text,
			  const char *snapshot, const char *path)
{
	if (code)
		fail_msg("finding: %s", text);
}

static void expect_clean(struct simpool *sp)
{
	struct akin_check_options opt = { .finding = count_finding,
					  .read_data = true };
	struct akin_pool *p = open_pool(sp);
	struct akin_check_result res;
	struct akin_diag d = { 0 };

	if (akin_check(p, &opt, &res, &d))
		fail_msg("%s", d.text);
	assert_int_equal(res.findings, 0);
	assert_int_equal(res.orphan_files, 0);
	akin_pool_close(p);
}

/* ---- files ---- */

static u32 nr_files(struct simpool *sp, const char *dir)
{
	struct sim_name *names;
	size_t nr, i;
	u32 found = 0;

	names = simdisk_names(sp->meta, &nr);
	for (i = 0; i < nr; i++)
		found += !names[i].is_dir &&
			 !strncmp(names[i].path, dir, strlen(dir));
	simdisk_names_free(names, nr);
	return found;
}

/* The @nth file in runs/, as sorted by number. */
static struct sim_name nth_run(struct simpool *sp, u32 nth, char *name)
{
	struct sim_name *names, found = { 0 };
	size_t nr, i;

	names = simdisk_names(sp->meta, &nr);
	for (i = 0; i < nr; i++) {
		if (names[i].is_dir || strncmp(names[i].path, "runs/", 5) ||
		    nth--)
			continue;
		snprintf(name, FORMAT_NAME_MAX, "%s", names[i].path);
		found = names[i];
		found.path = name;
		break;
	}
	simdisk_names_free(names, nr);
	assert_non_null(found.path);
	return found;
}

static void unlink_file(struct simpool *sp, const char *name)
{
	struct disk *d = simdisk_attach(sp->meta, true);

	OK(disk_unlink(d, name, NULL));
	disk_free(d);
}

static void make_file(struct simpool *sp, const char *name)
{
	struct disk *d = simdisk_attach(sp->meta, true);
	struct file *f;

	OK(disk_open(d, name, DISK_WRITE | DISK_CREATE | DISK_EXCL, &f, NULL));
	OK(file_pwrite(f, "x", 1, 0, NULL));
	OK(file_close(f, NULL));
	disk_free(d);
}

static void cut_file(struct simpool *sp, const char *name, u64 size)
{
	struct disk *d = simdisk_attach(sp->meta, true);
	struct file *f;

	OK(disk_open(d, name, DISK_WRITE, &f, NULL));
	OK(file_truncate(f, size, NULL));
	OK(file_close(f, NULL));
	disk_free(d);
}

static u64 nr_rows(struct simpool *sp)
{
	struct akin_pool *p = open_pool(sp);
	struct catalog_totals t;

	OK(catalog_totals(p->catalog, &t, NULL));
	akin_pool_close(p);
	return t.nr_runs;
}

/* ---- damage that shows when a backup begins ---- */

enum harm { LOSE_ALL, LOSE_ONE, CUT_ONE, BEHEAD_ONE, ALIEN_ONE, NR_HARMS };

static void harm(struct simpool *sp, enum harm what)
{
	char name[FORMAT_NAME_MAX];
	struct sim_name run;
	u8 head[64] = { 1 };

	run = nth_run(sp, 1, name);
	switch (what) {
	case LOSE_ALL:
		while (nr_files(sp, "runs/")) {
			nth_run(sp, 0, name);
			unlink_file(sp, name);
		}
		break;
	case LOSE_ONE:
		unlink_file(sp, name);
		break;
	case CUT_ONE:
		cut_file(sp, name, run.size_bytes - 1);
		break;
	case BEHEAD_ONE:
		simdisk_poke(sp->meta, name, 0, head, sizeof(head));
		break;
	default:	/* whole, but another's number */
		simdisk_flip_bit(sp->meta, name, 24, 0);
		break;
	}
}

static void test_mended_when_a_backup_begins(void **state)
{
	struct simpool base = new_pool(), sp;
	struct notes notes;
	enum harm what;
	u64 seed;

	for (what = 0; what < NR_HARMS; what++) {
		sp = simpool_clone(&base);
		harm(&sp, what);
		/* Without the index: by hints. */
		assert_int_equal(simpool_nr_snapshots(&sp, NULL), NR_STREAMS);
		for (seed = 1; seed <= NR_STREAMS; seed++)
			expect_stream(&sp, seed);
		memset(&notes, 0, sizeof(notes));
		for (seed = NR_STREAMS; seed >= 1; seed--)
			assert_int_equal(put(&sp, seed, &notes), 0);
		assert_int_equal(notes.nr, 1);
		assert_non_null(strstr(notes.text[0], "rebuilding the index"));
		expect_complete(&sp);
		expect_clean(&sp);
		simpool_free(&sp);
	}
	simpool_free(&base);
}

static void see_progress(void *ctx, const struct akin_progress *p)
{
	*(struct akin_progress *)ctx = *p;
}

static void test_rebuilt_on_request(void **state)
{
	struct akin_progress seen = { 0 };
	struct akin_index_options opt = { .progress = see_progress,
					  .ctx = &seen };
	struct simpool sp = new_pool();
	u64 whole = expect_complete(&sp);
	struct akin_index_result res;
	struct akin_pool *p;

	OK(simpool_open(&sp, true, &p, NULL));
	assert_int_equal(akin_index_rebuild(p, &opt, &res, NULL),
			 -AKIN_E_readonly);
	akin_pool_close(p);
	harm(&sp, LOSE_ALL);
	p = open_pool(&sp);
	OK(akin_index_rebuild(p, &opt, &res, NULL));
	assert_int_equal(res.runs, 1);
	assert_int_equal(res.containers, 2 * NR_STREAMS);
	assert_int_equal(res.containers_unreadable, 0);
	assert_int_equal(seen.files, 2 * NR_STREAMS);
	assert_int_equal(seen.files_total, 2 * NR_STREAMS);
	assert_true(seen.bytes > 35 * res.entries);
	assert_true(ask_all(p).hash == whole);
	/* This process goes on with it. */
	assert_int_equal(put_on(p, 2, BYTES, NULL), 0);
	akin_pool_close(p);
	simpool_free(&sp);
}

/* ---- damage that only reading shows ---- */

static void test_mended_at_the_end(void **state)
{
	struct simpool sp = new_pool();
	char name[FORMAT_NAME_MAX];
	struct notes notes = { 0 };
	struct sim_name run;

	run = nth_run(&sp, 0, name);
	simdisk_flip_bit(sp.meta, name, run.size_bytes - 1000, 5);
	/* New data: the table is loaded, and the page found bad. */
	assert_true(put(&sp, 9, &notes) > 0);
	assert_int_equal(notes.nr, 1);
	assert_int_equal(nr_files(&sp, "runs/"), 1);
	expect_complete(&sp);
	expect_clean(&sp);
	notes.nr = 0;
	assert_int_equal(put(&sp, 1, &notes), 0);
	assert_int_equal(notes.nr, 0);
	simpool_free(&sp);
}

/* ---- a rebuild that is cut short ---- */

static int rebuild(struct simpool *sp)
{
	struct akin_index_result res;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	int err;

	err = simpool_open(sp, false, &p, &d);
	if (err)
		return err;
	err = akin_index_rebuild(p, NULL, &res, &d);
	akin_pool_close(p);
	return err;
}

static void expect_after(struct simpool *sp, u64 whole, const char *where)
{
	u64 seed;

	for (seed = 1; seed <= NR_STREAMS; seed++)
		expect_stream(sp, seed);
	if (rebuild(sp))
		fail_msg("%s: no rebuild", where);
	if (expect_complete(sp) != whole)
		fail_msg("%s: other answers", where);
	assert_int_equal(nr_rows(sp), 1);
	if (nr_files(sp, "runs/") != 1)
		fail_msg("%s: %u files", where, nr_files(sp, "runs/"));
}

/* Two runs are left, one of them damaged: there is something to unlink. */
static void test_stopped_at_every_operation(void **state)
{
	struct simpool base = new_pool(), sp, after;
	u64 whole = expect_complete(&base), total, n, done = 0;
	char what[128], where[192];
	int mode;

	harm(&base, LOSE_ONE);
	sp = simpool_clone(&base);
	total = simdisk_nr_ops(sp.meta);
	OK(rebuild(&sp));
	total = simdisk_nr_ops(sp.meta) - total;
	simpool_free(&sp);
	assert_in_range(total, 15, 500);
	for (n = 1; n <= total; n++) {
		sp = simpool_clone(&base);
		simdisk_crash_at(sp.meta, simdisk_nr_ops(sp.meta) + n);
		done += rebuild(&sp) == 0;
		simdisk_describe(sp.meta, n, what, sizeof(what));
		for (mode = -1; mode < SIM_NR_MODES; mode++) {
			snprintf(where, sizeof(where), "stopped at %llu (%s), "
				 "mode %d", (unsigned long long)n, what, mode);
			/* A clone is what kill -9 leaves. */
			after = mode < 0 ? simpool_clone(&sp) :
				simpool_reboot(&sp, n * 5 + (u64)mode, mode);
			expect_after(&after, whole, where);
			simpool_free(&after);
		}
		simpool_free(&sp);
	}
	/* After the transaction only space can be lost. */
	assert_in_range(done, 1, total / 2);
	simpool_free(&base);
}

static void test_without_memory(void **state)
{
	struct simpool base = new_pool(), sp;
	u64 whole = expect_complete(&base), n, nr_failed = 0;
	struct akin_index_result res;
	struct akin_pool *p;
	int err = -1;

	harm(&base, LOSE_ONE);
	for (n = 1; err; n += 1 + n / 40) {
		sp = simpool_clone(&base);
		p = open_pool(&sp);
		mem_fail_after(n);
		err = akin_index_rebuild(p, NULL, &res, NULL);
		mem_fail_after(0);
		nr_failed += err != 0;
		/* Old or new, it works, and this handle can try again. */
		if (err) {
			assert_int_equal(akin_error_class(err),
					 AKIN_CLASS_NOMEM);
			ask_all(p);
			OK(akin_index_rebuild(p, NULL, &res, NULL));
		}
		assert_true(ask_all(p).hash == whole);
		akin_pool_close(p);
		assert_int_equal(nr_files(&sp, "runs/"), 1);
		simpool_free(&sp);
	}
	assert_true(nr_failed > 10);
	simpool_free(&base);
}

static void test_failure_stops_no_backup(void **state)
{
	struct sim_fault fault = { .kinds = SIM_WRITE, .nth = 1,
				   .code = -AKIN_E_nospace, .name = "runs/" };
	struct simpool sp = new_pool();
	struct notes notes = { 0 };
	struct akin_index_result res;
	struct akin_pool *p;

	harm(&sp, LOSE_ALL);
	simdisk_fail(sp.meta, &fault);
	/* Without an index: what it follows is found all the same. */
	put(&sp, 1, &notes);
	assert_int_equal(simdisk_nr_faults(sp.meta), 1);
	assert_int_equal(notes.nr, 2);
	assert_non_null(strstr(notes.text[1], "could not be rebuilt"));
	expect_stream(&sp, 1);
	/* Stopping is not failing. */
	p = open_pool(&sp);
	akin_pool_stop(p);
	assert_int_equal(akin_index_rebuild(p, NULL, &res, NULL),
			 -AKIN_E_interrupted);
	akin_pool_close(p);
	notes.nr = 0;
	assert_int_equal(put(&sp, 2, &notes), 0);
	assert_int_equal(notes.nr, 1);
	expect_complete(&sp);
	expect_clean(&sp);
	simpool_free(&sp);
}

/* ---- containers that cannot be read ---- */

static int last_data(void *ctx, const struct catalog_container *row)
{
	if (row->kind == CONTAINER_DATA)
		*(struct catalog_container *)ctx = *row;
	return 0;
}

static void test_unreadable_container(void **state)
{
	struct simpool sp = new_pool();
	struct catalog_container last = { 0 };
	struct akin_index_result res;
	char name[FORMAT_NAME_MAX];
	struct akin_pool *p;
	struct asking a;

	p = open_pool(&sp);
	OK(catalog_each_container(p->catalog, last_data, &last, NULL));
	akin_pool_close(p);
	format_container_name(last.number, 0, name);
	harm(&sp, LOSE_ONE);
	simdisk_flip_bit(sp.data, name, last.dir_off + last.dir_len / 2, 2);
	p = open_pool(&sp);
	OK(akin_index_rebuild(p, NULL, &res, NULL));
	assert_int_equal(res.containers_unreadable, 1);
	assert_int_equal(res.containers, 2 * NR_STREAMS - 1);
	a = (struct asking){ .p = p, .ix = p->index, .skip = last.number };
	OK(catalog_each_container(p->catalog, ask_container, &a, NULL));
	assert_int_equal(a.nr_missing, 0);
	akin_pool_close(p);
	/* The run that was lost is replaced, the sound ones stay: they know
	 * what is in that container. */
	assert_int_equal(nr_rows(&sp), NR_STREAMS);
	simdisk_flip_bit(sp.data, name, last.dir_off + last.dir_len / 2, 2);
	expect_complete(&sp);
	expect_clean(&sp);
	simpool_free(&sp);
}

/* ---- several processes ---- */

/* Many small backups, until runs have been merged. */
static void make_merge(struct simpool *sp)
{
	u64 seed;

	for (seed = 50; seed < 58; seed++)
		put(sp, seed, NULL);
	assert_in_range(nr_rows(sp), 1, 7);
	assert_int_equal(nr_files(sp, "runs/"), nr_rows(sp));
}

static void test_reader_of_merged_runs(void **state)
{
	struct simpool sp = new_pool();
	struct akin_pool *reader, *loader, *writer;
	struct index_stats st;
	struct asking a;
	struct fp fp;

	reader = open_pool(&sp);
	loader = open_pool(&sp);
	writer = open_pool(&sp);
	make_merge(&sp);
	/* Every run they know is gone, and none was open. */
	a = ask_all(reader);
	assert_int_equal(a.nr_missing, 0);
	assert_int_equal(index_damage(reader->index, NULL, 0), 0);
	index_get_stats(reader->index, &st);
	assert_int_equal(st.bad_pages, 0);
	/* The table's first miss meets the same. */
	memset(&fp, 7, sizeof(fp));
	OK(index_lookup(loader->index, &fp, 1, &(struct place){ 0 }, NULL));
	index_get_stats(loader->index, &st);
	assert_int_equal(st.bad_pages, 0);
	assert_true(st.table_entries >= a.nr / 2);
	/* And a backup of what others have stored meanwhile. */
	assert_int_equal(put_on(writer, 51, BYTES, NULL), 0);
	akin_pool_close(reader);
	akin_pool_close(loader);
	akin_pool_close(writer);
	expect_clean(&sp);
	simpool_free(&sp);
}

struct busy_check {
	struct simpool *sp;
	bool merged;
};

/* So long that the next step reports, too; others merge between two runs. */
static void merge_meanwhile(void *ctx, const struct akin_progress *p)
{
	struct timespec ts = { 0, 220 * 1000 * 1000 };
	struct busy_check *b = ctx;

	if (b->merged)
		return;
	b->merged = strcmp(p->current, "index") == 0;
	if (b->merged)
		make_merge(b->sp);
	else
		nanosleep(&ts, NULL);
}

static void test_check_while_others_merge(void **state)
{
	struct simpool sp = new_pool();
	struct busy_check b = { &sp, false };
	struct akin_check_options opt = { .progress = merge_meanwhile,
					  .ctx = &b };
	struct akin_check_result res;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	p = open_pool(&sp);
	if (akin_check(p, &opt, &res, &d))
		fail_msg("%s", d.text);
	assert_true(b.merged);
	assert_int_equal(res.findings, 0);
	akin_pool_close(p);
	simpool_free(&sp);
}

/* The manifest names a run that is gone: that is damage, and no news. */
static void test_lost_is_not_merged(void **state)
{
	struct simpool sp = new_pool();
	struct akin_pool *p = open_pool(&sp);
	struct asking a;

	harm(&sp, LOSE_ONE);
	a = ask_all(p);
	assert_true(a.nr_missing > 0 && a.nr_missing < a.nr);
	assert_int_equal(index_damage(p->index, NULL, 0), 1);
	akin_pool_close(p);
	simpool_free(&sp);
}

/* Two that find the damage: whoever is late takes what is there. */
static void test_two_rebuild(void **state)
{
	struct akin_index_result res;
	struct simpool sp = new_pool();
	u64 whole = expect_complete(&sp);
	struct akin_pool *a, *b;

	harm(&sp, LOSE_ONE);
	a = open_pool(&sp);
	b = open_pool(&sp);
	OK(index_probe(a->index, NULL));
	OK(index_probe(b->index, NULL));
	OK(akin_index_rebuild(a, NULL, &res, NULL));
	assert_int_equal(put_on(b, 1, BYTES, NULL), 0);
	assert_int_equal(index_damage(b->index, NULL, 0), 0);
	OK(akin_index_rebuild(a, NULL, &res, NULL));
	assert_int_equal(nr_files(&sp, "runs/"), 1);
	assert_int_equal(ask_all(b).nr_missing, 0);
	akin_pool_close(a);
	akin_pool_close(b);
	assert_true(expect_complete(&sp) != whole);	/* one backup more */
	expect_clean(&sp);
	simpool_free(&sp);
}

/* ---- orphans ---- */

static const char *const orphans[] = {
	"runs/0000000000000063", "runs/0000000000000064",
	"tmp/tmp-123-4f-0",
};
static const char *const strangers[] = {
	"runs/README", "runs/0000000000000063.bak", "runs/00063", "tmp/x",
};

static void test_orphans(void **state)
{
	struct simpool sp = new_pool();
	struct catalog_session info = { 0 };
	struct akin_pool *other, *p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(orphans); i++)
		make_file(&sp, orphans[i]);
	for (i = 0; i < ARRAY_SIZE(strangers); i++)
		make_file(&sp, strangers[i]);
	/* While somebody else's session lives, they may be its files. */
	other = open_pool(&sp);
	store_session_info("other", "backup", &info);
	OK(catalog_session_begin(other->catalog, &info, store_lock_session,
				 other, &info, NULL));
	put(&sp, 1, NULL);
	assert_int_equal(nr_files(&sp, "runs/"), NR_STREAMS + 1 + 2 + 3);
	assert_int_equal(nr_files(&sp, "tmp/"), 2);
	/* Also after its commit, as long as it holds its byte. */
	OK(catalog_session_end(other->catalog, info.number, NULL));
	put(&sp, 2, NULL);
	assert_int_equal(nr_files(&sp, "tmp/"), 2);
	akin_pool_close(other);
	/* Opened is not living. */
	other = open_pool(&sp);
	p = open_pool(&sp);
	put_on(p, 3, BYTES, NULL);
	akin_pool_close(p);
	/* What an older handle does not know, the catalog does. */
	store_sweep(other);
	akin_pool_close(other);
	assert_int_equal(nr_files(&sp, "runs/"), NR_STREAMS + 3 + 3);
	assert_int_equal(nr_rows(&sp), NR_STREAMS + 3);
	assert_int_equal(nr_files(&sp, "tmp/"), 1);
	expect_complete(&sp);
	simpool_free(&sp);
}

/* A session that ends without commit takes its files along. */
static void test_discard(void **state)
{
	struct index_changes ch = { 0 }, again = { 0 };
	struct world w;
	u64 i, from = 0;

	world_init(&w, 1 * MiB);
	for (i = 0; i < 2; i++, from += 20000) {
		OK(add_chunks(&w, from, from + 20000));
		assert_true(files_in_runs(&w) > 2);
		index_discard(w.ix);
		assert_int_equal(files_in_runs(&w), w.nr_runs);
		assert_int_equal(check_memory(&w, from, from + 20000,
					      RUN_LEVELS), 0);
		assert_int_equal(stats_of(&w).pending_entries, 0);
		/* What is committed is not forgotten. */
		OK(add_chunks(&w, from, from + 3000));
		OK(world_flush(&w));
		check_disk(&w, from, from + 3000, 10);
	}
	check_disk(&w, 0, 3000, 10);
	load_all(&w);
	assert_int_equal(check_memory(&w, 0, 3000, 0), 3000);
	/* A flush that was not committed is named again. */
	OK(add_chunks(&w, 90000, 93000));
	OK(index_flush(w.ix, &ch, NULL));
	assert_int_equal(ch.nr_added, 1);
	index_unflush(w.ix, &ch);
	OK(index_flush(w.ix, &again, NULL));
	assert_int_equal(again.nr_added, 1);
	assert_true(again.added[0].number == ch.added[0].number);
	index_changes_release(&ch);
	index_changes_release(&again);
	world_release(&w);
}

/* ---- a budget far too small ---- */

static void test_bounded_memory(void **state)
{
	const size_t n = 48 * MiB;
	struct akin_index_result res;
	struct akin_diag d = { 0 };
	struct simpool sp;
	struct akin_pool *p;
	struct asking a;
	size_t before, after;
	u8 *data = malloc(n);
	struct rng r = { 77 };

	rng_fill(&r, data, n);
	OK(simpool_init(&sp, &d));
	OK(simpool_put(&sp, "big", data, n, &d));
	free(data);
	harm(&sp, LOSE_ALL);
	p = open_pool(&sp);
	p->budget.index = INDEX_MIN_BYTES;
	before = heap_bytes();
	OK(akin_index_rebuild(p, NULL, &res, NULL));
	after = heap_bytes();
	assert_true(after < before + INDEX_MIN_BYTES);
	/* Eight and more spills were merged on the way. */
	assert_true(res.entries > 36000);
	assert_in_range(res.runs, 2, 15);
	assert_int_equal(nr_files(&sp, "runs/"), res.runs);
	a = ask_all(p);
	assert_int_equal(a.nr_missing, 0);
	assert_int_equal(a.nr, res.entries);
	akin_pool_close(p);
	simpool_free(&sp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mended_when_a_backup_begins),
		cmocka_unit_test(test_rebuilt_on_request),
		cmocka_unit_test(test_mended_at_the_end),
		cmocka_unit_test(test_stopped_at_every_operation),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_failure_stops_no_backup),
		cmocka_unit_test(test_unreadable_container),
		cmocka_unit_test(test_reader_of_merged_runs),
		cmocka_unit_test(test_check_while_others_merge),
		cmocka_unit_test(test_lost_is_not_merged),
		cmocka_unit_test(test_two_rebuild),
		cmocka_unit_test(test_orphans),
		cmocka_unit_test(test_discard),
		cmocka_unit_test(test_bounded_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
