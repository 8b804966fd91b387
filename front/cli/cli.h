/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of the program, and its commands.
 *
 * A command returns 0 or a negative code, with its message in @diag; only
 * main() prints errors and knows exit codes.
 */
#ifndef CLI_H
#define CLI_H

#include <stdio.h>

#include "akin/akin.h"
#include "cli_args.h"
#include "cli_json.h"
#include "cli_term.h"

struct cli {
	struct cli_args args;
	struct akin_pool *pool;	/* NULL until cli_open() */
	struct akin_session *session;	/* or cli_open_session() */
	struct akin_diag diag;
	struct cli_json json;	/* lines for standard output */
	struct cli_str text;	/* scratch */
	int argc;
	char **argv;
	bool stdin_was_closed;
	int output_errno;	/* of the first write that failed */
	char snapshot[33];	/* id of the one that was made; "" */
};

int cli_cmd_init(struct cli *c);
int cli_cmd_backup(struct cli *c);
int cli_cmd_snapshots(struct cli *c);
int cli_cmd_ls(struct cli *c);
int cli_cmd_find(struct cli *c);
int cli_cmd_diff(struct cli *c);
int cli_cmd_cat(struct cli *c);
int cli_cmd_restore(struct cli *c);
int cli_cmd_verify(struct cli *c);
int cli_cmd_copy(struct cli *c);
int cli_cmd_rewrite(struct cli *c);
int cli_cmd_forget(struct cli *c);
int cli_cmd_undelete(struct cli *c);
int cli_cmd_policy(struct cli *c);
int cli_cmd_tag(struct cli *c);
int cli_cmd_protect(struct cli *c);
int cli_cmd_unprotect(struct cli *c);
int cli_cmd_gc(struct cli *c);
int cli_cmd_optimize(struct cli *c);
int cli_cmd_check(struct cli *c);
int cli_cmd_repair(struct cli *c);
int cli_cmd_upgrade(struct cli *c);
int cli_cmd_stats(struct cli *c);
int cli_cmd_sysstat(struct cli *c);
int cli_cmd_top(struct cli *c);
int cli_cmd_metrics(struct cli *c);
int cli_cmd_inspect(struct cli *c);
int cli_cmd_capacity(struct cli *c);
int cli_estimate_traces(struct cli *c);
int cli_cmd_estimate(struct cli *c);
int cli_cmd_put(struct cli *c);
int cli_cmd_get(struct cli *c);
int cli_cmd_objects(struct cli *c);
int cli_cmd_loadgen(struct cli *c);
int cli_cmd_pools(struct cli *c);
int cli_cmd_bench(struct cli *c);
int cli_cmd_version(struct cli *c);
int cli_cmd_help(struct cli *c);

/* -AKIN_E_usage unless -p, or what stands for it, names a pool. */
int cli_need_pool(struct cli *c);
/* Opens the pool that -p names, into c->pool. */
int cli_open(struct cli *c, bool read_only);
/* To read data: who may write marks the damage that he comes upon, others read
 * all the same. */
int cli_open_reader(struct cli *c);
/* Does @err say that a snapshot which was listed has been forgotten since? Then
 * there is nothing to complain of, and c->diag is empty. */
bool cli_gone(struct cli *c, int err);
/* Of the pool that -p names, or *pool_ret = NULL without. Nothing is opened;
 * for those who look at others' counters. */
int cli_identify(struct cli *c, char id[AKIN_POOL_ID], const char **pool_ret);
/* The same as a session, into c->session, with the options of writing. */
int cli_open_session(struct cli *c, bool read_only);
/* The same, on a copy of its state: nothing reaches the pool. */
int cli_open_rehearsal(struct cli *c);

/* --tag and --host of commands that write: can they be named later? */
int cli_check_labels(struct cli *c);

/* --verify's LEVEL; NULL is the default. */
enum akin_verify cli_verify_level(const char *level);
const char *cli_verify_text(enum akin_verify level);
/* The same for --engine. */
enum akin_engine cli_engine(const char *name);
const char *cli_engine_text(enum akin_engine engine);

/* What --host, --tag and --path choose; borrows from c->args. */
struct akin_snapshot_filter cli_filter(const struct cli *c);
/* For the options of init and backup. */
int cli_delta_depth(const struct cli_args *a);
/* --parity; 0 without. */
int cli_parity(struct cli *c, unsigned *out);

/*
 * SNAP[:PATH] taken apart: *snap_ret owned, *path_ret borrowed from @word and
 * NULL if there is no ':'.
 */
void cli_split_name(const char *word, char **snap_ret, const char **path_ret);

/* A snapshot, and a path in it that starts with '/'; *path NULL if none. */
struct cli_name {
	uint64_t snapshot;
	char id[33];
	char *path;		/* owned */
};
int cli_resolve(struct cli *c, const char *word, struct cli_name *out);
void cli_name_release(struct cli_name *n);

/* What akin gc does, on c->pool. */
int cli_gc_opened(struct cli *c);
/* The same on a rehearsal: says what would come free, and why no more. */
int cli_gc_rehearsed(struct cli *c);
void cli_gc_print_rehearsed(struct cli *c, const struct akin_gc_result *r);
void cli_gc_progress(void *ctx, const struct akin_gc_progress *p);

/* The rules of --keep-...; tags are borrowed from c->args. */
int cli_policy(struct cli *c, struct akin_policy *out);

/* Callbacks of struct cli for the options of operations. */
void cli_on_progress(void *ctx, const struct akin_progress *p);
void cli_on_waiting(void *ctx, const char *text);
void cli_warn(struct cli *c, const char *path, int code, const char *text,
	      bool minor);

/* Non-zero (a library code) once standard output has failed. */
int cli_output_error(struct cli *c);
/* "a/b" as "3.4x"; "-" if b is 0. */
const char *cli_ratio_text(uint64_t a, uint64_t b, char out[CLI_UNIT_TEXT]);
/* The name, quoted, in c->text, which is reset before. */
const char *cli_quoted(struct cli *c, const char *s);

/* Type, mode, times and so on of a node; for ls and find. */
void cli_node_json(struct cli *c, const struct akin_node *n);
/* @prefix stands in front of the path, within the quotes. */
void cli_node_print(struct cli *c, const char *prefix,
		    const struct akin_node *n);

#endif
