/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What commands share: opening the pool, naming snapshots, reporting.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_signal.h"
#include "cli_text.h"

static void say_budget(struct cli *c)
{
	struct akin_pool_info i;
	char a[6][CLI_UNIT_TEXT];
	struct cli_str t = { 0 };

	akin_pool_get_info(c->pool, &i);
	cli_str_addf(&t, "memory %s: index %s, directories %s, groups %s, "
		     "streams %s, fixed %s; %u threads",
		     cli_size_text(i.memory_bytes, a[0]),
		     cli_size_text(i.memory_index, a[1]),
		     cli_size_text(i.memory_directories, a[2]),
		     cli_size_text(i.memory_groups, a[3]),
		     cli_size_text(i.memory_streams, a[4]),
		     cli_size_text(i.memory_fixed, a[5]), i.nr_threads);
	cli_term_message(CLI_NOTE, 0, NULL, t.s, NULL);
	cli_str_reset(&t);
	cli_str_addf(&t, "pool %s: %s, chunks of %u to %u bytes cut by %s, "
		     "hashed by %s (%s)", i.id, i.compression, i.chunk_min,
		     i.chunk_max, i.chunk_kernel, i.hash, i.hash_kernel);
	cli_term_message(CLI_NOTE, 0, NULL, t.s, NULL);
	cli_str_release(&t);
}

int cli_need_pool(struct cli *c)
{
	if (c->args.pool && *c->args.pool)
		return 0;
	cli_fail(&c->diag, -AKIN_E_usage, "no pool given");
	cli_hint(&c->diag, "Name it with -p POOL, in AKIN_POOL, or as "
		 "'pool = ...' in the configuration.");
	return -AKIN_E_usage;
}

int cli_open_session(struct cli *c, bool read_only)
{
	const struct cli_args *a = &c->args;
	struct akin_session_options opt = {
		.version = AKIN_SESSION_VERSION,
		.path = a->pool,
		.memory_bytes = a->memory,
		.nr_threads = a->threads,
		.read_only = read_only,
		.host = a->host,
		.program = "akin",
		.compression = a->compression,
		.delta_depth = cli_delta_depth(a),
		.verify = cli_verify_level(a->verify_level),
		.engine = cli_engine(a->engine),
		.throttle_meta = a->throttle.meta,
		.throttle_data = a->throttle.data,
		.single_writer = a->single_writer,
	};
	int err;

	err = cli_need_pool(c);
	if (!err)
		err = akin_session_open(&opt, &c->session, &c->diag);
	if (!err)
		cli_signal_session(c->session);
	return err;
}

static int open_pool(struct cli *c, bool read_only, bool rehearse)
{
	struct akin_open_options opt = {
		.path = c->args.pool,
		.memory_bytes = c->args.memory,
		.nr_threads = c->args.threads,
		.read_only = read_only,
		.rehearse = rehearse,
		.throttle_meta = c->args.throttle.meta,
		.throttle_data = c->args.throttle.data,
		.single_writer = c->args.single_writer,
	};
	int err = cli_need_pool(c);

	if (err)
		return err;
	err = akin_pool_open(&opt, &c->pool, &c->diag);
	if (err)
		return err;
	cli_signal_pool(c->pool);
	if (c->args.verbose)
		say_budget(c);
	return 0;
}

int cli_open(struct cli *c, bool read_only)
{
	return open_pool(c, read_only, false);
}

int cli_open_rehearsal(struct cli *c)
{
	return open_pool(c, false, true);
}

int cli_open_reader(struct cli *c)
{
	int err = cli_open(c, false);

	if (!err || err == -AKIN_E_pool_missing ||
	    akin_error_class(err) == AKIN_CLASS_USAGE)
		return err;
	memset(&c->diag, 0, sizeof(c->diag));
	return cli_open(c, true);
}

bool cli_gone(struct cli *c, int err)
{
	if (err != -AKIN_E_snap_unknown)
		return false;
	memset(&c->diag, 0, sizeof(c->diag));
	return true;
}

int cli_identify(struct cli *c, char id[AKIN_POOL_ID], const char **pool_ret)
{
	*pool_ret = NULL;
	if (!c->args.pool)
		return 0;
	*pool_ret = id;
	return akin_pool_identify(c->args.pool, NULL, id, &c->diag);
}

/* Of one of the digits that the table of options allows; 0: none given. */
int cli_delta_depth(const struct cli_args *a)
{
	int depth = a->delta_depth ? a->delta_depth[0] - '0' : 0;

	return a->delta_depth && depth == 0 ? AKIN_DELTA_NONE : depth;
}

struct akin_snapshot_filter cli_filter(const struct cli *c)
{
	const struct cli_args *a = &c->args;
	struct akin_snapshot_filter f = { .host = a->host };

	f.tags = a->tags.v;
	f.nr_tags = a->tags.nr;
	f.paths = a->paths.v;
	f.nr_paths = a->paths.nr;
	return f;
}

