/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topics of the manual; see cli_table.h.
 */
#include "cli_exit.h"
#include "cli_table.h"

static void exit_table(struct cli_str *out)
{
	const struct cli_exit_info *e;

	for (e = cli_exits; e->label; e++)
		cli_str_addf(out, "    %-6s  %s\n", e->label, e->text);
}

/* Variables that are no option. */
static const struct cli_example variables[] = {
	{ "AKIN_CONFIG", "configuration file, instead of the usual two; empty: "
	  "none" },
	{ "AKIN_COUNTERS", "directory of the counters that others can read" },
	{ "AKIN_CPU", "use no more than portable, ssse3, avx2, avx512 or neon" },
	{ "AKIN_IO", "'plain' keeps away from io_uring" },
	{ "NO_COLOR", "if not empty, 'akin top' uses no colours" },
	{ "XDG_CONFIG_HOME", "where the user's configuration lies (~/.config)" },
	{ "TZ", "time zone in which times are printed" },
};

static void env_table(struct cli_str *out)
{
	const struct cli_option *o;
	size_t i;

	for (o = cli_options; o->name; o++) {
		if (o->env)
			cli_str_addf(out, "    %-15s  as --%s: %s\n", o->env,
				     o->name, o->help);
	}
	for (i = 0; i < CLI_ARRAY_SIZE(variables); i++)
		cli_str_addf(out, "    %-15s  %s\n", variables[i].line,
			     variables[i].text);
}

