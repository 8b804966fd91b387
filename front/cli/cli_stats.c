/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin stats.
 */
#include <stdlib.h>

#include "cli.h"
#include "cli_factors.h"

static void row(const char *label, uint64_t bytes)
{
	char a[CLI_UNIT_TEXT];

	printf("%-24s %10s\n", label, cli_size_text(bytes, a));
}

static void print_pool_json(struct cli *c, const struct akin_stats *s)
{
	struct cli_json *j = &c->json;
	struct akin_pool_info info;

	cli_json_begin(j, "stats");
	cli_json_uint(j, "snapshots", s->snapshots);
	cli_json_uint(j, "bytes_logical", s->bytes_logical);
	cli_json_uint(j, "bytes_unique", s->bytes_unique);
	cli_json_uint(j, "bytes_total", s->bytes_total);
	cli_json_uint(j, "bytes_data", s->bytes_data);
	cli_json_uint(j, "bytes_meta_containers", s->bytes_meta_containers);
	cli_json_uint(j, "bytes_parity", s->bytes_parity);
	cli_json_uint(j, "bytes_index", s->bytes_index);
	cli_json_uint(j, "bytes_catalog", s->bytes_catalog);
	cli_json_uint(j, "bytes_records", s->bytes_records);
	cli_json_uint(j, "bytes_other", s->bytes_other);
	cli_json_uint(j, "chunks", s->chunks);
	cli_json_uint(j, "data_containers", s->data_containers);
	cli_json_uint(j, "meta_containers", s->meta_containers);
	cli_json_uint(j, "parity_containers", s->parity_containers);
	cli_json_uint(j, "runs", s->runs);
	cli_json_uint(j, "damaged", s->damaged);
	cli_json_uint(j, "never_read", s->never_read);
	cli_json_uint(j, "bytes_never_read", s->bytes_never_read);
	cli_json_uint(j, "read_badly", s->read_badly);
	if (s->oldest_read_sec)
		cli_json_time(j, "oldest_read", s->oldest_read_sec, 0);
	cli_json_uint(j, "meta_free", s->meta_free);
	cli_json_uint(j, "meta_total", s->meta_total);
	cli_json_uint(j, "data_free", s->data_free);
	cli_json_uint(j, "data_total", s->data_total);
	cli_json_bool(j, "meta_nearly_full", s->meta_nearly_full);
	cli_json_bool(j, "data_nearly_full", s->data_nearly_full);
	akin_pool_get_info(c->pool, &info);
	cli_json_text(j, "verify", cli_verify_text(info.verify));
	cli_json_text(j, "engine", cli_engine_text(info.engine));
	cli_json_uint(j, "parity_percent", info.parity);
	cli_json_end(j, stdout);
}

/* How old is what is known of the bytes on the disk? */
static void print_scrub(const struct akin_stats *s)
{
	char a[CLI_UNIT_TEXT];

	if (s->never_read)
		printf("%-24s %10s  in %llu containers ('akin check --budget')"
		       "\n", "never read back",
		       cli_size_text(s->bytes_never_read, a),
		       (unsigned long long)s->never_read);
	else if (s->oldest_read_sec)
		printf("%-24s %s\n", "all was read back since",
		       cli_time_text(s->oldest_read_sec, a));
	if (s->read_badly)
		printf("%-24s %10llu  containers\n", "read back badly",
		       (unsigned long long)s->read_badly);
}

static void print_parity(const struct akin_stats *s, unsigned percent)
{
	uint64_t nr = s->data_containers + s->meta_containers;

	if (percent || s->parity_containers)
		printf("%-24s %9u%%  %llu of %llu containers have it%s\n",
		       "parity", percent,
		       (unsigned long long)s->parity_containers,
		       (unsigned long long)nr, s->parity_containers < nr &&
		       percent ? " ('akin optimize' gives it)" : "");
}

