/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin snapshots. Rows stream, so columns have fixed widths and long names
 * push the rest aside.
 */
#include <string.h>

#include "cli.h"
#include "cli_text.h"

static void print_json(struct cli *c, const struct akin_snapshot *s)
{
	struct cli_json *j = &c->json;

	cli_json_begin(j, "snapshot");
	cli_json_text(j, "id", s->id);
	if (s->parent[0])
		cli_json_text(j, "parent", s->parent);
	cli_json_time(j, "time", s->time_sec, s->time_nsec);
	cli_json_int(j, "utc_offset_sec", s->utc_offset_sec);
	cli_json_name(j, "host", s->host);
	cli_json_name(j, "user", s->user);
	cli_json_name(j, "command", s->command);
	cli_json_names(j, "tags", s->tags, s->nr_tags);
	cli_json_names(j, "paths", s->paths, s->nr_paths);
	cli_json_bool(j, "partial", s->partial);
	cli_json_uint(j, "files", s->files);
	cli_json_uint(j, "dirs", s->dirs);
	cli_json_uint(j, "others", s->others);
	cli_json_uint(j, "bytes", s->bytes);
	cli_json_uint(j, "bytes_read", s->bytes_read);
	cli_json_uint(j, "bytes_new", s->bytes_new);
	cli_json_uint(j, "bytes_stored", s->bytes_stored);
	cli_json_uint(j, "bytes_meta", s->bytes_meta);
	cli_json_uint(j, "chunks", s->chunks);
	cli_json_uint(j, "chunks_new", s->chunks_new);
	cli_json_uint(j, "warnings", s->warnings);
	cli_json_seconds(j, "seconds", s->duration_ns);
	cli_json_bool(j, "protected", s->is_protected);
	if (s->has_until)
		cli_json_time(j, "protected_until", s->until_sec, 0);
	if (s->is_forgotten) {
		cli_json_time(j, "forgotten", s->forgotten_sec, 0);
		cli_json_bool(j, "may_undelete", s->may_undelete);
	}
	cli_json_end(j, stdout);
}

static void print_padded(struct cli_str *t, int columns)
{
	int w = (int)cli_width(cli_str_text(t), t->len);

	printf("  %s%*s", cli_str_text(t), w < columns ? columns - w : 0, "");
	cli_str_reset(t);
}

static void print_row(struct cli *c, const struct akin_snapshot *s)
{
	char time[CLI_UNIT_TEXT], size[CLI_UNIT_TEXT], added[CLI_UNIT_TEXT];
	struct cli_str *t = &c->text;
	uint32_t i;

	printf("%.8s  %s%c%c", s->id, cli_time_text(s->time_sec, time),
	       s->partial ? '!' : ' ', s->is_protected ? 'P' :
	       s->is_forgotten && !s->may_undelete ? '-' : ' ');
	cli_str_reset(t);
	cli_quote(t, s->host, strlen(s->host));
	print_padded(t, 12);
	printf("  %9s  %9s", cli_size_text(s->bytes, size),
	       cli_size_text(s->bytes_stored + s->bytes_meta, added));
	for (i = 0; i < s->nr_tags; i++) {
		cli_str_add(t, i ? "," : "");
		cli_quote(t, s->tags[i], strlen(s->tags[i]));
	}
	print_padded(t, 10);
	cli_str_add(t, " ");
	for (i = 0; i < s->nr_paths; i++) {
		cli_str_addc(t, ' ');
		cli_quote(t, s->paths[i], strlen(s->paths[i]));
	}
	printf("%s\n", cli_str_text(t));
}

struct rows {
	struct cli *c;
	uint64_t nr;
};

static int on_snapshot(void *ctx, const struct akin_snapshot *s)
{
	struct rows *r = ctx;
	struct cli *c = r->c;

	if (c->args.json) {
		print_json(c, s);
	} else {
		if (!r->nr && !c->args.quiet)
			printf("%-8s  %-19s    %-12s  %9s  %9s  %-10s  %s\n",
			       "ID", "TIME", "HOST", "SIZE", "ADDED", "TAGS",
			       "PATHS");
		print_row(c, s);
	}
	r->nr++;
	return cli_output_error(c);
}

int cli_cmd_snapshots(struct cli *c)
{
	struct akin_snapshot_filter filter = cli_filter(c);
	struct rows r = { .c = c };
	int err;

	filter.forgotten = c->args.forgotten;
	err = cli_open(c, true);
	if (!err)
		err = akin_snapshot_each(c->pool, &filter, on_snapshot, &r,
					 &c->diag);
	if (!err && !r.nr && !c->args.quiet && !c->args.json)
		cli_term_message(CLI_NOTE, 0, NULL, filter.host ||
				 filter.nr_tags || filter.nr_paths ?
				 "no snapshot matches" : filter.forgotten ?
				 "no snapshot is forgotten" :
				 "no snapshots yet", NULL);
	return err;
}
