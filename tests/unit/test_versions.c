/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hundreds of versions of one file that changes a little each time, beside
 * others that hardly do: every version comes back to the byte, again after the
 * pool was optimized, again after most were forgotten and their space
 * reclaimed; and many versions take little more than one.
 *
 * AKIN_VERSIONS says how many (default 400), AKIN_SEED which.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "simpool.h"
#include "store/store.h"
#include "treefix.h"

#define FILE_BYTES 40000	/* at the start; it wanders from there */
#define BESIDE 4
#define MOST 100000

struct version {
	u64 number;
	u8 *data;
	size_t n;
	bool forgotten;
};

struct world {
	struct treefix *fx;
	struct simpool sp;
	struct rng rng;
	u8 beside[BESIDE][FILE_BYTES];
	struct version *v;
	u32 nr;
};

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static u32 number_of(const char *name, u32 usual)
{
	const char *text = getenv(name);

	return text ? (u32)strtoul(text, NULL, 10) : usual;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct akin_diag d = { 0 };
	void *fx = NULL;
	int i, err;

	err = treefix_setup(&fx);
	if (err)
		return err;
	w->fx = fx;
	w->rng.s = number_of("AKIN_SEED", 1);
	w->nr = number_of("AKIN_VERSIONS", 400);
	w->v = calloc(w->nr, sizeof(*w->v));
	for (i = 0; i < BESIDE; i++)
		simpool_fill((u64)i + 7, w->beside[i], FILE_BYTES);
	must(simpool_init(&w->sp, &d), &d);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	void *fx = w->fx;
	u32 i;
	int err;

	simpool_free(&w->sp);
	err = treefix_teardown(&fx);
	for (i = 0; i < w->nr; i++)
		free(w->v[i].data);
	free(w->v);
	free(w);
	return err;
}

/* Overwrite, insert, remove or append; what is new is now and then a piece of a
 * file beside it. */
static void mutate_once(struct world *w, struct version *v)
{
	size_t at = rng_below(&w->rng, v->n + 1);
	size_t n = 1 + rng_below(&w->rng, 400);
	u8 piece[400], *from = piece;

	rng_fill(&w->rng, piece, n);
	if (rng_below(&w->rng, 8) == 0)
		from = w->beside[rng_below(&w->rng, BESIDE)] +
		       rng_below(&w->rng, FILE_BYTES - n);
	switch (rng_below(&w->rng, 4)) {
	case 0:
		n = min_u64(n, v->n - at);
		memcpy(v->data + at, from, n);
		break;
	case 1:
		n = min_u64(n, v->n - at);
		memmove(v->data + at, v->data + at + n, v->n - at - n);
		v->n -= n;
		break;
	case 2:
		at = v->n;
		/* fall through */
	default:
		if (v->n + n > MOST)
			return;
		memmove(v->data + at + n, v->data + at, v->n - at);
		memcpy(v->data + at, from, n);
		v->n += n;
	}
}

static void make_version(struct world *w, u32 i)
{
	struct version *v = &w->v[i];
	u64 k;

	v->data = malloc(MOST);
	if (i == 0) {
		v->n = FILE_BYTES;
		simpool_fill(w->rng.s, v->data, v->n);
		return;
	}
	v->n = v[-1].n;
	memcpy(v->data, v[-1].data, v->n);
	for (k = rng_below(&w->rng, 6); k; k--)
		mutate_once(w, v);
}

static void put_version(struct world *w, u32 i)
{
	const char *path = w->fx->src;
	struct akin_backup_options opt = { .host = "test", .paths = &path,
					   .nr_paths = 1 };
	struct version *v = &w->v[i];
	struct akin_backup_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	char name[8];
	u32 k = i % BESIDE;

	(void)unlinkat(w->fx->s, "file", 0);	/* there is none at first */
	put_bytes(w->fx->s, "file", v->data, v->n, 0);
	if (i < BESIDE || rng_below(&w->rng, 10) == 0) {
		w->beside[k][rng_below(&w->rng, FILE_BYTES)] ^= 1;
		snprintf(name, sizeof(name), "b%u", k);
		put_bytes(w->fx->s, name, w->beside[k], FILE_BYTES, 0);
	}
	/* Each engine now and then, and each depth. */
	opt.engine = rng_below(&w->rng, 4) ? AKIN_ENGINE_DEFAULT :
		     (enum akin_engine)(1 + rng_below(&w->rng, 3));
	if (rng_below(&w->rng, 4) == 0)
		opt.delta_depth = (int)rng_below(&w->rng, 10) - 1;
	must(simpool_open(&w->sp, false, &p, &d), &d);
	must(akin_backup_tree(p, &opt, &r, &d), &d);
	akin_pool_close(p);
	v->number = r.number;
}