static void print_pool(struct cli *c, const struct akin_stats *s)
{
	struct akin_pool_info info;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];

	printf("%-24s %10llu\n", "snapshots",
	       (unsigned long long)s->snapshots);
	row("stored in them", s->bytes_logical);
	printf("%-24s %10s  (%s)\n", "after deduplication",
	       cli_size_text(s->bytes_unique, a),
	       cli_ratio_text(s->bytes_logical, s->bytes_unique, b));
	printf("%-24s %10s  (%s in all)\n", "in the pool",
	       cli_size_text(s->bytes_total, a),
	       cli_ratio_text(s->bytes_logical, s->bytes_total, b));
	row("  data", s->bytes_data);
	row("  recipes, directories", s->bytes_meta_containers);
	if (s->parity_containers)
		row("  parity", s->bytes_parity);
	row("  index", s->bytes_index);
	row("  catalog", s->bytes_catalog);
	row("  records", s->bytes_records);
	row("  reserve, unused files", s->bytes_other);
	printf("%-24s %10llu  in %llu containers\n", "chunks",
	       (unsigned long long)s->chunks,
	       (unsigned long long)s->data_containers);
	if (s->damaged)
		printf("%-24s %10llu  ('akin check' says more)\n", "damaged",
		       (unsigned long long)s->damaged);
	print_scrub(s);
	printf("%-24s %10s  of %s\n", "free, metadata",
	       cli_size_text(s->meta_free, a), cli_size_text(s->meta_total, b));
	printf("%-24s %10s  of %s\n", "free, data",
	       cli_size_text(s->data_free, a), cli_size_text(s->data_total, b));
	akin_pool_get_info(c->pool, &info);
	printf("%-24s %10s\n", "verification", cli_verify_text(info.verify));
	printf("%-24s %10s\n", "engine", cli_engine_text(info.engine));
	print_parity(s, info.parity);
}

static int print_codec_json(void *ctx, const struct akin_codec_stats *s)
{
	struct cli *c = ctx;
	struct cli_json *j = &c->json;

	cli_json_begin(j, "codec_stats");
	cli_json_text(j, "codec", s->codec);
	cli_json_bool(j, "metadata", s->metadata);
	cli_json_uint(j, "groups", s->groups);
	cli_json_uint(j, "groups_by_reference", s->groups_by_reference);
	cli_json_uint(j, "bytes_raw", s->bytes_raw);
	cli_json_uint(j, "bytes_stored", s->bytes_stored);
	cli_json_uint(j, "bytes_raw_by_reference", s->bytes_raw_by_reference);
	cli_json_uint(j, "bytes_stored_by_reference",
		      s->bytes_stored_by_reference);
	cli_json_end(j, stdout);
	return cli_output_error(c);
}

static void print_groups(const char *what, const char *codec, uint64_t groups,
			 uint64_t raw, uint64_t stored)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], c[CLI_UNIT_TEXT];

	printf("%-15s %-8s %10llu %10s %10s %8s\n", what, codec,
	       (unsigned long long)groups, cli_size_text(raw, a),
	       cli_size_text(stored, b), cli_ratio_text(raw, stored, c));
}

static int print_codec(void *ctx, const struct akin_codec_stats *s)
{
	print_groups(s->metadata ? "metadata" : "data", s->codec, s->groups,
		     s->bytes_raw, s->bytes_stored);
	if (s->groups_by_reference)
		print_groups("  by reference", s->codec,
			     s->groups_by_reference, s->bytes_raw_by_reference,
			     s->bytes_stored_by_reference);
	return cli_output_error(ctx);
}

static int codec_stats(struct cli *c)
{
	uint64_t unreadable = 0;
	int err;

	if (!c->args.json)
		printf("\n%-15s %-8s %10s %10s %10s %8s\n", "", "codec",
		       "groups", "raw", "stored", "ratio");
	err = akin_stats_codecs(c->pool, c->args.json ? print_codec_json :
				print_codec, c, &unreadable, &c->diag);
	if (!err && c->args.json) {
		cli_json_begin(&c->json, "codec_summary");
		cli_json_uint(&c->json, "containers_unreadable", unreadable);
		cli_json_end(&c->json, stdout);
	} else if (!err && unreadable) {
		printf("%-24s %10llu  ('akin check' says more)\n",
		       "unreadable containers", (unsigned long long)unreadable);
	}
	return err;
}

