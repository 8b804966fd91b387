/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What streams should reach, beside what this machine can: ratios, each with
 * its bar.
 *
 * Both sides of a ratio are measured one right after the other, round by round,
 * and the median of the rounds' ratios counts: what else the machine does is in
 * both. Ratios that are about processors use a pool in memory.
 */
#include <blake3.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "loadgen_feed.h"
#include "measure_pool.h"

#define STREAMS 8
#define STREAM_BYTES ((uint64_t)64 << 20)
#define ROUNDS 3
#define OFFER 1000000000u
/* Where one unit meets another, chunks are new whatever the units are: so large
 * ones, that what repeats does. */
#define UNIT (1u << 20)
/* What repeats is made once, so that its making is not measured. */
#define KEEP_BYTES ((size_t)64 << 20)
#define MESSAGE (64u << 10)
#define HASH_BYTES (4u << 20)
#define HASH_SECONDS 0.2
#define MAX_PROCESSORS 64
#define MEMORY_DIR "/dev/shm"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct measure_column targets_columns[] = {
	{ "ratio", "ratio", 2 },
	{ "bar", "bar", 2 },
	{ "met", "met", 0 },
	{ "mb_per_s", "MB/s", 0 },
	{ "beside_mb_per_s", "beside MB/s", 0 },
	{ "mb_per_cpu_s", "MB/cpu s", 0 },
	{ "beside_mb_per_cpu_s", "beside", 0 },
};

struct targets {
	const struct measure_options *opt;
	struct measure_options memory;	/* pools in memory */
	struct loadgen *repeats, *random;	/* of STREAMS streams */
	struct loadgen *one;	/* a stream that repeats, as large as all */
	uint64_t bytes;
	struct measure_report *r;
};