const struct cli_topic cli_topics[] = {
	{ "snapshot-names", "SNAPSHOT NAMES", "how to name a snapshot, and a path in it",
	"SNAP is one of\n"
	"\n"
	"    1a2b3c4d   the first digits of an id, as many as make it unique\n"
	"    latest     the newest snapshot\n"
	"    tag:T      the newest snapshot with the tag T\n"
	"\n"
	"among those that --host and --tag choose. SNAP:PATH names a path in it:\n"
	"latest:/etc/fstab, tag:nightly:/home. The '/' in front may be left out,\n"
	"so a stream is latest:db.sql. A tag cannot hold a ':'.\n", NULL },

	{ "patterns", "PATTERNS", "what --exclude and --include match",
	"A pattern matches bytes of paths:\n"
	"\n"
	"    *        any bytes but '/'\n"
	"    ?        one byte but '/'\n"
	"    [a-z]    one byte of a set, [!a-z] one that is not in it\n"
	"    **       as a whole component: any number of components\n"
	"    \\x       the byte x itself\n"
	"\n"
	"and is held against\n"
	"\n"
	"    name       the last component of any path (no '/' inside)\n"
	"    dir/name   the last components of any path\n"
	"    /dir/name  the absolute path\n"
	"    name/      directories only\n"
	"    !pattern   takes back what an earlier pattern matched\n"
	"\n"
	"The last pattern that fits decides. An excluded directory is not entered,\n"
	"so nothing below it can be taken back. In a pattern file empty lines and\n"
	"lines that begin with '#' are skipped.\n", NULL },

	{ "hooks", "HOOKS", "commands of yours before and after",
	"--hook-before CMD and --hook-after CMD run CMD by /bin/sh, for a snapshot\n"
	"of a volume, a dump, a message. Both may stand in the configuration, and\n"
	"are then run around every command that has them. While they run no pool\n"
	"is open, so they may mount and unmount it.\n"
	"\n"
	"If the one before fails, nothing is done and the exit code is 1. The one\n"
	"after runs whatever happened, also then and after an interruption; if it\n"
	"fails that is a warning: exit code 3 unless there is another one. Both are\n"
	"told, in the environment,\n"
	"\n"
	"    AKIN_HOOK       'before' or 'after'\n"
	"    AKIN_COMMAND    'backup' and so on\n"
	"    AKIN_POOL       the pool, so that 'akin' works on it\n"
	"\n"
	"and the one after also\n"
	"\n"
	"    AKIN_EXIT_CODE  as in 'akin help exit-codes'\n"
	"    AKIN_RESULT     success, warnings, failure or interrupted\n"
	"    AKIN_MESSAGE    what went wrong; empty if nothing did\n"
	"    AKIN_SNAPSHOT   id of the snapshot that a backup made, or empty\n"
	"\n"
	"What they print goes to standard error; their input is empty. An 'akin'\n"
	"that a hook runs has no hooks of its own.\n", NULL },

	{ "compression", "COMPRESSION", "codecs, their levels, and what they are for",
	"CODEC of --compression is one of\n"
	"\n"
	"    none         nothing is compressed\n"
	"    lz4          the fastest both ways\n"
	"    zstd[:1-19]  far smaller; level 1, which a pool has unless told\n"
	"                 otherwise, is quick; zstd alone means zstd:3\n"
	"    gzip[:1-9]   DEFLATE; gzip alone means gzip:6\n"
	"    lzjb         the first codec of ZFS, to the bit\n"
	"\n"
	"The last two are there to compare with ZFS; zstd is better at anything.\n"
	"Groups of chunks (128 KiB) are compressed, and only those that shrink by\n"
	"an eighth stay so: decoding the others would not pay.\n"
	"\n"
	"A pool's codec is chosen by 'akin init'; 'akin backup --compression' is\n"
	"for what one run adds. A pool may hold any mixture, and what is stored\n"
	"already is never compressed again.\n", NULL },

	{ "sizes", "SIZES", "how sizes and rates are written",
	"In options K, M, G, T (and KiB, MiB...) are powers of 1024; KB, MB, GB,\n"
	"TB are powers of 1000; a number alone counts bytes; 1.5G is fine. A rate\n"
	"is a size each second. Everything that is printed is in KiB, MiB, GiB:\n"
	"powers of 1024.\n", NULL },

	{ "machines", "MACHINES", "locks, network file systems, several machines",
	"Any number of commands may use a pool at the same time, on one machine.\n"
	"Locks of the kernel keep them apart; they go when a process dies, so none\n"
	"is ever left behind.\n"
	"\n"
	"On file systems that several machines can reach (NFS, SMB, cluster file\n"
	"systems, whatever comes through FUSE), a machine may not see the locks of\n"
	"another, nor at once what it writes. There the pool notes which machine\n"
	"uses it, in its file meta/locks, and another one is refused, by name. So\n"
	"it is after a machine has died while it used the pool: if that one is\n"
	"gone, say --single-writer once. The machine itself goes on by itself.\n"
	"Commands that only read are not refused.\n"
	"\n"
	"A file system without locks is refused, too. --single-writer, also in the\n"
	"configuration, is for who is sure that one command at a time uses the\n"
	"pool: then nothing else keeps them apart. What reads goes on without\n"
	"locks anyway.\n"
	"\n"
	"Backups from several machines into one pool go over the network to a\n"
	"machine that runs akin: 'ssh db1 pg_dumpall | akin backup --host db1\n"
	"--stdin db.sql'.\n", NULL },

	{ "verification", "VERIFICATION", "how sure a backup is of what it stores",
	"A backup recognises data that is stored already by its fingerprint. The\n"
	"LEVEL of --verify says what else it does:\n"
	"\n"
	"    off     trusts fingerprints: 256 bits, and keyed. No two different\n"
	"            chunks with the same one are known of any such hash\n"
	"    match   compares every byte with the stored copy before it counts as\n"
	"            a duplicate. A copy that cannot be read any more is noticed\n"
	"            and stored anew, and so is one that differs, apart from the\n"
	"            other. Costs the reading and decoding of what is shared\n"
	"    write   does so too, and reads back, decodes and compares all it has\n"
	"            written before a snapshot counts on it. Costs the reading and\n"
	"            decoding of what is new as well\n"
	"\n"
	"What is read back comes from the device if the kernel lets go of what it\n"
	"keeps in memory, as those of local file systems do when asked; the device\n"
	"may answer from a cache of its own all the same. So 'write' finds what\n"
	"goes wrong on the way to a disk, not what a disk will lose tomorrow:\n"
	"'akin check --read-data' is for that.\n"
	"\n"
	"Files that are taken from the parent snapshot are not read and so not\n"
	"compared; --force reads them. 'akin init' sets what a pool's backups do\n"
	"unless they say.\n", NULL },

	{ "engines", "ENGINES", "how a backup finds what is stored already",
	"What --engine names decides how a backup finds what is stored already.\n"
	"Backups by any of them restore alike, and each finds what was stored by\n"
	"the others.\n"
	"\n"
	"    identity    by an index of all fingerprints, of which memory holds as\n"
	"                many as --memory allows\n"
	"    similarity  by a few bytes for each container, at most 4 for a\n"
	"                mebibyte that is stored: the best few are looked into, and\n"
	"                what is not found there is compressed against what\n"
	"                resembles it. For pools that are very large beside the\n"
	"                memory of who writes to them\n"
	"    hybrid      by both: identity, and by similarity what it does not find,\n"
	"                such as files that were moved and changed\n"
	"\n"
	"The table of the last two is the file 'similar' in the metadata pool. It\n"
	"may be removed: the next backup that wants it makes it anew from the\n"
	"directories of all containers.\n", NULL },

	{ "slow-disks", "SLOW DISKS", "what --throttle counts",
	"--throttle makes the pool's two disks as slow as it says, each by what it\n"
	"may do a second: operations, and megabytes (or bytes with a unit, as in\n"
	"20MiB). Either may be left out, and so may one of the disks:\n"
	"\n"
	"    --throttle data=120,160                  a disk that spins\n"
	"    --throttle 'data=120,160 meta=20000,500' and a fast one beside it\n"
	"    --throttle data=,30                      leave others their share\n"
	"\n"
	"A read or write counts if it does not begin where the last one in its\n"
	"file ended, and again for each mebibyte from there on; a sync counts, and\n"
	"so does opening, naming, removing or listing files. What the system would\n"
	"answer from memory counts too, so the disk is one that was just switched\n"
	"on. What is not on the pool's disks, such as what a backup reads, goes as\n"
	"fast as ever.\n", NULL },

	{ "output", "OUTPUT", "names in listings, and JSON",
	"Names are bytes. They are printed so that no byte of them can control a\n"
	"terminal, and so that they can be pasted back into bash, zsh or ksh: as\n"
	"they are if that is safe, in '...' if they hold blanks and the like, else\n"
	"as $'...' with octal escapes for control bytes, invalid UTF-8, and\n"
	"characters that reorder text. It is the same off a terminal; programs\n"
	"should ask for --json.\n"
	"\n"
	"With --json every line on standard output is an object with a \"type\";\n"
	"commands that do something end with one of type \"summary\". Warnings and\n"
	"errors are such lines on standard error, of type \"warning\", \"note\" or\n"
	"\"error\". It is always valid UTF-8: a name that is not comes with U+FFFD\n"
	"in place of its invalid bytes and, beside it, KEY_hex with the exact\n"
	"bytes in hexadecimal. Times are KEY_sec and KEY_nsec, and KEY as text if\n"
	"the year has four digits. Integers have up to 64 bits.\n"
	"\n"
	"A time that no calendar can show is printed as '@' and its seconds.\n"
	"\n"
	"Progress is only shown if standard error is a terminal. No command ever\n"
	"asks a question.\n", NULL },

	{ "configuration", "CONFIGURATION", "configuration files",
	"Read are /etc/akin.conf and then ~/.config/akin/config, or instead of\n"
	"both the file that AKIN_CONFIG names. A line is KEY = VALUE, where KEY is\n"
	"the long name of an option; blanks around both are dropped, lines that\n"
	"begin with '#' are skipped. Switches are yes or no. Lines behind\n"
	"[COMMAND] count for that command only, those in front of the first for\n"
	"every command that has the option.\n"
	"\n"
	"    pool = /mnt/backup\n"
	"    memory = 256M\n"
	"\n"
	"    [backup]\n"
	"    exclude = *.o\n"
	"    exclude = /home/*/.cache\n"
	"    one-file-system = yes\n"
	"\n"
	"The command line counts more than the environment, the environment more\n"
	"than the files, and the user's file more than the system's. Options that\n"
	"may be repeated add up. --no-NAME undoes a switch, as in\n"
	"--no-one-file-system.\n", NULL },

	{ "environment", "ENVIRONMENT", "environment variables", "", env_table },

	{ "traces", "TRACES", "fingerprints of others' data",
	"A trace says which chunks or blocks some data had, without the data.\n"
	"These are read, told apart by how they begin:\n"
	"\n"
	"    hashfiles    snapshots of file systems as published on\n"
	"                 tracer.filesystems.org, versions 1 to 7, unpacked; or\n"
	"                 what 'hf-stat -h' prints of one\n"
	"    block I/O    FIU's traces with digests (SNIA's IODedup), one for\n"
	"                 each 4 KiB or each sector; only what is written counts\n"
	"\n"
	"'akin estimate --traces' counts what is in them. 'akin loadgen --trace'\n"
	"makes each block or chunk as many bytes, from its fingerprint: equal where\n"
	"it was equal. Into a pool with '--fixed-blocks' of the trace's size they\n"
	"go as they are; cut by content, a pool finds what repeats several chunks\n"
	"in a row. 'akin bench growth' takes one for each step.\n", NULL },

	{ "exit-codes", "EXIT CODES", "what the exit code says", "", exit_table },
	{ NULL },
};
