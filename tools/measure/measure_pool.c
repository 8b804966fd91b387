/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loadgen_feed.h"
#include "measure_pool.h"

int measure_fail(struct akin_diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d && !d->code) {
		d->code = code;
		va_start(ap, fmt);
		vsnprintf(d->text, sizeof(d->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

double measure_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* "model name : X" of /proc/cpuinfo, where there is one. */
static void processor(char *out, size_t n)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *colon;

	snprintf(out, n, "unknown processor");
	while (f && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(out, n, "%s", colon + 2);
		break;
	}
	if (f)
		fclose(f);
}

void measure_machine(struct measure_report *r)
{
	char model[128];
	double load = 0;

	processor(model, sizeof(model));
	if (getloadavg(&load, 1) != 1)
		load = 0;
	snprintf(r->machine, sizeof(r->machine), "%.100s, %ld processors, load "
		 "%.1f at the end", model, sysconf(_SC_NPROCESSORS_ONLN),
		 load);
}

static int open_session(struct measure_pool *p,
			const struct measure_options *opt,
			enum akin_verify verify, struct akin_diag *diag)
{
	struct akin_session_options sopt = {
		.version = AKIN_SESSION_VERSION, .path = p->dir,
		.memory_bytes = opt->memory_bytes,
		.nr_threads = opt->nr_threads, .program = "akin bench",
		.verify = verify, .engine = opt->engine,
		.throttle_meta = opt->throttle_meta,
		.throttle_data = opt->throttle_data,
	};
	struct akin_pool_info info;
	int err;

	err = akin_session_open(&sopt, &p->s, diag);
	if (err)
		return err;
	akin_session_get_pool_info(p->s, &info);
	memcpy(p->id, info.id, sizeof(p->id));
	memset(p->now, 0, sizeof(p->now));
	return 0;
}

int measure_dir_new(const struct measure_options *opt, char **out,
		    struct akin_diag *diag)
{
	const char *dir = opt->dir ? opt->dir : getenv("TMPDIR");
	size_t n = strlen(dir ? dir : "/tmp") + 24;
	char *path = malloc(n);
	int err;

	if (!path)
		return measure_fail(diag, -AKIN_E_nomem, "directory");
	snprintf(path, n, "%s/akin-bench-XXXXXX", dir ? dir : "/tmp");
	if (!mkdtemp(path)) {
		err = measure_fail(diag, -AKIN_E_io, "%s: cannot be made",
				   path);
		free(path);
		return err;
	}
	*out = path;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

void measure_dir_remove(char *path)
{
	/* What stays lies where things may be removed at any time. */
	if (path && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS))
		errno = 0;
	free(path);
}

int measure_pool_open(struct measure_pool *p,
		      const struct measure_options *opt,
		      enum akin_verify verify, struct akin_diag *diag)
{
	struct akin_init_options init = { .compression = opt->compression,
					  .delta_depth = opt->delta_depth };
	int err;

	memset(p, 0, sizeof(*p));
	err = measure_dir_new(opt, &p->dir, diag);
	if (err)
		return err;
	init.path = p->dir;
	err = akin_pool_init(&init, diag);
	return err ? err : open_session(p, opt, verify, diag);
}

void measure_pool_close(struct measure_pool *p)
{
	akin_session_close(p->s);
	p->s = NULL;
	measure_dir_remove(p->dir);
	p->dir = NULL;
}

int measure_pool_reopen(struct measure_pool *p,
			const struct measure_options *opt,
			enum akin_verify verify, struct akin_diag *diag)
{
	akin_session_close(p->s);
	p->s = NULL;
	return open_session(p, opt, verify, diag);
}

struct own {
	struct measure_pool *p;
	uint64_t *values;
};

static int find_own(void *ctx, const struct akin_counters_process *c)
{
	struct own *o = ctx;

	if (c->pid != (uint32_t)getpid() || c->closed)
		return 0;
	memcpy(o->values, c->values, sizeof(o->p->now));
	return 1;
}

void measure_look(struct measure_pool *p, uint64_t *values)
{
	struct own o = { p, values };

	/* Without, the numbers are zeros; nothing else depends on them. */
	if (akin_counters_each(p->id, find_own, &o) == 0)
		memset(values, 0, sizeof(p->now));
}

static int keep_fed(void *ctx, const struct loadgen_fed *fed)
{
	*(struct loadgen_fed *)ctx = *fed;
	return 0;
}

static int feed(struct measure_pool *p, const struct loadgen *l,
		const struct loadgen_feed_options *opt, struct akin_diag *diag)
{
	int err;

	measure_look(p, p->before);
	err = loadgen_feed(l, p->s, opt, diag);
	measure_look(p, p->now);
	return err;
}

int measure_feed(struct measure_pool *p, const struct loadgen *l,
		 uint32_t generation, struct loadgen_fed *out,
		 struct akin_diag *diag)
{
	struct loadgen_feed_options opt = { .first = generation, .nr = 1,
					    .done = keep_fed, .ctx = out };

	return feed(p, l, &opt, diag);
}

int measure_feed_at(struct measure_pool *p, const struct loadgen *l,
		    uint64_t bytes_per_second, struct loadgen_fed *out,
		    struct akin_diag *diag)
{
	struct loadgen_feed_options opt = { .nr = 1, .done = keep_fed,
					    .ctx = out };

	opt.bytes_per_second = bytes_per_second;
	return feed(p, l, &opt, diag);
}

static int cool_one(const char *path, const struct stat *st, int type,
		    struct FTW *ftw)
{
	int fd = type == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return 0;
	/* What is not on the disk yet stays in the cache. If it fails, the
	 * cache is warm, and nothing else. */
	if (fdatasync(fd) == 0)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return 0;
}

void measure_cold(const char *dir)
{
	nftw(dir, cool_one, 16, FTW_PHYS);
}

int measure_restore(struct measure_pool *p, const struct measure_options *opt,
		    const struct loadgen *l, uint64_t transaction,
		    struct loadgen_back *out, struct akin_diag *diag)
{
	int err;

	measure_cold(p->dir);
	err = measure_pool_reopen(p, opt, AKIN_VERIFY_DEFAULT, diag);
	if (err)
		return err;
	measure_look(p, p->before);
	err = loadgen_read_back(l, p->s, 0, transaction, 0, false, out, diag);
	measure_look(p, p->now);
	return err;
}

double measure_counted(const struct measure_pool *p, enum akin_counter what)
{
	return (double)(p->now[what] - p->before[what]);
}

double measure_rate(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1e3 / (double)ns : 0;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double measure_median(double *v, uint32_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

int measure_tick(const struct measure_options *opt, struct akin_diag *diag,
		 const char *fmt, ...)
{
	char text[128];
	va_list ap;
	int err;

	if (!opt->tick)
		return 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err = opt->tick(opt->ctx, text);
	return err ? measure_fail(diag, err, "%s", akin_strerror(err)) : 0;
}
