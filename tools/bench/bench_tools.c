/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scripts/bench needs and a shell does badly: the cost of a command with
 * all its children, and many small files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "bench.h"
#include "streamload.h"
#include "testlib.h"

#define FILES_EACH 1000		/* in a folder */
#define FILE_BYTES 8192		/* at most; sizes are spread evenly */

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

/* The command takes this process's place in a child; a failed exec is 127. */
static int run_command(const char *const *argv, struct rusage *ru)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		execvp(argv[0], (char **)argv);
		perror(argv[0]);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, ru) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

/* time FILE COMMAND...: "WALL USER SYS PEAK_KIB STATUS" into FILE. */
int bench_time(int argc, char **argv)
{
	struct rusage ru = { 0 };
	u64 begun;
	FILE *out;
	int status;
	double wall;

	if (argc < 3)
		return 2;
	begun = clock_ns();
	status = run_command((const char *const *)argv + 2, &ru);
	wall = (double)(clock_ns() - begun) / 1e9;
	out = fopen(argv[1], "w");
	if (!out || status < 0) {
		perror("akin-bench: time");
		return 1;
	}
	fprintf(out, "%.4f %.4f %.4f %ld %d\n", wall, seconds(ru.ru_utime),
		seconds(ru.ru_stime), ru.ru_maxrss, status);
	fclose(out);
	return status;
}

static bool write_file(int dir, const char *name, const u8 *data, size_t n)
{
	int f = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	bool ok = f >= 0 && write(f, data, n) == (ssize_t)n;

	if (f >= 0)
		close(f);
	return ok;
}

static bool fill_folder(const char *path, u64 first, u64 nr)
{
	struct streamload load = { .seed = 9 };
	static u8 data[FILE_BYTES];
	struct rng r = { first };
	char name[32];
	size_t n;
	bool ok;
	u64 i;
	int d;

	ok = !mkdir(path, 0755);
	d = open(path, O_RDONLY | O_DIRECTORY);
	for (i = first; ok && d >= 0 && i < first + nr; i++) {
		n = rng_below(&r, FILE_BYTES + 1);
		/* Each file from a segment of its own stream. */
		streamload_fill(&load, (u32)i, 0, data, n);
		snprintf(name, sizeof(name), "file%07llu",
			 (unsigned long long)i);
		ok = write_file(d, name, data, n);
	}
	if (d >= 0)
		close(d);
	return ok && d >= 0;
}

/* files DIR N: a new folder with N files of up to 8 KiB. */
int bench_files(int argc, char **argv)
{
	char path[4096];
	u64 i, nr;

	if (argc != 3)
		return 2;
	nr = strtoull(argv[2], NULL, 10);
	if (mkdir(argv[1], 0755)) {
		perror(argv[1]);
		return 1;
	}
	for (i = 0; i < nr; i += FILES_EACH) {
		snprintf(path, sizeof(path), "%s/d%05llu", argv[1],
			 (unsigned long long)(i / FILES_EACH));
		if (!fill_folder(path, i, min_u64(FILES_EACH, nr - i))) {
			perror(path);
			return 1;
		}
	}
	return 0;
}
