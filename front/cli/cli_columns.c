/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cli_columns.h"
#include "cli_str.h"

#define V(name) AKIN_COUNTER_##name
#define OF1(a) { { V(a) }, 1 }
#define OF2(a, b) { { V(a), V(b) }, 2 }
#define OF3(a, b, c) { { V(a), V(b), V(c) }, 3 }
#define OF4(a, b, c, d) { { V(a), V(b), V(c), V(d) }, 4 }
#define NONE { { 0 }, 0 }
#define RATE(key, above, name, width, ext, unit, of) \
	{ key, above, name, width, ext, CLI_PER_SECOND, unit, of, NONE }
#define SPECIAL(key, above, name, width, ext, how) \
	{ key, above, name, width, ext, how, 0, NONE, NONE }
/* Of one processor: with several threads it may be more than 100. */
#define STAGE(key, above, name, ns) \
	RATE(key, above, name, 5, true, 1e7, OF1(ns))
#define LATENCY(key, above, name, how, of) \
	{ key, above, name, 6, true, how, 0, of, NONE }

const struct cli_column cli_columns[] = {
	SPECIAL("cpu_percent", "", "CPU", 4, false, CLI_CPU),
	SPECIAL("processes", "akin", "procs", 5, true, CLI_NR_PROCESSES),
	RATE("file_ops_s", "ops/s", "files", 6, true, 1,
	     OF2(files_stored, files_restored)),
	RATE("object_ops_s", "", "objs", 6, true, 1,
	     OF2(objects_stored, objects_read)),
	RATE("ops_s", "", "total", 6, false, 1,
	     OF4(files_stored, files_restored, objects_stored, objects_read)),
	SPECIAL("net_in_kb_s", "net kB/s", "in", 7, true, CLI_NET_IN),
	SPECIAL("net_out_kb_s", "", "out", 7, true, CLI_NET_OUT),
	RATE("in_mb_s", "MB/s", "in", 6, false, 1e6, OF1(bytes_in)),
	RATE("out_mb_s", "", "out", 6, false, 1e6, OF1(bytes_out)),
	RATE("metadata_read_kb_s", "meta kB/s", "read", 7, false, 1e3,
	     OF1(metadata_read_bytes)),
	RATE("metadata_write_kb_s", "", "write", 7, false, 1e3,
	     OF1(metadata_write_bytes)),
	RATE("data_read_kb_s", "data kB/s", "read", 7, false, 1e3,
	     OF1(data_read_bytes)),
	RATE("data_write_kb_s", "", "write", 7, false, 1e3,
	     OF1(data_write_bytes)),
	RATE("metadata_ops_s", "I/Os/s", "meta", 6, true, 1,
	     OF4(metadata_read_ops, metadata_write_ops, metadata_sync_ops,
		 metadata_other_ops)),
	RATE("data_ops_s", "", "data", 6, true, 1,
	     OF4(data_read_ops, data_write_ops, data_sync_ops,
		 data_other_ops)),
	SPECIAL("cache_age_seconds", "cache", "age", 4, false, CLI_AGE),
	{ "cache_hit_percent", "", "hit", 4, false, CLI_SHARE_OF, 0,
	  OF1(directory_hits), OF1(directory_misses) },
	RATE("lookups_s", "lookups/s", "all", 7, true, 1,
	     OF2(directory_hits, directory_misses)),
	RATE("lookups_followed_s", "", "follow", 7, true, 1,
	     OF1(chunks_followed)),
	RATE("lookups_cache_s", "", "cache", 7, true, 1, OF1(directory_hits)),
	RATE("lookups_hooks_s", "", "hooks", 7, true, 1, OF1(index_hits)),
	RATE("lookups_runs_s", "", "runs", 7, true, 1, OF1(index_run_hits)),
	RATE("directory_loads_s", "index/s", "dirs", 6, true, 1,
	     OF1(directory_loads)),
	RATE("index_lookups_s", "", "asked", 7, true, 1, OF1(index_lookups)),
	RATE("index_page_reads_s", "", "pages", 6, true, 1,
	     OF1(index_page_reads)),
	{ "dedup_factor", "dedup", "x", 6, false, CLI_FACTOR, 0, OF1(bytes_in),
	  OF1(bytes_new) },
	{ "reference_factor", "ref", "x", 6, true, CLI_FACTOR, 0,
	  OF1(bytes_plain), OF1(bytes_packed) },
	{ "compression_factor", "comp", "x", 6, true, CLI_FACTOR, 0,
	  OF1(bytes_grouped), OF1(bytes_plain) },
	{ "total_factor", "total", "x", 6, false, CLI_PRODUCT, 0,
	  OF2(bytes_in, bytes_grouped), OF2(bytes_new, bytes_packed) },
	RATE("chunks_s", "chunks/s", "in", 8, true, 1, OF1(chunks_in)),
	RATE("chunks_new_s", "", "new", 7, true, 1, OF1(chunks_new)),
	RATE("group_hits_s", "groups/s", "hit", 7, true, 1, OF1(group_hits)),
	RATE("groups_read_s", "", "read", 7, true, 1, OF1(groups_read)),
	STAGE("stage_cut_percent", "stages %", "cut", stage_cut_ns),
	STAGE("stage_hash_percent", "", "hash", stage_hash_ns),
	STAGE("stage_lookup_percent", "", "look", stage_lookup_ns),
	STAGE("stage_compress_percent", "", "comp", stage_compress_ns),
	STAGE("stage_decode_percent", "", "dec", stage_decode_ns),
	SPECIAL("commit_cause", "commit", "ty", 2, false, CLI_COMMIT_CAUSE),
	SPECIAL("commit_percent", "", "time", 4, false, CLI_COMMIT_TIME),
	RATE("checkpoints_s", "commit/s", "ckpt", 5, true, 1,
	     OF1(checkpoints)),
	RATE("commits_s", "", "snap", 5, true, 1, OF1(commits)),
	SPECIAL("disk_percent", "disk", "busy", 4, false, CLI_BUSIEST),
	{ "io_p50_ms", "ms", "p50", 5, false, CLI_P50, 0,
	  OF4(metadata_read_latency, metadata_write_latency,
	      data_read_latency, data_write_latency), NONE },
	{ "io_p99_ms", "", "p99", 5, false, CLI_P99, 0,
	  OF4(metadata_read_latency, metadata_write_latency,
	      data_read_latency, data_write_latency), NONE },
	LATENCY("metadata_read_p50_ms", "meta ms", "rd50", CLI_P50,
		OF1(metadata_read_latency)),
	LATENCY("metadata_read_p99_ms", "", "rd99", CLI_P99,
		OF1(metadata_read_latency)),
	LATENCY("metadata_write_p99_ms", "", "wr99", CLI_P99,
		OF1(metadata_write_latency)),
	LATENCY("metadata_sync_p99_ms", "", "sy99", CLI_P99,
		OF1(metadata_sync_latency)),
	LATENCY("data_read_p50_ms", "data ms", "rd50", CLI_P50,
		OF1(data_read_latency)),
	LATENCY("data_read_p99_ms", "", "rd99", CLI_P99,
		OF1(data_read_latency)),
	LATENCY("data_write_p99_ms", "", "wr99", CLI_P99,
		OF1(data_write_latency)),
	LATENCY("data_sync_p99_ms", "", "sy99", CLI_P99,
		OF1(data_sync_latency)),
	{ NULL },
};
static_assert(CLI_ARRAY_SIZE(cli_columns) <= CLI_MAX_COLUMNS, "all have room");