/* Measures something once, in MB/s. */
typedef int (*measure_fn)(struct targets *t, const struct measure_options *opt,
			  double *rate_ret, struct akin_diag *diag);

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int feed_new_pool(const struct measure_options *opt,
			 const struct loadgen *l, uint64_t offer, bool back,
			 double *rate_ret, struct akin_diag *diag)
{
	struct loadgen_back restored = { 0 };
	struct loadgen_fed fed = { 0 };
	struct measure_pool p;
	int err;

	err = measure_pool_open(&p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (!err)
		err = measure_feed_at(&p, l, offer, &fed, diag);
	if (!err && back)
		err = measure_restore(&p, opt, l, fed.result.transaction,
				      &restored, diag);
	*rate_ret = back ? measure_rate(restored.bytes, restored.ns) :
		    measure_rate(fed.bytes, fed.result.elapsed_ns);
	measure_pool_close(&p);
	return err;
}

static int run_repeating(struct targets *t, const struct measure_options *opt,
			 double *rate_ret, struct akin_diag *diag)
{
	return feed_new_pool(opt, t->repeats, 0, false, rate_ret, diag);
}

static int run_one(struct targets *t, const struct measure_options *opt,
		   double *rate_ret, struct akin_diag *diag)
{
	return feed_new_pool(opt, t->one, 0, false, rate_ret, diag);
}

static int run_random(struct targets *t, const struct measure_options *opt,
		      double *rate_ret, struct akin_diag *diag)
{
	return feed_new_pool(opt, t->random, 0, false, rate_ret, diag);
}

static int run_repeating_offered(struct targets *t,
				 const struct measure_options *opt,
				 double *rate_ret, struct akin_diag *diag)
{
	return feed_new_pool(opt, t->repeats, OFFER, false, rate_ret, diag);
}

static int run_random_offered(struct targets *t,
			      const struct measure_options *opt,
			      double *rate_ret, struct akin_diag *diag)
{
	return feed_new_pool(opt, t->random, OFFER, false, rate_ret, diag);
}

static int run_restore_repeating(struct targets *t,
				 const struct measure_options *opt,
				 double *rate_ret, struct akin_diag *diag)
{
	return feed_new_pool(opt, t->repeats, 0, true, rate_ret, diag);
}

static int run_restore_random(struct targets *t,
			      const struct measure_options *opt,
			      double *rate_ret, struct akin_diag *diag)
{
	return feed_new_pool(opt, t->random, 0, true, rate_ret, diag);
}

/* The BLAKE3 library, on every processor at once -----------------------------*/

struct hashing {
	pthread_t thread;
	unsigned char *data;	/* HASH_BYTES */
	double rate;		/* MB/s */
};

static void *hash_thread(void *arg)
{
	static const uint8_t key[BLAKE3_KEY_LEN] = { 1 };
	double begun = measure_seconds(), seconds = 0;
	uint8_t out[BLAKE3_OUT_LEN];
	struct hashing *h = arg;
	blake3_hasher hasher;
	uint64_t n = 0;
	size_t off;

	while (seconds < HASH_SECONDS) {
		for (off = 0; off < HASH_BYTES; off += MESSAGE) {
			blake3_hasher_init_keyed(&hasher, key);
			blake3_hasher_update(&hasher, h->data + off, MESSAGE);
			blake3_hasher_finalize(&hasher, out, sizeof(out));
			h->data[off] = out[0];	/* so it is needed */
		}
		n += HASH_BYTES;
		seconds = measure_seconds() - begun;
	}
	h->rate = (double)n / seconds / 1e6;
	return NULL;
}

static int run_blake3(struct targets *t, const struct measure_options *opt,
		      double *rate_ret, struct akin_diag *diag)
{
	struct hashing h[MAX_PROCESSORS] = { 0 };
	long nr = sysconf(_SC_NPROCESSORS_ONLN), i, started = 0;
	int err = 0;

	nr = nr < 1 ? 1 : nr > MAX_PROCESSORS ? MAX_PROCESSORS : nr;
	*rate_ret = 0;
	for (i = 0; !err && i < nr; i++) {
		h[i].data = calloc(1, HASH_BYTES);
		if (!h[i].data || pthread_create(&h[i].thread, NULL,
						 hash_thread, &h[i]))
			err = measure_fail(diag, -AKIN_E_nomem, "hashing");
		else
			started++;
	}
	for (i = 0; i < nr; i++) {
		if (i < started)
			pthread_join(h[i].thread, NULL);
		*rate_ret += h[i].rate;
		free(h[i].data);
	}
	return err;
}

/* The disk alone -------------------------------------------------------------*/

static int write_file(struct targets *t, int fd, double *rate_ret)
{
	unsigned char *buf = malloc(UNIT);
	int failed = !buf;
	double begun;
	uint64_t n;

	/* Nothing a disk could make less of. */
	if (!failed)
		loadgen_fill(t->random, 0, 0, buf, UNIT);
	begun = measure_seconds();
	for (n = 0; !failed && n < t->bytes; n += UNIT)
		failed = write(fd, buf, UNIT) != UNIT;
	failed = failed || fsync(fd);
	*rate_ret = (double)t->bytes / (measure_seconds() - begun) / 1e6;
	free(buf);
	return failed;
}

/* In one file, with a sync at the end, as a backup has it. */
static int run_disk(struct targets *t, const struct measure_options *opt,
		    double *rate_ret, struct akin_diag *diag)
{
	const char *dir = opt->dir ? opt->dir : getenv("TMPDIR");
	char path[4096];
	int fd, failed;

	snprintf(path, sizeof(path), "%s/akin-bench-XXXXXX",
		 dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return measure_fail(diag, -AKIN_E_io, "%s: cannot be made",
				    path);
	failed = write_file(t, fd, rate_ret);
	close(fd);
	unlink(path);
	return failed ? measure_fail(diag, -AKIN_E_io, "%s: cannot be written",
				     path) : 0;
}

/* Ratios ---------------------------------------------------------------------*/

struct target {
	const char *name;
	double bar;
	bool in_memory;
	enum akin_engine engine;
	measure_fn what, beside;
};

static const struct target targets[] = {
	{ "repeating: 8 streams / 1", 1.6, true, 0, run_repeating, run_one },
	{ "repeating / BLAKE3, all cores", 0.5, true, 0, run_repeating,
	  run_blake3 },
	{ "random / raw sequential write", 0.8, false, 0, run_random,
	  run_disk },
	{ "random / repeating, 1 GB/s, ident.", 0.86, true,
	  AKIN_ENGINE_IDENTITY, run_random_offered, run_repeating_offered },
	{ "random / repeating, 1 GB/s, simil.", 0.86, true,
	  AKIN_ENGINE_SIMILARITY, run_random_offered, run_repeating_offered },
	{ "random / repeating, identity", 0.5, true, AKIN_ENGINE_IDENTITY,
	  run_random, run_repeating },
	{ "random / repeating, similarity", 0.5, true, AKIN_ENGINE_SIMILARITY,
	  run_random, run_repeating },
	{ "repeating: restore / backup", 1, false, 0, run_restore_repeating,
	  run_repeating },
	{ "random: restore / backup", 1, false, 0, run_restore_random,
	  run_random },
};

/* One side: its rates, by the clock and by what all processors did for it. */
static int one_side(struct targets *t, const struct measure_options *opt,
		    measure_fn run, double *rate_ret, double *per_cpu_ret,
		    struct akin_diag *diag)
{
	double begun = cpu_seconds(), wall = measure_seconds();
	int err = run(t, opt, rate_ret, diag);

	wall = measure_seconds() - wall;
	*per_cpu_ret = *rate_ret * wall / (cpu_seconds() - begun);
	return err;
}

static int one_target(struct targets *t, const struct target *g,
		      struct akin_diag *diag)
{
	double ratios[ROUNDS], a[ROUNDS], b[ROUNDS], c[ROUNDS], d[ROUNDS];
	struct measure_options opt = g->in_memory ? t->memory : *t->opt;
	double v[COUNT(targets_columns)];
	uint32_t i;
	int err = 0;

	if (g->engine)
		opt.engine = g->engine;
	for (i = 0; !err && i < ROUNDS; i++) {
		err = measure_tick(t->opt, diag, "%s, round %u", g->name,
				   i + 1);
		if (!err)
			err = one_side(t, &opt, g->beside, &b[i], &d[i], diag);
		if (!err)
			err = one_side(t, &opt, g->what, &a[i], &c[i], diag);
		if (!err)
			ratios[i] = b[i] > 0 ? a[i] / b[i] : 0;
	}
	if (err)
		return err;
	v[0] = measure_median(ratios, ROUNDS);
	v[1] = g->bar;
	v[2] = v[0] >= g->bar;
	v[3] = measure_median(a, ROUNDS);
	v[4] = measure_median(b, ROUNDS);
	v[5] = measure_median(c, ROUNDS);
	v[6] = measure_median(d, ROUNDS);
	return measure_add(t->r, g->name, v);
}

static int new_load(struct targets *t, uint32_t nr, uint64_t stream_bytes,
		    double random, struct loadgen **out, struct akin_diag *diag)
{
	struct loadgen_options lopt = { .nr_streams = nr, .seed = 1,
					.unit_bytes = UNIT,
					.stream_bytes = stream_bytes,
					.random_share = random,
					.keep_bytes = KEEP_BYTES };

	return loadgen_new(&lopt, out, diag);
}

/* Two pools' worth, at most one is there at a time. */
static bool memory_has_room(uint64_t bytes)
{
	struct statvfs v;

	return statvfs(MEMORY_DIR, &v) == 0 && access(MEMORY_DIR, W_OK) == 0 &&
	       (uint64_t)v.f_bavail * v.f_frsize > 2 * bytes;
}

/* All, or those whose numbers are given. */
static bool is_wanted(const struct measure_options *opt, uint32_t i)
{
	uint32_t k;

	for (k = 0; k < opt->nr_counts; k++) {
		if (opt->counts[k] == i + 1)
			return true;
	}
	return opt->nr_counts == 0;
}

int measure_targets(const struct measure_options *opt,
		    struct measure_report *out, struct akin_diag *diag)
{
	uint64_t stream = opt->bytes ? opt->bytes : STREAM_BYTES;
	struct targets t = { .opt = opt, .memory = *opt, .r = out,
			     .bytes = STREAMS * stream };
	uint32_t i;
	int err;

	memset(out, 0, sizeof(*out));
	out->verb = "targets";
	out->title = "What streams should reach";
	out->text = "Eight streams at once, incompressible, that repeat a "
		"hundredth of their units or are random, beside what is "
		"measured right before: one stream, the BLAKE3 library on "
		"every processor at once, one file written and synced. Medians "
		"of three rounds. Ratios about processors are those of a pool "
		"in memory (" MEMORY_DIR "), the others of the disk.";
	out->row_title = "target";
	out->columns = targets_columns;
	out->nr_columns = COUNT(targets_columns);
	if (memory_has_room(t.bytes))
		t.memory.dir = MEMORY_DIR;
	err = new_load(&t, STREAMS, stream, 0, &t.repeats, diag);
	if (!err)
		err = new_load(&t, STREAMS, stream, 1, &t.random, diag);
	if (!err)
		err = new_load(&t, 1, t.bytes, 0, &t.one, diag);
	for (i = 0; !err && i < COUNT(targets); i++) {
		if (is_wanted(opt, i))
			err = one_target(&t, &targets[i], diag);
	}
	loadgen_free(t.repeats);
	loadgen_free(t.random);
	loadgen_free(t.one);
	measure_machine(out);
	return err;
}
