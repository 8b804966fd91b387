/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin put: the library's sessions from the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli_stream.h"
#include "cli_text.h"

static int parse_attributes(struct cli *c, struct akin_attribute *out)
{
	const struct cli_list *l = &c->args.attributes;
	const char *eq;
	char *name;
	uint32_t i;

	for (i = 0; i < l->nr; i++) {
		eq = strchr(l->v[i], '=');
		if (!eq || eq == l->v[i])
			return cli_fail(&c->diag, -AKIN_E_usage,
					"--attribute: '%s' is not NAME=VALUE",
					l->v[i]);
		name = cli_strdup(l->v[i]);
		name[eq - l->v[i]] = 0;
		cli_list_add(&c->args.owned, name);
		out[i].name = name;
		out[i].value = eq + 1;
		out[i].len = (uint32_t)strlen(eq + 1);
	}
	return 0;
}

static int open_source(struct cli *c, const char *file, struct cli_stream *s,
		       uint64_t *size_ret)
{
	struct stat st;

	*size_ret = 0;
	cli_stream_stdin(s);
	if (strcmp(file, "-")) {
		s->fd = open(file, O_RDONLY | O_CLOEXEC);
		if (s->fd < 0)
			return cli_fail(&c->diag, -AKIN_E_source_read,
					"%s: %s", file, strerror(errno));
	} else if (c->stdin_was_closed) {
		return cli_fail(&c->diag, -AKIN_E_usage,
				"standard input is closed");
	}
	if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode))
		*size_ret = (uint64_t)st.st_size;
	return 0;
}

/* Straight into the session's memory. */
static int send_all(struct cli *c, struct akin_object obj, struct cli_stream *s)
{
	size_t room;
	void *to;
	long n;
	int err;

	do {
		err = akin_object_room(c->session, obj, &to, &room, &c->diag);
		if (err)
			return err;
		n = cli_stream_read(s, to, room, &c->diag);
		err = akin_object_filled(c->session, obj, n > 0 ? (size_t)n : 0,
					 &c->diag);
		if (err || n < 0)
			return n < 0 ? (int)n : err;
	} while (n > 0);
	return 0;
}

static void print_object(struct cli *c, const char *path,
			 const struct akin_object_stats *st)
{
	struct cli_json *j = &c->json;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];

	if (c->args.json) {
		cli_json_begin(j, "object");
		cli_json_name(j, "space", c->args.operands.v[0]);
		cli_json_name(j, "path", path);
		cli_json_uint(j, "bytes", st->bytes);
		cli_json_uint(j, "bytes_new", st->bytes_new);
		cli_json_uint(j, "bytes_plain", st->bytes_plain);
		cli_json_uint(j, "bytes_stored", st->bytes_stored);
		cli_json_uint(j, "chunks", st->chunks);
		cli_json_uint(j, "chunks_new", st->chunks_new);
		cli_json_seconds(j, "seconds", st->elapsed_ns);
		cli_json_end(j, stdout);
	} else if (c->args.verbose) {
		printf("%s: %s, new %s, about %s stored\n",
		       cli_quoted(c, path), cli_size_text(st->bytes, a),
		       cli_size_text(st->bytes_new, b),
		       cli_size_text(st->bytes_stored, d));
	}
}

static int put_one(struct cli *c, const struct akin_object_options *common,
		   const char *path, const char *file)
{
	struct akin_object_name name = { .space = c->args.operands.v[0] };
	struct akin_object_options opt = *common;
	struct akin_object_stats st;
	struct akin_object obj;
	struct cli_stream s = { .fd = -1 };
	char *copy = cli_strdup(path), *slash = strrchr(copy, '/');
	int err;

	name.name = copy;
	if (slash) {
		*slash = 0;
		name.path = copy;
		name.name = slash + 1;
	}
	err = open_source(c, file, &s, &opt.size_hint);
	if (!err)
		err = akin_object_begin(c->session, &name, &opt, &obj,
					&c->diag);
	if (!err)
		err = send_all(c, obj, &s);
	if (!err)
		err = akin_object_end(c->session, obj, &st, &c->diag);
	if (!err)
		print_object(c, path, &st);
	if (s.fd > STDIN_FILENO)
		close(s.fd);
	free(copy);
	return err;
}

static int put_all(struct cli *c, const struct akin_object_options *opt)
{
	const struct cli_list *l = &c->args.operands;
	uint32_t i;
	int err = 0;

	for (i = 1; !err && i < l->nr; i += 2)
		err = put_one(c, opt, l->v[i], i + 1 < l->nr ? l->v[i + 1] :
			      "-");
	return err;
}

static void print_result(struct cli *c, const struct akin_txn_result *r)
{
	struct cli_json *j = &c->json;
	char a[CLI_UNIT_TEXT], b[CLI_UNIT_TEXT], d[CLI_UNIT_TEXT];

	if (c->args.json) {
		cli_json_begin(j, "summary");
		cli_json_text(j, "command", "put");
		cli_json_text(j, "snapshot", r->id);
		cli_json_uint(j, "objects", r->objects);
		cli_json_uint(j, "bytes", r->bytes);
		cli_json_uint(j, "bytes_new", r->bytes_new);
		cli_json_uint(j, "bytes_plain", r->bytes_plain);
		cli_json_uint(j, "bytes_stored", r->bytes_stored);
		cli_json_uint(j, "bytes_meta", r->bytes_meta);
		cli_json_uint(j, "chunks", r->chunks);
		cli_json_uint(j, "chunks_new", r->chunks_new);
		cli_json_seconds(j, "seconds", r->elapsed_ns);
		cli_json_end(j, stdout);
	} else if (!c->args.quiet) {
		printf("snapshot %.8s: %llu %s, %s, new %s, stored in %s\n",
		       r->id, (unsigned long long)r->objects,
		       cli_plural(r->objects, "object"),
		       cli_size_text(r->bytes, a),
		       cli_size_text(r->bytes_new, b),
		       cli_size_text(r->bytes_stored + r->bytes_meta, d));
	}
}

/* Commit what went well; an error that came before is the one that counts. */
static int end(struct cli *c, int err)
{
	struct akin_txn_result r;
	struct akin_diag diag = { 0 };
	int err2;

	err2 = akin_txn_end(c->session, err ? AKIN_VOTE_ABORT :
			    AKIN_VOTE_COMMIT, &r, err ? &diag : &c->diag);
	if (err)
		return err;
	if (err2 || r.reason)
		return err2 ? err2 : r.code;
	print_result(c, &r);
	return 0;
}

int cli_cmd_put(struct cli *c)
{
	struct akin_txn_options topt = { .tags = c->args.tags.v,
					 .nr_tags = c->args.tags.nr };
	struct akin_object_options opt = { 0 };
	struct akin_attribute *attributes;
	int err = cli_check_labels(c);

	if (err)
		return err;
	if (c->args.operands.nr > 2 && c->args.operands.nr % 2 == 0)
		return cli_fail(&c->diag, -AKIN_E_usage, "'%s' has no FILE "
				"behind it", c->args.operands.v
				[c->args.operands.nr - 1]);
	attributes = cli_alloc((c->args.attributes.nr + 1) *
			       sizeof(*attributes));
	err = parse_attributes(c, attributes);
	opt.attributes = attributes;
	opt.nr_attributes = c->args.attributes.nr;
	if (!err)
		err = cli_open_session(c, false);
	if (!err)
		err = akin_txn_begin(c->session, &topt, &c->diag);
	if (!err)
		err = end(c, put_all(c, &opt));
	free(attributes);
	return err;
}