const struct cli_column *cli_column_find(const char *key)
{
	const struct cli_column *col;

	for (col = cli_columns; col->key; col++) {
		if (strcmp(col->key, key) == 0)
			return col;
	}
	return NULL;
}

static double sum_of(const struct cli_counters_of *of,
		     const struct cli_sample *s)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < of->nr; i++)
		sum += (double)s->v[of->v[i]];
	return sum;
}

static uint64_t bucket(const struct cli_counters_of *of,
		       const struct cli_sample *s, uint32_t i)
{
	uint64_t sum = 0;
	uint32_t k;

	for (k = 0; k < of->nr; k++)
		sum += s->v[of->v[k] + i];
	return sum;
}

/* Upper end of the bucket that @share of all lie in or below; false: none. */
static bool percentile(const struct cli_counters_of *of,
		       const struct cli_sample *s, double share, double *ms_ret)
{
	uint64_t all = 0, sum = 0;
	uint32_t i;

	for (i = 0; i < AKIN_LATENCY_BUCKETS; i++)
		all += bucket(of, s, i);
	if (all == 0)
		return false;
	for (i = 0; i < AKIN_LATENCY_BUCKETS - 1; i++) {
		sum += bucket(of, s, i);
		if ((double)sum >= share * (double)all)
			break;
	}
	*ms_ret = (double)(1ull << i) / 1e3;
	return true;
}