struct compare {
	const struct version *v;
	size_t at;
};

static int compare_data(void *ctx, const void *data, size_t n)
{
	struct compare *c = ctx;

	if (c->at + n > c->v->n || memcmp(c->v->data + c->at, data, n))
		return -AKIN_E_differs;
	c->at += n;
	return 0;
}

static void expect_all(struct world *w, const char *when)
{
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	char path[128];
	u32 i;
	int err;

	snprintf(path, sizeof(path), "%s/file", w->fx->src);
	must(simpool_open(&w->sp, true, &p, &d), &d);
	for (i = 0; i < w->nr; i++) {
		struct compare c = { &w->v[i], 0 };

		if (w->v[i].forgotten)
			continue;
		err = akin_snapshot_read(p, w->v[i].number, path, compare_data,
					 NULL, &c, &d);
		if (err || c.at != w->v[i].n)
			fail_msg("%s: version %u is not what it was: %s", when,
				 i, d.text);
	}
	akin_pool_close(p);
	simpool_expect_sound(&w->sp, when);
}

static void optimize(struct world *w)
{
	struct akin_optimize_options opt = { 0 };
	struct akin_optimize_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(&w->sp, false, &p, &d), &d);
	must(akin_optimize(p, &opt, &r, &d), &d);
	akin_pool_close(p);
}

static void forget(struct world *w, u32 one_in)
{
	struct akin_forget_options opt = { 0 };
	struct akin_forget_result r;
	u64 *numbers = calloc(w->nr, sizeof(*numbers));
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	u32 i;

	for (i = 0; i + 1 < w->nr; i++) {
		if (w->v[i].forgotten || rng_below(&w->rng, one_in) == 0)
			continue;
		w->v[i].forgotten = true;
		numbers[opt.nr_snapshots++] = w->v[i].number;
	}
	opt.snapshots = numbers;
	must(simpool_open(&w->sp, false, &p, &d), &d);
	if (opt.nr_snapshots)
		must(akin_forget(p, &opt, &r, &d), &d);
	akin_pool_close(p);
	free(numbers);
}

static void reclaim(struct world *w)
{
	struct akin_gc_options opt = { .threshold = 1 };
	struct akin_gc_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(&w->sp, false, &p, &d), &d);
	must(akin_gc(p, &opt, &r, &d), &d);
	akin_pool_close(p);
}

/* Bytes of containers. */
static u64 usage(struct world *w)
{
	struct sim_name *names;
	size_t nr, i;
	u64 sum = 0;

	names = simdisk_names(w->sp.data, &nr);
	for (i = 0; i < nr; i++)
		if (!names[i].is_dir && !strncmp(names[i].path, "containers/",
						 11))
			sum += names[i].size_bytes;
	simdisk_names_free(names, nr);
	return sum;
}

/* F19: reclaiming needs hardly any room, though most containers are partly
 * alive. */
static void nearly_full(struct world *w)
{
	u64 used = simdisk_used(w->sp.data);

	simdisk_set_capacity(w->sp.data, used + used * 3 / 100);
}

static void test_versions(void **state)
{
	u64 logical = 0, stored, optimized, left;
	struct world *w = *state;
	u32 i;

	for (i = 0; i < w->nr; i++) {
		make_version(w, i);
		put_version(w, i);
		logical += w->v[i].n;
	}
	stored = usage(w);
	expect_all(w, "stored");
	optimize(w);
	expect_all(w, "optimized");
	reclaim(w);
	optimized = usage(w);
	expect_all(w, "optimized and reclaimed");
	nearly_full(w);
	forget(w, 3);
	reclaim(w);
	assert_true(usage(w) < optimized);
	simdisk_set_capacity(w->sp.data, 0);
	expect_all(w, "two thirds forgotten");
	forget(w, 20);
	reclaim(w);
	left = usage(w);
	expect_all(w, "hardly any left");
	print_message("# %u versions, %llu bytes: %llu stored, %llu optimized, "
		      "%llu in the end\n", w->nr, (unsigned long long)logical,
		      (unsigned long long)stored,
		      (unsigned long long)optimized, (unsigned long long)left);
	/* It may grow a little where there is little: the metadata is new. */
	assert_true(optimized < stored * 3 / 2);
	assert_true(left < stored);
	if (w->nr >= 100)
		assert_true(stored * 4 < logical);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
