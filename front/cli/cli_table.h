/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands, options and topics: the one table.
 *
 * Parsing, --help, the manual pages, the completions, the configuration file
 * and the environment are all made from it, so they cannot disagree.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "cli_str.h"
#include "cli_units.h"

enum cli_command {
	CLI_INIT, CLI_BACKUP, CLI_SNAPSHOTS, CLI_LS, CLI_FIND, CLI_DIFF,
	CLI_CAT, CLI_RESTORE,
	CLI_VERIFY, CLI_COPY, CLI_REWRITE,
	CLI_FORGET, CLI_UNDELETE, CLI_POLICY, CLI_TAG,
	CLI_PROTECT, CLI_UNPROTECT, CLI_GC, CLI_OPTIMIZE, CLI_CHECK,
	CLI_REPAIR, CLI_UPGRADE, CLI_STATS, CLI_SYSSTAT, CLI_TOP, CLI_METRICS, CLI_INSPECT,
	CLI_CAPACITY, CLI_ESTIMATE, CLI_PUT, CLI_GET, CLI_OBJECTS,
	CLI_LOADGEN, CLI_POOLS, CLI_BENCH,
	CLI_VERSION, CLI_HELP,
	CLI_NR_COMMANDS
};

/* Parameters of calculations; as many as tools/capacity has. */
#define CLI_NR_CAPACITY 21

/* What the command line, environment and configuration came to. */
struct cli_args {
	enum cli_command command;
	bool have_command;
	const char *pool;
	bool json, quiet, verbose, help, version;
	const char *hook_before, *hook_after;
	uint64_t memory;
	unsigned threads;
	struct cli_throttle throttle;
	bool single_writer;
	/* init */
	const char *meta_dir, *data_dir, *compression, *hash, *like;
	const char *delta_depth;	/* a digit; of backup too */
	uint64_t chunk_size, container_size;
	bool fixed_blocks;
	const char *parity;		/* percent; optimize, too */
	/* backup */
	struct cli_list tags, excludes, exclude_files;
	const char *host, *exclude_if_present, *files_from, *files_from0;
	const char *stdin_name;
	bool exec, one_file_system, force, read_special, dry_run;
	uint64_t limit_read, limit_write;
	const char *verify_level;	/* init, too */
	const char *engine;		/* init, too */
	/* the others */
	struct cli_list snapshots, paths, includes;
	const char *target, *overwrite;
	bool long_format, one_level, delete_extra, verify, by_codec;
	bool restore_cost, space, histogram, show_compression;
	struct cli_share read_data;
	struct cli_budget budget;
	/* gc */
	bool interrupted;
	unsigned threshold;
	uint64_t limit;
	/* optimize; compression and delta_depth, too */
	bool all;
	/* repair */
	bool yes, read_all;
	/* forget, policy, tag, protect */
	unsigned keep_last, keep_hourly, keep_daily, keep_weekly, keep_monthly;
	unsigned keep_yearly;
	const char *keep_within, *until;
	struct cli_list drop;
	bool keep_old;
	struct cli_list keep_tags, add_tags, remove_tags, set_tags;
	bool forgotten, gc;
	/* sysstat */
	bool extended, summary, once;
	unsigned count;
	/* put, get, objects */
	struct cli_list attributes;
	const char *snapshot, *object_name;
	uint64_t offset, length;
	bool newest;
	/* loadgen; shares and factors as text */
	const char *load_seed, *load_dedup, *load_random, *load_distribution;
	const char *load_compressible, *load_similar, *load_change;
	const char *load_edits, *load_objects;
	struct cli_list traces;
	bool as_traces;		/* estimate */
	uint64_t load_size, load_unit, load_edit_size, load_offer;
	unsigned load_streams, load_set, load_similar_bytes;
	unsigned load_generations, load_generation;
	const char *bench_dir, *report;
	unsigned bench_files, bench_fingerprints;
	/* estimate; load_seed and report, too */
	const char *sample, *every, *scratch;
	uint64_t scratch_size;
	bool series, identity_only;
	/* capacity; the index is an enum cap_param */
	const char *capacity[CLI_NR_CAPACITY];
	const char *port;
	bool explain, serve;

	struct cli_list operands;
	uint32_t nr_before_dashes;	/* operands in front of "--" */
	struct cli_list owned;	/* strings that belong to this */
};

enum cli_kind {
	CLI_FLAG,		/* bool; --no-NAME undoes it */
	CLI_STRING,
	CLI_LIST,		/* may be repeated */
	CLI_CHOICE,		/* one of @choices */
	CLI_SIZE, CLI_RATE, CLI_COUNT,
	CLI_KEEP,		/* a number from 1 */
	CLI_SHARE,		/* the value is optional */
	CLI_BUDGET,
	CLI_THROTTLE,		/* may be repeated */
};

/* What a shell offers as a value or operand. */
enum cli_complete {
	CLI_COMPLETE_NONE, CLI_COMPLETE_FILE, CLI_COMPLETE_DIR,
	CLI_COMPLETE_SNAPSHOT, CLI_COMPLETE_TOPIC, CLI_COMPLETE_CODEC,
	CLI_COMPLETE_POLICY,
	CLI_COMPLETE_CAPACITY,
};

#define CLI_BIT(command) (UINT64_C(1) << (command))
#define CLI_ALL (CLI_BIT(CLI_NR_COMMANDS) - 1)

struct cli_option {
	const char *name;
	char letter;		/* or 0 */
	enum cli_kind kind;
	const char *arg;	/* name of the value in help; NULL: none */
	uint64_t commands;	/* CLI_BIT of each that has it */
	size_t offset;		/* in struct cli_args */
	const char *help;	/* one sentence, lower case, no full stop */
	const char *choices;	/* "a|b|c" */
	const char *env;	/* variable that sets it */
	enum cli_complete complete;
	bool line_only;		/* has no place in a configuration file */
};

struct cli_example {
	const char *line, *text;
};

#define CLI_MAX_SYNOPSES 6
#define CLI_MAX_EXAMPLES 8
#define CLI_ANY UINT32_MAX

struct cli_command_info {
	const char *name;
	const char *summary;	/* one sentence, lower case, no full stop */
	const char *synopsis[CLI_MAX_SYNOPSES];	/* behind "akin " */
	const char *text;	/* see cli_topic */
	struct cli_example examples[CLI_MAX_EXAMPLES];
	uint32_t min_operands, max_operands;
	enum cli_complete complete;
};

/*
 * A subject that concerns more than one command: `akin help NAME`, and a
 * section of akin(1). Text is lines of at most 76 columns; empty lines part
 * paragraphs, lines that begin with four blanks are kept as they are.
 */
struct cli_topic {
	const char *name, *title, *summary;
	const char *text;
	/* Appends what comes from a table; may be NULL. */
	void (*table)(struct cli_str *out);
};

/* Both end with a NULL name. */
extern const struct cli_option cli_options[];
extern const struct cli_topic cli_topics[];
extern const struct cli_command_info cli_commands[CLI_NR_COMMANDS];

/* NULL if there is none. */
const struct cli_option *cli_option_find(enum cli_command command,
					 const char *name, size_t len);
/* -1 if there is none. */
int cli_command_find(const char *name);
const struct cli_topic *cli_topic_find(const char *name);
/* Of every command. */
bool cli_option_is_global(const struct cli_option *o);

#endif
