/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin gc.
 */
#include "cli.h"
#include "cli_text.h"

void cli_gc_progress(void *ctx, const struct akin_gc_progress *gp)
{
	struct akin_progress p = { 0 };

	p.files = gp->containers;
	p.dirs = gp->snapshots;
	p.others = gp->pieces;
	p.bytes = gp->bytes;
	p.elapsed_ns = gp->elapsed_ns;
	p.current = gp->phase;
	cli_term_progress(&p);
}

static void print_fields(struct cli *c, const struct akin_gc_result *r)
{
	struct cli_json *j = &c->json;

	cli_json_uint(j, "snapshots", r->snapshots);
	cli_json_uint(j, "containers", r->containers);
	cli_json_uint(j, "bytes", r->bytes);
	cli_json_uint(j, "passes", r->passes);
	cli_json_uint(j, "marks_again", r->marks_again);
	cli_json_uint(j, "dead_containers", r->dead_containers);
	cli_json_uint(j, "dead_bytes", r->dead_bytes);
	cli_json_uint(j, "partly_dead_containers", r->partly_dead_containers);
	cli_json_uint(j, "partly_dead_bytes", r->partly_dead_bytes);
	cli_json_uint(j, "freed_bytes", r->freed_bytes);
	cli_json_uint(j, "deleted_files", r->deleted_files);
	cli_json_uint(j, "deleted_bytes", r->deleted_bytes);
	cli_json_uint(j, "copied_containers", r->copied_containers);
	cli_json_uint(j, "copied_bytes", r->copied_bytes);
	cli_json_uint(j, "copied_from_bytes", r->copied_from_bytes);
	cli_json_uint(j, "orphan_files", r->orphan_files);
	cli_json_uint(j, "orphan_bytes", r->orphan_bytes);
	cli_json_uint(j, "kept_below_bytes", r->kept_below_bytes);
	cli_json_uint(j, "kept_base_bytes", r->kept_base_bytes);
	cli_json_uint(j, "kept_held_bytes", r->kept_held_bytes);
	cli_json_uint(j, "kept_held_files", r->kept_held_files);
	cli_json_uint(j, "kept_interrupted_bytes", r->kept_interrupted_bytes);
	cli_json_bool(j, "limited", r->limited);
	cli_json_bool(j, "index_rebuilt", r->index_rebuilt);
	if (r->holder[0])
		cli_json_text(j, "holder", r->holder);
	cli_json_end(j, stdout);
}

static void print_json(struct cli *c, const struct akin_gc_result *r)
{
	cli_json_begin(&c->json, "summary");
	cli_json_text(&c->json, "command", "gc");
	cli_json_bool(&c->json, "dry_run", c->args.dry_run);
	print_fields(c, r);
}

static void print_freed(const struct akin_gc_result *r)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT];

	printf("freed: %s", cli_size_text(r->freed_bytes, a));
	if (r->copied_containers)
		printf(" (%llu containers written anew, %s)",
		       (unsigned long long)r->copied_containers,
		       cli_size_text(r->copied_bytes, b));
	printf("\n");
	if (r->orphan_files)
		printf("of that, left by sessions that died: %s in %llu "
		       "files\n", cli_size_text(r->orphan_bytes, a),
		       (unsigned long long)r->orphan_files);
}

static void print_kept(struct cli *c, const struct akin_gc_result *r)
{
	char a[CLI_UNIT_TEXT];

	if (r->kept_below_bytes)
		printf("kept, too little to be worth a copy: %s\n",
		       cli_size_text(r->kept_below_bytes, a));
	if (r->kept_base_bytes)
		printf("kept, because newer data is stored as a difference to "
		       "it: %s\n", cli_size_text(r->kept_base_bytes, a));
	if (r->kept_interrupted_bytes)
		printf("kept for the next run of interrupted backups: %s; "
		       "'akin gc --interrupted' drops it\n",
		       cli_size_text(r->kept_interrupted_bytes, a));
	if (r->kept_held_files) {
		cli_str_reset(&c->text);
		cli_plain(&c->text, r->holder);
		printf("kept, because somebody at work may need it: %s (%s); "
		       "the next run deletes it\n",
		       cli_size_text(r->kept_held_bytes, a),
		       cli_str_text(&c->text));
	}
	if (r->limited)
		printf("there is more to free: run it again\n");
}

static void print_text(struct cli *c, const struct akin_gc_result *r)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];

	if (c->args.dry_run)
		printf("of %s nobody needs %s; copying what is left of %llu "
		       "containers would free %s more\n",
		       cli_size_text(r->bytes, a),
		       cli_size_text(r->dead_bytes, b),
		       (unsigned long long)r->partly_dead_containers,
		       cli_size_text(r->partly_dead_bytes, d));
	else
		print_freed(r);
	print_kept(c, r);
}

static int run(struct cli *c, bool dry_run, struct akin_gc_result *r)
{
	struct akin_gc_options opt = { 0 };
	int err;

	opt.dry_run = dry_run;
	opt.drop_interrupted = c->args.interrupted;
	opt.threshold = c->args.threshold;
	opt.limit_bytes = c->args.limit;
	opt.progress = cli_gc_progress;
	opt.ctx = c;
	err = akin_gc(c->pool, &opt, r, &c->diag);
	cli_term_clear();
	return err;
}

static void print_rehearsed(struct cli *c, struct akin_gc_result *r)
{
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];

	printf("would be freed%s: %s\n", r->limited ? ", at least" : "",
	       cli_size_text(r->freed_bytes, a));
	if (r->dead_containers)
		printf("  containers that nobody would need: %s in %llu\n",
		       cli_size_text(r->dead_bytes, a),
		       (unsigned long long)r->dead_containers);
	if (r->copied_containers)
		printf("  containers written anew without what is dead: %llu, "
		       "%s instead of %s\n",
		       (unsigned long long)r->copied_containers,
		       cli_size_text(r->copied_bytes, b),
		       cli_size_text(r->copied_from_bytes, d));
	if (r->orphan_files)
		printf("  left by sessions that died: %s in %llu files\n",
		       cli_size_text(r->orphan_bytes, a),
		       (unsigned long long)r->orphan_files);
	r->limited = false;	/* has been said */
	print_kept(c, r);
}

void cli_gc_print_rehearsed(struct cli *c, const struct akin_gc_result *r)
{
	struct akin_gc_result copy = *r;

	if (!c->args.json) {
		print_rehearsed(c, &copy);
		return;
	}
	cli_json_begin(&c->json, "space");
	print_fields(c, r);
}

int cli_gc_rehearsed(struct cli *c)
{
	struct akin_gc_result r = { 0 };
	int err;

	err = run(c, false, &r);
	if (err)
		return err;
	cli_gc_print_rehearsed(c, &r);
	return 0;
}

int cli_gc_opened(struct cli *c)
{
	struct akin_gc_result r = { 0 };
	int err;

	err = run(c, c->args.dry_run, &r);
	if (err)
		return err;
	if (c->args.json)
		print_json(c, &r);
	else if (!c->args.quiet)
		print_text(c, &r);
	return 0;
}

int cli_cmd_gc(struct cli *c)
{
	int err = cli_open(c, c->args.dry_run);

	return err ? err : cli_gc_opened(c);
}
