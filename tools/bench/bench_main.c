/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char usage[] =
"usage: akin-bench VERB [OPTION]...\n"
"\n"
"  micro [SIZE]...      cutting and fingerprints on one core, from memory, for\n"
"                       buffers of SIZE (default 1M 4M 16M 64M), beside the\n"
"                       BLAKE3 library and a scalar Gear loop. AKIN_CPU=avx2\n"
"                       and others choose the kernels. Then the codecs\n"
"  codec [FILE]...      the codecs on one core, beside lz4, on the first --bytes\n"
"                       of each FILE (default 256M), or on bytes made up\n"
"  streams [N]...       N streams at once into one session (default 1 2 8 64)\n"
"  index [N]            start of a backup and of a restore in a pool whose\n"
"                       index holds N fingerprints (default 100M, 2 GB of disk)\n"
"  follow FILE...       versions of a series: duplicates found with one hook in 64\n"
"                       and 1 MiB for directories, of those that an exact index\n"
"                       finds, in a pool padded to a hundred times its size\n"
"  engines FILE...      versions of a series: identity, similarity and hybrid,\n"
"                       what they store, how fast, and what they read and write\n"
"  time FILE COMMAND    run COMMAND; its wall, user and system seconds, peak KiB\n"
"                       and exit status go into FILE\n"
"  files DIR N          make DIR with N small files\n"
"\n"
"  --bytes N            of each stream (default 256M)\n"
"  --memory N           --memory of the pools (default 128M; index: 64M, 128M)\n"
"  --threads N          compressing threads (default: one per processor)\n"
"  --threaded           streams: a thread more for each stream\n"
"  --zeros              streams: of zeros\n"
"  --runs N             measure N times, say medians\n"
"  --dir DIR            where pools are made and removed (default TMPDIR, /tmp)\n"
"  --json               one object a line instead of a table\n";

static const struct verb {
	const char *name;
	int (*run)(const struct bench_options *opt);
} verbs[] = {
	{ "micro", bench_micro },
	{ "codec", bench_codec },
	{ "streams", bench_streams },
	{ "index", bench_index },
	{ "follow", bench_follow },
	{ "engines", bench_engines },
	{ "engines-child", bench_engines_child },
	{ "streams-child", bench_streams_child },
	{ "index-child", bench_index_child },
	{ "nothing", bench_nothing },
};

enum { OPT_BYTES = 1, OPT_MEMORY, OPT_THREADS, OPT_RUNS, OPT_DIR };

static bool parse_one(struct bench_options *o, int what)
{
	u64 n = 0;

	if (what == OPT_DIR) {
		o->dir = optarg;
		return true;
	}
	if (what == '?' || (what && !bench_parse_bytes(optarg, &n)))
		return false;
	if (what == OPT_BYTES)
		o->bytes = n;
	else if (what == OPT_MEMORY)
		o->memory = n;
	else if (what == OPT_THREADS)
		o->threads = (u32)n;
	else if (what == OPT_RUNS)
		o->runs = (u32)n;
	return true;
}

static bool parse(int argc, char **argv, struct bench_options *o)
{
	int threaded = 0, zeros = 0, json = 0, what;
	const struct option options[] = {
		{ "bytes", required_argument, NULL, OPT_BYTES },
		{ "memory", required_argument, NULL, OPT_MEMORY },
		{ "threads", required_argument, NULL, OPT_THREADS },
		{ "runs", required_argument, NULL, OPT_RUNS },
		{ "dir", required_argument, NULL, OPT_DIR },
		{ "threaded", no_argument, &threaded, 1 },
		{ "zeros", no_argument, &zeros, 1 },
		{ "json", no_argument, &json, 1 },
		{ 0 }
	};

	while ((what = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!parse_one(o, what))
			return false;
	}
	o->threaded = threaded;
	o->zeros = zeros;
	o->json = json;
	o->args = (const char *const *)argv + optind;
	o->nr_args = (u32)(argc - optind);
	return true;
}

int main(int argc, char **argv)
{
	struct bench_options opt = { 0 };
	size_t i;

	if (argc > 1 && strcmp(argv[1], "time") == 0)
		return bench_time(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "files") == 0)
		return bench_files(argc - 1, argv + 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	akin_prepare_process();
	for (i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name))
			continue;
		if (!parse(argc - 1, argv + 1, &opt))
			break;
		return verbs[i].run(&opt);
	}
	fputs(usage, argc > 1 && !strcmp(argv[1], "--help") ? stdout : stderr);
	return argc > 1 && !strcmp(argv[1], "--help") ? 0 : 2;
}