static bool over_time(double v, const struct cli_sample *s, double *out)
{
	*out = s->seconds > 0 ? v / s->seconds : 0;
	return s->seconds > 0;
}

static bool percent_of_time(double v, const struct cli_sample *s, double *out)
{
	bool known = over_time(100 * v, s, out);

	*out = *out > 100 ? 100 : *out;
	return known;
}

bool cli_column_value(const struct cli_column *col, const struct cli_sample *s,
		      double *out)
{
	double a = sum_of(&col->a, s), b = sum_of(&col->b, s);
	uint32_t i;

	switch (col->how) {
	case CLI_PER_SECOND:
		return over_time(a / col->unit, s, out);
	case CLI_SHARE_OF:
		*out = a + b > 0 ? 100 * a / (a + b) : 0;
		return a + b > 0;
	case CLI_FACTOR:
		*out = b > 0 ? a / b : 0;
		return a > 0 && b > 0;
	case CLI_PRODUCT:
		*out = 1;
		for (i = 0; i < col->a.nr; i++) {
			a = (double)s->v[col->a.v[i]];
			b = (double)s->v[col->b.v[i]];
			if (a <= 0 || b <= 0)
				return false;
			*out *= a / b;
		}
		return true;
	case CLI_P50:
		return percentile(&col->a, s, 0.5, out);
	case CLI_P99:
		return percentile(&col->a, s, 0.99, out);
	case CLI_CPU:
		*out = s->cpu_all ? 100 * (double)s->cpu_busy /
					    (double)s->cpu_all : 0;
		return s->cpu_all > 0;
	case CLI_BUSIEST:
		return percent_of_time((double)s->disk_ms / 1e3, s, out);
	case CLI_NET_IN:
		return over_time((double)s->net_in / 1e3, s, out);
	case CLI_NET_OUT:
		return over_time((double)s->net_out / 1e3, s, out);
	case CLI_AGE:
		*out = s->age_seconds > 0 ? s->age / s->age_seconds : 0;
		return s->age_seconds > 0;
	case CLI_COMMIT_TIME:
		return percent_of_time((double)s->commit_ns / 1e9, s, out);
	case CLI_COMMIT_CAUSE:
		return false;
	default:
		*out = s->processes;
		return true;
	}
}

static void age_text(double v, char out[CLI_CELL])
{
	if (v < 99.5)
		snprintf(out, CLI_CELL, "%.0fs", v);
	else if (v < 99.5 * 60)
		snprintf(out, CLI_CELL, "%.0fm", v / 60);
	else
		snprintf(out, CLI_CELL, "%.0fh", v / 3600);
}

const char *cli_column_text(const struct cli_column *col, bool known, double v,
			    char out[CLI_CELL])
{
	int digits = col->how == CLI_NR_PROCESSES ? 0 : v < 9.95 ? 2 : v < 99.5;

	if (!known)
		snprintf(out, CLI_CELL, "-");
	else if (col->how == CLI_AGE)
		age_text(v, out);
	else
		do {
			snprintf(out, CLI_CELL, "%.*f", digits, v);
		} while ((int)strlen(out) > col->width && digits-- > 0);
	return out;
}

const char *cli_commit_cause(const struct cli_sample *s, char out[CLI_CELL])
{
	uint64_t snapshots = s->v[V(commits)], timed = s->v[V(checkpoints_timed)];
	uint64_t full = s->v[V(checkpoints_full)];
	uint64_t all = snapshots + s->v[V(checkpoints)];

	if (all > 1)
		snprintf(out, CLI_CELL, "%u", (unsigned)(all < 99 ? all : 99));
	else
		snprintf(out, CLI_CELL, "%s", !all ? s->committing ? ":" : "-" :
			 snapshots ? "S" : timed ? "T" : full ? "F" : "O");
	return out;
}
