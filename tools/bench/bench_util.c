/* SPDX-License-Identifier: Apache-2.0 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "bench.h"

int bench_fail(const char *what, const struct akin_diag *diag)
{
	fprintf(stderr, "akin-bench: %s: %s\n", what,
		diag && diag->code ? diag->text : "failed");
	return 1;
}

bool bench_parse_bytes(const char *text, u64 *out)
{
	char *end;
	double v = strtod(text, &end);

	switch (*end) {
	case 'G':
		v *= 1024;	/* fall through */
	case 'M':
		v *= 1024;	/* fall through */
	case 'K':
		v *= 1024;
		end++;
		break;
	default:
		break;
	}
	*out = (u64)v;
	return end != text && *end == 0 && v >= 0 && v < 1e18;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double bench_median(double *v, u32 n)
{
	qsort(v, n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double bench_thread_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

double bench_load(void)
{
	double load = 0;

	return getloadavg(&load, 1) == 1 ? load : -1;
}

char *bench_mkdir(const char *dir)
{
	char *path = NULL;

	if (!dir)
		dir = getenv("TMPDIR");
	if (asprintf(&path, "%s/akin-bench-XXXXXX", dir ? dir : "/tmp") < 0 ||
	    !mkdtemp(path)) {
		perror("akin-bench: a folder for pools");
		exit(1);
	}
	return path;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

void bench_rmdir(char *path)
{
	if (path && nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS))
		perror(path);
	free(path);
}
