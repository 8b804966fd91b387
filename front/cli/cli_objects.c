/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin objects, akin get.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_signal.h"
#include "cli_sink.h"
#include "cli_text.h"

/* The number of --snapshot, from a look into the pool before the session has
 * it; 0: none was given. */
static int find_transaction(struct cli *c, uint64_t *out)
{
	struct akin_snapshot_filter filter = cli_filter(c);
	int err;

	*out = 0;
	if (!c->args.snapshot && !filter.nr_tags)
		return 0;
	err = cli_open(c, true);
	if (!err)
		err = akin_snapshot_find(c->pool, c->args.snapshot ?
					 c->args.snapshot : "latest", &filter,
					 out, &c->diag);
	cli_signal_pool(NULL);
	akin_pool_close(c->pool);
	c->pool = NULL;
	return err;
}

struct rows {
	struct cli *c;
	uint64_t nr;
};

static void print_json(struct cli *c, const struct akin_object_info *i)
{
	struct cli_json *j = &c->json;
	struct cli_str key = { 0 };
	uint32_t k;

	cli_json_begin(j, "object");
	cli_json_text(j, "snapshot", i->id);
	cli_json_uint(j, "transaction", i->transaction);
	cli_json_time(j, "time", i->time_sec, 0);
	cli_json_name(j, "host", i->host);
	cli_json_name(j, "space", i->name.space);
	cli_json_name(j, "path", i->name.path);
	cli_json_name(j, "name", i->name.name);
	cli_json_text(j, "kind", i->name.type == AKIN_OBJECT_DIRECTORY ?
		      "directory" : "file");
	cli_json_uint(j, "bytes", i->size);
	cli_json_time(j, "mtime", i->mtime_sec, i->mtime_nsec);
	cli_json_uint(j, "order", i->order);
	for (k = 0; k < i->nr_attributes; k++) {
		cli_str_reset(&key);
		cli_str_addf(&key, "attribute.%s", i->attributes[k].name);
		cli_json_bytes(j, cli_str_text(&key), i->attributes[k].value,
			       i->attributes[k].len);
	}
	cli_str_release(&key);
	cli_json_end(j, stdout);
}

static void print_row(struct cli *c, const struct akin_object_info *i)
{
	char time[CLI_UNIT_TEXT], size[CLI_UNIT_TEXT];
	struct cli_str path = { 0 };

	cli_str_addf(&path, "%s%s%s%s", i->name.path, *i->name.path ? "/" : "",
		     i->name.name,
		     i->name.type == AKIN_OBJECT_DIRECTORY ? "/" : "");
	printf("%.8s  %s  %9s", i->id, cli_time_text(i->time_sec, time),
	       cli_size_text(i->size, size));
	printf("  %-14s", cli_quoted(c, i->name.space));
	printf("  %s\n", cli_quoted(c, cli_str_text(&path)));
	cli_str_release(&path);
}

static int on_object(void *ctx, const struct akin_object_info *i)
{
	struct rows *r = ctx;
	struct cli *c = r->c;

	if (c->args.json) {
		print_json(c, i);
	} else {
		if (!r->nr && !c->args.quiet)
			printf("%-8s  %-19s  %9s  %-14s  %s\n", "ID", "TIME",
			       "SIZE", "SPACE", "OBJECT");
		print_row(c, i);
	}
	r->nr++;
	return cli_output_error(c);
}

int cli_cmd_objects(struct cli *c)
{
	const struct cli_list *l = &c->args.operands;
	struct akin_object_query q = { .host = c->args.host,
				       .name = c->args.object_name,
				       .newest = c->args.newest };
	struct rows r = { .c = c };
	int err;

	q.space = l->nr > 0 ? l->v[0] : NULL;
	q.path = l->nr > 1 ? l->v[1] : NULL;
	err = find_transaction(c, &q.transaction);
	if (!err)
		err = cli_open_session(c, true);
	if (!err)
		err = akin_object_query(c->session, &q, on_object, &r,
					&c->diag);
	if (!err && !r.nr && !c->args.quiet && !c->args.json)
		cli_term_message(CLI_NOTE, 0, NULL, "no such objects", NULL);
	return err;
}

int cli_cmd_get(struct cli *c)
{
	struct akin_object_name name = { .space = c->args.operands.v[0] };
	char *path = cli_strdup(c->args.operands.v[1]);
	char *slash = strrchr(path, '/');
	struct cli_sink sink = { .c = c };
	struct akin_reader *r = NULL;
	uint64_t txn;
	int err;

	name.name = path;
	if (slash) {
		*slash = 0;
		name.path = path;
		name.name = slash + 1;
	}
	err = find_transaction(c, &txn);
	if (!err)
		err = cli_open_session(c, true);
	if (!err)
		err = akin_object_open(c->session, txn, &name, &r, &c->diag);
	if (!err)
		err = akin_reader_copy(r, c->args.offset, c->args.length ?
				       c->args.length : UINT64_MAX,
				       cli_sink_data, cli_sink_hole(), &sink,
				       &c->diag);
	if (!err)
		err = cli_sink_end(&sink);
	akin_object_close(r);
	free(path);
	return err;
}