/* While there is time. */
static int warn_full(struct cli *c, const struct akin_stats *s)
{
	uint64_t left = s->data_nearly_full ? s->data_free : s->meta_free;
	char a[CLI_UNIT_TEXT];

	if (!s->data_nearly_full && !s->meta_nearly_full)
		return 0;
	cli_fail(&c->diag, -AKIN_E_partial, "the file system of the %s is "
		 "nearly full: %s left", s->data_nearly_full ? "data" :
		 "metadata", cli_size_text(left, a));
	cli_hint(&c->diag, "'akin forget' and 'akin gc' make room, also on a "
		 "full disk; 'akin gc --dry-run' says how much.");
	return -AKIN_E_partial;
}

static int pool_stats(struct cli *c)
{
	struct akin_stats s = { 0 };
	int err;

	err = akin_stats(c->pool, &s, &c->diag);
	if (err)
		return err;
	if (c->args.json)
		print_pool_json(c, &s);
	else
		print_pool(c, &s);
	err = cli_pool_factors(c);
	if (!err && c->args.by_codec)
		err = codec_stats(c);
	if (!err && c->args.show_compression)
		err = cli_compression(c);
	if (!err && c->args.histogram)
		err = cli_histogram(c, s.bytes_index);
	return err ? err : warn_full(c, &s);
}

static void print_snapshot_json(struct cli *c, const struct akin_snapshot *s)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "snapshot_stats");
	cli_json_text(j, "id", s->id);
	cli_json_uint(j, "files", s->files);
	cli_json_uint(j, "dirs", s->dirs);
	cli_json_uint(j, "others", s->others);
	cli_json_uint(j, "bytes", s->bytes);
	cli_json_uint(j, "bytes_read", s->bytes_read);
	cli_json_uint(j, "chunks", s->chunks);
	cli_json_uint(j, "chunks_new", s->chunks_new);
	cli_json_uint(j, "bytes_new", s->bytes_new);
	cli_json_uint(j, "bytes_stored", s->bytes_stored);
	cli_json_uint(j, "bytes_meta", s->bytes_meta);
	cli_json_uint(j, "warnings", s->warnings);
	cli_json_seconds(j, "seconds", s->duration_ns);
	cli_json_end(j, stdout);
}

static void print_snapshot(const struct akin_snapshot *s)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];

	printf("snapshot %.8s of %s\n", s->id, cli_time_text(s->time_sec, a));
	printf("  %-22s %10llu  %llu directories, %llu others\n", "files",
	       (unsigned long long)s->files, (unsigned long long)s->dirs,
	       (unsigned long long)s->others);
	row("  a restore gives", s->bytes);
	row("  read for the backup", s->bytes_read);
	printf("  %-22s %10s  %llu of %llu chunks\n", "new",
	       cli_size_text(s->bytes_new, a),
	       (unsigned long long)s->chunks_new,
	       (unsigned long long)s->chunks);
	printf("  %-22s %10s  %s of it metadata\n", "added to the pool",
	       cli_size_text(s->bytes_stored + s->bytes_meta, a),
	       cli_size_text(s->bytes_meta, b));
	printf("  %-22s %10s\n", "took", cli_duration_text(s->duration_ns, a));
}

struct wanted {
	struct cli *c;
	uint64_t number;
};

static int on_snapshot(void *ctx, const struct akin_snapshot *s)
{
	struct wanted *w = ctx;
	int err;

	if (s->number != w->number)
		return 0;
	if (w->c->args.json)
		print_snapshot_json(w->c, s);
	else
		print_snapshot(s);
	err = cli_snapshot_factors(w->c, s);
	if (!err && w->c->args.restore_cost)
		err = cli_snapshot_cost(w->c, s);
	return err ? err : cli_output_error(w->c);
}