void cli_split_name(const char *word, char **snap_ret, const char **path_ret)
{
	size_t skip = strncmp(word, "tag:", 4) == 0 ? 4 : 0;
	const char *colon = strchr(word + skip, ':');

	*snap_ret = cli_strdup(word);
	*path_ret = NULL;
	if (!colon)
		return;
	(*snap_ret)[colon - word] = 0;
	*path_ret = colon + 1;
}

struct find_id {
	uint64_t number;
	char *id;
};

static int find_id(void *ctx, const struct akin_snapshot *s)
{
	struct find_id *f = ctx;

	if (s->number != f->number)
		return 0;
	memcpy(f->id, s->id, sizeof(s->id));
	return 1;
}

int cli_resolve(struct cli *c, const char *word, struct cli_name *out)
{
	struct akin_snapshot_filter filter = cli_filter(c);
	struct find_id f = { 0, out->id };
	struct cli_str path = { 0 };
	const char *given;
	char *snap;
	size_t n;
	int err;

	memset(out, 0, sizeof(*out));
	cli_split_name(word, &snap, &given);
	err = akin_snapshot_find(c->pool, snap, &filter, &out->snapshot,
				 &c->diag);
	free(snap);
	if (err)
		return err;
	f.number = out->snapshot;
	err = akin_snapshot_each(c->pool, NULL, find_id, &f, &c->diag);
	if (err < 0)
		return err;
	if (!given)
		return 0;
	if (*given != '/')
		cli_str_addc(&path, '/');
	cli_str_add(&path, given);
	for (n = path.len; n > 1 && path.s[n - 1] == '/'; n--)
		path.s[n - 1] = 0;
	out->path = path.s;
	return 0;
}

void cli_name_release(struct cli_name *n)
{
	free(n->path);
	memset(n, 0, sizeof(*n));
}

void cli_on_progress(void *ctx, const struct akin_progress *p)
{
	cli_term_progress(p);
}

void cli_on_waiting(void *ctx, const char *text)
{
	struct cli *c = ctx;

	if (!c->args.quiet)
		cli_term_message(CLI_NOTE, 0, NULL, text, NULL);
}

void cli_warn(struct cli *c, const char *path, int code, const char *text,
	      bool minor)
{
	if (!minor)
		cli_term_message(CLI_WARNING, code, path, text, NULL);
	else if (!c->args.quiet)
		cli_term_message(CLI_NOTE, code, path, text, NULL);
}

int cli_check_labels(struct cli *c)
{
	uint32_t i;

	for (i = 0; i < c->args.tags.nr; i++) {
		if (!*c->args.tags.v[i] || strchr(c->args.tags.v[i], ':'))
			return cli_fail(&c->diag, -AKIN_E_usage,
					"--tag: '%s' is empty or holds a ':'",
					c->args.tags.v[i]);
	}
	if (c->args.host && !*c->args.host)
		return cli_fail(&c->diag, -AKIN_E_usage, "--host: is empty");
	return 0;
}

static const char *const verify_levels[] = {
	[AKIN_VERIFY_DEFAULT] = "", [AKIN_VERIFY_OFF] = "off",
	[AKIN_VERIFY_MATCH] = "match", [AKIN_VERIFY_WRITE] = "write",
};

enum akin_verify cli_verify_level(const char *level)
{
	int i;

	for (i = AKIN_VERIFY_WRITE; level && i > AKIN_VERIFY_DEFAULT; i--) {
		if (strcmp(level, verify_levels[i]) == 0)
			return (enum akin_verify)i;
	}
	return AKIN_VERIFY_DEFAULT;
}

const char *cli_verify_text(enum akin_verify level)
{
	return verify_levels[level];
}

int cli_output_error(struct cli *c)
{
	if (!ferror(stdout))
		return 0;
	if (!c->output_errno)
		c->output_errno = errno ? errno : EIO;
	return cli_fail_errno(&c->diag, c->output_errno, "standard output");
}

const char *cli_ratio_text(uint64_t a, uint64_t b, char out[CLI_UNIT_TEXT])
{
	double r = b ? (double)a / (double)b : 0;

	if (!b)
		snprintf(out, CLI_UNIT_TEXT, "-");
	else
		snprintf(out, CLI_UNIT_TEXT, "%.*fx",
			 r < 9.995 ? 2 : r < 99.95 ? 1 : 0, r);
	return out;
}

const char *cli_quoted(struct cli *c, const char *s)
{
	cli_str_reset(&c->text);
	cli_quote(&c->text, s, strlen(s));
	return cli_str_text(&c->text);
}

static const char *const engines[] = {
	[AKIN_ENGINE_DEFAULT] = "",
	[AKIN_ENGINE_IDENTITY] = "identity",
	[AKIN_ENGINE_SIMILARITY] = "similarity",
	[AKIN_ENGINE_HYBRID] = "hybrid",
};

enum akin_engine cli_engine(const char *name)
{
	uint32_t i;

	for (i = 1; name && i < CLI_ARRAY_SIZE(engines); i++)
		if (strcmp(name, engines[i]) == 0)
			return (enum akin_engine)i;
	return AKIN_ENGINE_DEFAULT;
}

const char *cli_engine_text(enum akin_engine engine)
{
	return engines[engine];
}
