/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to compare what is shared.
 *
 * Blocks that are all equal, so that whatever is compared is in memory; and
 * data of which no block is like another, that comes twice and is larger than
 * the caches. Beside a file that is written and synced, which is what there is
 * without any deduplication.
 *
 * The levels stand side by side in every round, and medians of the rounds'
 * ratios count: what else the machine does is in all of them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loadgen_feed.h"
#include "measure_pool.h"

#define DEFAULT_BYTES ((uint64_t)256 << 20)
#define ROUNDS 3
#define UNIT (128u << 10)
#define PIECE (1u << 20)
/* Of the data that is larger than the caches, so much is the pool's memory. */
#define MEMORY_SHARE 4
#define THREAD_BYTES ((size_t)2 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { PLAIN, OFF, MATCH, WRITE, NR_LEVELS };

static const char *const levels[NR_LEVELS] = {
	[PLAIN] = "plain", [OFF] = "off", [MATCH] = "match", [WRITE] = "write",
};

static const struct measure_column verify_columns[] = {
	{ "new_mb_per_s", "new MB/s", 0 },
	{ "again_mb_per_s", "again MB/s", 0 },
	{ "new_of_plain", "new of plain", 2 },
	{ "again_of_off", "again of off", 3 },
	{ "ratio", "ratio", 2 },
	{ "data_read_mb", "MB read", 1 },
	{ "compared", "compared", 0 },
};

static const struct measure_chart verify_charts[] = {
	{ "Throughput by verification", "MB/s", MEASURE_BARS, { 0, 1 }, 2,
	  MEASURE_BY_NONE },
};

/* Of one level in one round. */
struct taken {
	double new_rate, again_rate;	/* MB/s */
	double ratio, read_mb, compared;
};

static int write_file(const struct loadgen *l, int fd, double *rate_ret,
		      struct akin_diag *diag)
{
	unsigned char *buf = malloc(PIECE);
	struct loadgen_stream *s = NULL;
	double begun = measure_seconds();
	uint64_t off = 0;
	size_t n;
	int err;

	err = buf ? loadgen_open(l, 0, 0, &s, diag) :
	      measure_fail(diag, -AKIN_E_nomem, "a file");
	while (!err && (n = loadgen_read(s, off, buf, PIECE)) > 0) {
		if (pwrite(fd, buf, n, (off_t)off) != (ssize_t)n)
			err = measure_fail(diag, -AKIN_E_io,
					   "a file cannot be written");
		off += n;
	}
	if (!err && fsync(fd))
		err = measure_fail(diag, -AKIN_E_io, "a file cannot be synced");
	*rate_ret = (double)off / (measure_seconds() - begun) / 1e6;
	loadgen_close(s);
	free(buf);
	return err;
}

static int take_plain(const struct measure_options *opt,
		      const struct loadgen *l, struct taken *out,
		      struct akin_diag *diag)
{
	char *dir = NULL, path[4096];
	int fd = -1, err;

	memset(out, 0, sizeof(*out));
	out->ratio = 1;
	err = measure_dir_new(opt, &dir, diag);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/plain", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		err = measure_fail(diag, -AKIN_E_io, "%s: cannot be made",
				   path);
	if (!err)
		err = write_file(l, fd, &out->new_rate, diag);
	if (!err)
		err = write_file(l, fd, &out->again_rate, diag);
	if (fd >= 0)
		close(fd);
	measure_dir_remove(dir);
	return err;
}

static int take_pool(const struct measure_options *opt, enum akin_verify level,
		     const struct loadgen *l, struct taken *out,
		     struct akin_diag *diag)
{
	struct loadgen_fed fed;
	struct measure_pool p;
	int err;

	memset(out, 0, sizeof(*out));
	err = measure_pool_open(&p, opt, level, diag);
	if (!err)
		err = measure_feed(&p, l, 0, &fed, diag);
	if (!err) {
		out->new_rate = measure_rate(fed.bytes, fed.result.elapsed_ns);
		out->ratio = (double)fed.bytes /
			     (double)fed.result.bytes_stored;
		/* Caches as of a process that comes later. */
		err = measure_pool_reopen(&p, opt, level, diag);
	}
	if (!err)
		err = measure_feed(&p, l, 0, &fed, diag);
	if (!err) {
		out->again_rate = measure_rate(fed.bytes,
					       fed.result.elapsed_ns);
		out->read_mb = measure_counted(&p,
				AKIN_COUNTER_data_read_bytes) / 1e6;
		out->compared = measure_counted(&p,
				AKIN_COUNTER_chunks_compared);
	}
	measure_pool_close(&p);
	return err;
}