static int snapshot_stats(struct cli *c, const char *word)
{
	struct wanted w = { .c = c };
	struct cli_name name;
	int err;

	err = cli_resolve(c, word, &name);
	if (!err && name.path)
		err = cli_fail(&c->diag, -AKIN_E_usage,
			       "'%s': a snapshot, without a path", word);
	w.number = name.snapshot;
	cli_name_release(&name);
	if (!err)
		err = akin_snapshot_each(c->pool, NULL, on_snapshot, &w,
					 &c->diag);
	return err;
}

static void print_sole(struct cli *c, const struct cli_name *name,
		       uint64_t bytes)
{
	char a[CLI_UNIT_TEXT];

	if (c->args.json) {
		cli_json_begin(&c->json, "sole");
		cli_json_text(&c->json, "id", name->id);
		cli_json_uint(&c->json, "bytes", bytes);
		cli_json_end(&c->json, stdout);
	} else {
		printf("only in %.8s: %s\n", name->id,
		       cli_size_text(bytes, a));
	}
}

static int resolve_all(struct cli *c, struct cli_name *names,
		       uint64_t *numbers, struct akin_sole_options *opt)
{
	const char *word;
	uint32_t i, k;
	int err;

	for (i = 0; i < c->args.operands.nr; i++) {
		word = c->args.operands.v[i];
		err = cli_resolve(c, word, &names[opt->nr_snapshots]);
		if (err)
			return err;
		for (k = 0; k < opt->nr_snapshots; k++)
			if (names[k].snapshot ==
			    names[opt->nr_snapshots].snapshot)
				break;
		if (k < opt->nr_snapshots) {	/* named twice */
			cli_name_release(&names[opt->nr_snapshots]);
			continue;
		}
		numbers[k] = names[k].snapshot;
		opt->nr_snapshots++;
	}
	return 0;
}

/* The pool is one in rehearsal; no use for anything else afterwards. */
static int space_stats(struct cli *c)
{
	uint32_t nr = c->args.operands.nr, i;
	struct akin_sole_options opt = { .progress = cli_gc_progress };
	struct cli_name *names = cli_alloc(nr * sizeof(*names));
	uint64_t *numbers = cli_alloc(nr * sizeof(*numbers));
	uint64_t *bytes = cli_alloc(nr * sizeof(*bytes));
	struct akin_gc_result all;
	int err;

	opt.snapshots = numbers;
	err = resolve_all(c, names, numbers, &opt);
	if (!err)
		err = akin_stats_sole(c->pool, &opt, bytes, &all, &c->diag);
	cli_term_clear();
	for (i = 0; !err && i < opt.nr_snapshots; i++)
		print_sole(c, &names[i], bytes[i]);
	if (!err)
		cli_gc_print_rehearsed(c, &all);
	for (i = 0; i < nr; i++)
		cli_name_release(&names[i]);
	free(bytes);
	free(numbers);
	free(names);
	return err ? err : cli_output_error(c);
}

int cli_cmd_stats(struct cli *c)
{
	uint32_t i;
	int err;

	if (c->args.operands.nr && (c->args.by_codec || c->args.histogram ||
				    c->args.show_compression))
		return cli_fail(&c->diag, -AKIN_E_usage, "--by-codec, "
				"--compression and --histogram are about the "
				"whole pool, not about snapshots");
	if (c->args.restore_cost && !c->args.operands.nr)
		return cli_fail(&c->diag, -AKIN_E_usage, "--restore-cost is "
				"about snapshots; say which");
	if (c->args.space && !c->args.operands.nr)
		return cli_fail(&c->diag, -AKIN_E_usage, "--space is about "
				"snapshots; say which");
	err = c->args.space ? cli_open_rehearsal(c) : cli_open(c, true);
	if (!err && !c->args.operands.nr)
		return pool_stats(c);
	for (i = 0; !err && i < c->args.operands.nr; i++)
		err = snapshot_stats(c, c->args.operands.v[i]);
	return err || !c->args.space ? err : space_stats(c);
}
