/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin-bench: what the parts of the engine reach, measured inside one process
 * (scripts/bench measures the command beside other programs).
 */
#ifndef BENCH_H
#define BENCH_H

#include "akin/akin.h"
#include "base/types.h"

/* Zeroed numbers mean a verb's own default. */
struct bench_options {
	const char *dir;	/* for pools; made below it and removed */
	u64 bytes;		/* of a stream */
	u64 memory;
	u32 threads;
	u32 runs;
	bool threaded, zeros, json;
	const char *const *args;	/* of the verb, NULL at the end */
	u32 nr_args;
};

/* Verbs; each returns the exit status. */
int bench_micro(const struct bench_options *opt);
int bench_codec(const struct bench_options *opt);
int bench_streams(const struct bench_options *opt);
int bench_index(const struct bench_options *opt);
int bench_follow(const struct bench_options *opt);
int bench_engines(const struct bench_options *opt);
/* Verbs of child processes. */
int bench_streams_child(const struct bench_options *opt);
int bench_index_child(const struct bench_options *opt);
int bench_engines_child(const struct bench_options *opt);
int bench_nothing(const struct bench_options *opt);

/* For scripts/bench; with the verb's name as argv[0]. */
int bench_time(int argc, char **argv);
int bench_files(int argc, char **argv);

/* The codecs on bytes that are made up; part of bench_micro. */
bool bench_codec_synthetic(const struct bench_options *opt);

/* bench_util.c */
int bench_fail(const char *what, const struct akin_diag *diag);
/* 64M and the like; false: no number. */
bool bench_parse_bytes(const char *text, u64 *out);
double bench_median(double *v, u32 n);
/* Of processor time. */
double bench_thread_seconds(void);
double bench_load(void);
/* A new folder below @dir (NULL: TMPDIR or /tmp); removed with all in it by
 * bench_rmdir. Exits if it cannot be made. */
char *bench_mkdir(const char *dir);
void bench_rmdir(char *path);

#endif
