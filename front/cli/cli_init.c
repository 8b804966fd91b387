/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin init, version and help: what needs no pool.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_doc.h"

#ifndef AKIN_VERSION
#define AKIN_VERSION "0"
#endif

static int narrow(struct cli *c, const char *option, uint64_t v, uint32_t *out)
{
	if (v > UINT32_MAX)
		return cli_fail(&c->diag, -AKIN_E_usage, "--%s: too large",
				option);
	*out = (uint32_t)v;
	return 0;
}

int cli_parity(struct cli *c, unsigned *out)
{
	const char *text = c->args.parity;
	char *end;
	unsigned long v;

	*out = 0;
	if (!text)
		return 0;
	v = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && v <= AKIN_PARITY_MAX &&
	    (!*end || !strcmp(end, "%"))) {
		*out = (unsigned)v;
		return 0;
	}
	cli_fail(&c->diag, -AKIN_E_usage, "--parity: '%s' is no share", text);
	cli_hint(&c->diag, "From 0 (none) to %d, in percent.",
		 AKIN_PARITY_MAX);
	return -AKIN_E_usage;
}

int cli_cmd_init(struct cli *c)
{
	const struct cli_args *a = &c->args;
	struct akin_init_options opt = {
		.path = a->operands.nr ? a->operands.v[0] : a->pool,
		.meta_dir = a->meta_dir,
		.data_dir = a->data_dir,
		.chunk_fixed = a->fixed_blocks,
		.compression = a->compression,
		.hash = a->hash,
		.delta_depth = cli_delta_depth(a),
		.single_writer = a->single_writer,
		.like = a->like,
		.verify = cli_verify_level(a->verify_level),
		.engine = cli_engine(a->engine),
	};
	int err;

	if (!opt.path) {
		cli_fail(&c->diag, -AKIN_E_usage, "no POOL given");
		cli_hint(&c->diag, "Usage: akin %s",
			 cli_commands[CLI_INIT].synopsis[0]);
		return -AKIN_E_usage;
	}
	err = cli_parity(c, &opt.parity);
	if (!err)
		err = narrow(c, "chunk-size", a->chunk_size, &opt.chunk_size);
	if (!err)
		err = narrow(c, "container-size", a->container_size,
			     &opt.container_bytes);
	if (!err)
		err = akin_pool_init(&opt, &c->diag);
	if (err)
		return err;
	if (a->json) {
		cli_json_begin(&c->json, "summary");
		cli_json_text(&c->json, "command", "init");
		cli_json_name(&c->json, "pool", opt.path);
		cli_json_end(&c->json, stdout);
	} else if (!a->quiet) {
		printf("made an empty pool; next: akin -p %s backup PATH...\n",
		       cli_quoted(c, opt.path));
	}
	return 0;
}

static void print_kernels(const struct akin_pool_info *i)
{
	printf("pool %s: chunks cut by %s, hashed by %s (%s)\n", i->id,
	       i->chunk_kernel, i->hash, i->hash_kernel);
}

int cli_cmd_version(struct cli *c)
{
	struct akin_pool_info info = { 0 };
	bool with_pool = c->args.verbose && c->args.pool && *c->args.pool;
	int err;

	if (with_pool) {
		err = cli_open(c, true);
		if (err)
			return err;
		akin_pool_get_info(c->pool, &info);
	}
	if (c->args.json) {
		cli_json_begin(&c->json, "version");
		cli_json_text(&c->json, "version", AKIN_VERSION);
		if (with_pool) {
			cli_json_text(&c->json, "pool", info.id);
			cli_json_text(&c->json, "chunk_kernel",
				      info.chunk_kernel);
			cli_json_text(&c->json, "hash", info.hash);
			cli_json_text(&c->json, "hash_kernel",
				      info.hash_kernel);
		}
		cli_json_end(&c->json, stdout);
		return 0;
	}
	printf("akin " AKIN_VERSION "\n");
	if (with_pool)
		print_kernels(&info);
	return 0;
}

int cli_cmd_help(struct cli *c)
{
	const char *word = NULL;
	struct cli_str text = { 0 };
	const struct cli_topic *topic;
	int cmd = -1, err = 0;

	if (c->args.command == CLI_HELP && c->args.operands.nr)
		word = c->args.operands.v[0];
	if (word)
		cmd = cli_command_find(word);
	else if (c->args.help && c->args.have_command)
		cmd = (int)c->args.command;
	topic = word ? cli_topic_find(word) : NULL;
	if (cmd >= 0)
		cli_help_command(&text, (enum cli_command)cmd);
	else if (topic)
		cli_help_topic(&text, topic);
	else if (!word)
		cli_help_overview(&text);
	else {
		err = cli_fail(&c->diag, -AKIN_E_usage,
			       "'%s' is neither a command nor a topic", word);
		cli_hint(&c->diag, "'akin help' lists both.");
	}
	fputs(cli_str_text(&text), stdout);
	cli_str_release(&text);
	return err;
}