static int add_level(struct measure_report *r, uint32_t level,
		     const struct taken t[ROUNDS][NR_LEVELS])
{
	double made[ROUNDS], again[ROUNDS], of_plain[ROUNDS], of_off[ROUNDS];
	double v[COUNT(verify_columns)];
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		made[i] = t[i][level].new_rate;
		again[i] = t[i][level].again_rate;
		of_plain[i] = made[i] / t[i][PLAIN].new_rate;
		of_off[i] = again[i] / t[i][OFF].again_rate;
	}
	v[0] = measure_median(made, ROUNDS);
	v[1] = measure_median(again, ROUNDS);
	v[2] = measure_median(of_plain, ROUNDS);
	v[3] = measure_median(of_off, ROUNDS);
	v[4] = t[0][level].ratio;
	v[5] = t[0][level].read_mb;
	v[6] = t[0][level].compared;
	return measure_add(r, levels[level], v);
}

static int take_all(const struct measure_options *opt, const char *what,
		    const struct loadgen *l, struct measure_report *r,
		    struct akin_diag *diag)
{
	struct taken t[ROUNDS][NR_LEVELS];
	uint32_t i, k;
	int err = 0;

	for (i = 0; !err && i < ROUNDS; i++) {
		for (k = 0; !err && k < NR_LEVELS; k++) {
			err = measure_tick(opt, diag, "%s, %s, round %u", what,
					   levels[k], i + 1);
			if (!err && k == PLAIN)
				err = take_plain(opt, l, &t[i][k], diag);
			else if (!err)
				err = take_pool(opt, AKIN_VERIFY_OFF + k - OFF,
						l, &t[i][k], diag);
		}
	}
	for (k = 0; !err && k < NR_LEVELS; k++)
		err = add_level(r, k, t);
	return err;
}

static void head(struct measure_report *r, const char *verb, const char *title,
		 const char *text)
{
	r->verb = verb;
	r->title = title;
	r->text = text;
	r->row_title = "verify";
	r->columns = verify_columns;
	r->nr_columns = COUNT(verify_columns);
	r->charts = verify_charts;
	r->nr_charts = COUNT(verify_charts);
}

static int equal_blocks(const struct measure_options *opt,
			struct measure_report *r, struct akin_diag *diag)
{
	struct loadgen_options lopt = { .set_units = 1, .unit_bytes = UNIT,
					.keep_bytes = PIECE };
	struct loadgen *l;
	int err;

	head(r, "verify", "Equal blocks", "One block of 128 KiB, again and "
	     "again, into a new pool and then once more in a session that "
	     "knows nothing yet; for each level of verification: 'off' trusts "
	     "fingerprints, 'match' compares bytes before they are shared, "
	     "'write' also reads back what was written. 'Plain' is a file that "
	     "is written and synced: what there is without deduplication. "
	     "Medians of three rounds; ratios are those of what stood side by "
	     "side in a round.");
	lopt.stream_bytes = opt->bytes ? opt->bytes : DEFAULT_BYTES;
	err = loadgen_new(&lopt, &l, diag);
	if (err)
		return err;
	err = take_all(opt, "equal blocks", l, r, diag);
	loadgen_free(l);
	return err;
}

/* A part of @bytes, but no less than what threads need. */
static size_t small_memory(uint64_t bytes)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	size_t least = AKIN_MEMORY_MIN + (size_t)(nr < 1 ? 1 : nr) *
		       THREAD_BYTES;

	return bytes / MEMORY_SHARE > least ? bytes / MEMORY_SHARE : least;
}

static int repeating_data(const struct measure_options *opt,
			  struct measure_report *r, struct akin_diag *diag)
{
	struct loadgen_options lopt = { .random_share = -1,
					.compressible = 0.5 };
	struct measure_options mine = *opt;
	struct loadgen *l;
	int err;

	head(r, "verify_repeating", "Unequal data that repeats", "No block is "
	     "like another and half of each compresses away, but all of it "
	     "comes a second time; the pool may use a quarter as much memory "
	     "as there is data (or what --memory says), so that what is "
	     "compared has to be read.");
	lopt.stream_bytes = opt->bytes ? opt->bytes : DEFAULT_BYTES;
	if (!mine.memory_bytes)
		mine.memory_bytes = small_memory(lopt.stream_bytes);
	err = loadgen_new(&lopt, &l, diag);
	if (err)
		return err;
	err = take_all(&mine, "unequal data", l, r, diag);
	loadgen_free(l);
	return err;
}

int measure_verify(const struct measure_options *opt,
		   struct measure_report *out, struct akin_diag *diag)
{
	struct measure_report *more;
	int err;

	memset(out, 0, sizeof(*out));
	more = measure_more(out);
	if (!more)
		return measure_fail(diag, -AKIN_E_nomem, "report");
	err = equal_blocks(opt, out, diag);
	if (!err)
		err = repeating_data(opt, more, diag);
	measure_machine(out);
	return err;
}
