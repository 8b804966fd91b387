/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options; see cli_table.h.
 *
 * A name may stand twice with different commands, where it means the same kind
 * of thing but another sentence explains it.
 */
#include <assert.h>
#include <string.h>

#include "akin/pool.h"
#include "capacity.h"
#include "cli_table.h"

#define AT(field) offsetof(struct cli_args, field)
#define B(command) CLI_BIT(CLI_##command)
/* Commands that name a snapshot. */
#define NAMING (B(LS) | B(FIND) | B(DIFF) | B(CAT) | B(RESTORE) | B(STATS) | \
		B(VERIFY) | B(COPY) | B(REWRITE) | \
		B(FORGET) | B(UNDELETE) | B(TAG) | B(PROTECT) | B(UNPROTECT) | \
		B(GET) | B(OBJECTS))
/* Commands that write data. */
#define WRITING (B(BACKUP) | B(PUT))
/* Commands that one runs from a timer, or waits for. */
#define HOOKED (B(BACKUP) | B(RESTORE) | B(VERIFY) | B(COPY) | B(REWRITE) | \
		B(FORGET) | B(GC) | B(OPTIMIZE) | B(CHECK) | B(REPAIR))
/* Commands that may be asked to go slowly. */
#define THROTTLED (HOOKED | B(CAT) | B(PUT) | B(GET) | B(LOADGEN) | B(BENCH))
/* Commands that speak of a policy. */
#define KEEPING (B(FORGET) | B(POLICY))

/* Parameters of calculations. Text: their sizes go beyond 64 bits, and
 * tools/capacity reads them. */
#define CAPACITY(param) AT(capacity[CAP_##param])

static_assert(CAP_NR_PARAMS == CLI_NR_CAPACITY, "each has a place");
static_assert(AKIN_MEMORY_DEFAULT == 128u << 20, "the help below says 128M");

const struct cli_option cli_options[] = {
	/* Of every command ---------------------------------------------- */
	{ "pool", 'p', CLI_STRING, "POOL", CLI_ALL, AT(pool),
	  "the pool to work on", .env = "AKIN_POOL",
	  .complete = CLI_COMPLETE_DIR },
	{ "json", 0, CLI_FLAG, NULL, CLI_ALL, AT(json),
	  "print JSON, one object a line" },
	{ "quiet", 'q', CLI_FLAG, NULL, CLI_ALL, AT(quiet),
	  "print no progress, notes or summaries; warnings and errors stay" },
	{ "verbose", 'v', CLI_FLAG, NULL, CLI_ALL, AT(verbose),
	  "say more, such as how memory is split" },
	{ "memory", 0, CLI_SIZE, "SIZE", CLI_ALL, AT(memory),
	  "keep the whole process within SIZE of memory (default 128M)",
	  .env = "AKIN_MEMORY" },
	{ "threads", 0, CLI_COUNT, "N", CLI_ALL, AT(threads),
	  "work with N threads (default: one per processor)",
	  .env = "AKIN_THREADS" },
	{ "single-writer", 0, CLI_FLAG, NULL, CLI_ALL, AT(single_writer),
	  "nobody else uses the pool meanwhile, on no machine: do without locks "
	  "where there are none (see 'akin help machines')" },
	{ "help", 'h', CLI_FLAG, NULL, CLI_ALL, AT(help),
	  "explain the command, by example", .line_only = true },
	{ "version", 0, CLI_FLAG, NULL, CLI_ALL, AT(version),
	  "print the version", .line_only = true },
	{ "hook-before", 0, CLI_STRING, "CMD", HOOKED, AT(hook_before),
	  "run CMD by the shell before; if it fails nothing else is done" },
	{ "hook-after", 0, CLI_STRING, "CMD", HOOKED, AT(hook_after),
	  "run CMD by the shell afterwards, whatever happened; it is told" },

	{ "throttle", 0, CLI_THROTTLE, "LIMITS", THROTTLED, AT(throttle),
	  "use the pool's disks as if they were slow: data=IOPS,MB/s, "
	  "meta=IOPS,MB/s; see 'akin help slow-disks'" },

	/* init ----------------------------------------------------------- */
	{ "meta-dir", 0, CLI_STRING, "DIR", B(INIT), AT(meta_dir),
	  "put the metadata pool (small, wants a fast disk) into DIR",
	  .complete = CLI_COMPLETE_DIR },
	{ "data-dir", 0, CLI_STRING, "DIR", B(INIT), AT(data_dir),
	  "put the data pool (big, may be slow) into DIR",
	  .complete = CLI_COMPLETE_DIR },
	{ "chunk-size", 0, CLI_SIZE, "SIZE", B(INIT), AT(chunk_size),
	  "cut chunks of SIZE on average, a power of two (default 8K)" },
	{ "fixed-blocks", 0, CLI_FLAG, NULL, B(INIT), AT(fixed_blocks),
	  "cut blocks of exactly that size instead, for disk images" },
	{ "compression", 0, CLI_STRING, "CODEC", B(INIT), AT(compression),
	  "compress with CODEC unless a backup says otherwise: none, lz4, "
	  "zstd[:LEVEL], gzip[:LEVEL] or lzjb (default zstd:1)",
	  .complete = CLI_COMPLETE_CODEC },
	{ "delta-depth", 0, CLI_CHOICE, "N", B(INIT), AT(delta_depth),
	  "compress new data against similar stored data, in chains of at most "
	  "N, 0 to 8; 0: never (default 2)",
	  .choices = "0|1|2|3|4|5|6|7|8" },
	{ "engine", 0, CLI_CHOICE, "NAME", B(INIT), AT(engine),
	  "how backups find what is stored unless they say: identity (an index "
	  "of fingerprints; the default), similarity (a few bytes for each "
	  "container), hybrid (both)",
	  .choices = "identity|similarity|hybrid" },
	{ "hash", 0, CLI_CHOICE, "NAME", B(INIT), AT(hash),
	  "fingerprint with blake3 or sha256 (default blake3)",
	  .choices = "blake3|sha256" },
	{ "container-size", 0, CLI_SIZE, "SIZE", B(INIT), AT(container_size),
	  "write containers of SIZE, 1M to 64M (default 8M)" },
	{ "verify", 0, CLI_CHOICE, "LEVEL", B(INIT), AT(verify_level),
	  "how sure backups are unless they say: off (trust fingerprints; the "
	  "default), match (compare bytes before they are shared), write (also "
	  "read back what was written)", .choices = "off|match|write" },
	{ "parity", 0, CLI_STRING, "PERCENT", B(INIT), AT(parity),
	  "add so much parity to all that is stored, 1 to 50: sectors that a "
	  "disk loses are made again from it (default 0: none; 'akin optimize' "
	  "can change it)" },
	{ "like", 0, CLI_STRING, "POOL", B(INIT), AT(like),
	  "share the keys and chunk size of another pool, so that data can be "
	  "copied between them as it is", .complete = CLI_COMPLETE_DIR },

	/* backup --------------------------------------------------------- */
	{ "tag", 0, CLI_LIST, "T", WRITING | B(LOADGEN), AT(tags),
	  "give the snapshot the tag T; may be repeated" },
	{ "host", 0, CLI_STRING, "H", WRITING | B(LOADGEN), AT(host),
	  "record the host as H instead of this machine's name" },
	{ "exclude", 0, CLI_LIST, "PATTERN", B(BACKUP), AT(excludes),
	  "leave out what PATTERN matches; may be repeated" },
	{ "exclude-file", 0, CLI_LIST, "FILE", B(BACKUP), AT(exclude_files),
	  "leave out what the patterns in FILE match, one a line",
	  .complete = CLI_COMPLETE_FILE },
	{ "exclude-if-present", 0, CLI_STRING, "NAME", B(BACKUP),
	  AT(exclude_if_present), "leave out directories that hold a NAME" },
	{ "files-from", 0, CLI_STRING, "FILE", B(BACKUP), AT(files_from),
	  "back up the paths in FILE too, one a line; '-' is standard input",
	  .complete = CLI_COMPLETE_FILE },
	{ "files-from0", 0, CLI_STRING, "FILE", B(BACKUP), AT(files_from0),
	  "the same, each path ended by a NUL byte",
	  .complete = CLI_COMPLETE_FILE },
	{ "one-file-system", 'x', CLI_FLAG, NULL, B(BACKUP),
	  AT(one_file_system), "do not enter other file systems" },
	{ "force", 0, CLI_FLAG, NULL, B(BACKUP), AT(force),
	  "read every file, also those that look unchanged" },
	{ "read-special", 0, CLI_FLAG, NULL, B(BACKUP), AT(read_special),
	  "store the contents of named devices and FIFOs, not the nodes" },
	{ "compression", 0, CLI_STRING, "CODEC",
	  WRITING | B(COPY) | B(LOADGEN) | B(BENCH),
	  AT(compression),
	  "compress what this run adds with CODEC, not as the pool does",
	  .complete = CLI_COMPLETE_CODEC },
	{ "delta-depth", 0, CLI_CHOICE, "N", WRITING | B(LOADGEN) | B(BENCH),
	  AT(delta_depth),
	  "compress against similar stored data in chains of at most N, 0 to "
	  "8, instead of what the pool says",
	  .choices = "0|1|2|3|4|5|6|7|8" },
	{ "engine", 0, CLI_CHOICE, "NAME", WRITING, AT(engine),
	  "find what is stored by identity, similarity or hybrid instead of "
	  "what the pool says; see 'akin help engines'",
	  .choices = "identity|similarity|hybrid" },
	{ "verify", 0, CLI_CHOICE, "LEVEL", WRITING, AT(verify_level),
	  "off, match or write instead of what the pool says; see 'akin help "
	  "verification'", .choices = "off|match|write" },
	{ "limit-read", 0, CLI_RATE, "RATE", B(BACKUP), AT(limit_read),
	  "read at most RATE bytes a second, such as 50M" },
	{ "limit-write", 0, CLI_RATE, "RATE", B(BACKUP) | B(COPY), AT(limit_write),
	  "write at most RATE bytes a second to the pool" },
	{ "stdin", 0, CLI_STRING, "NAME", B(BACKUP), AT(stdin_name),
	  "store standard input as a stream called NAME", .line_only = true },
	{ "exec", 0, CLI_FLAG, NULL, B(BACKUP), AT(exec),
	  "with --stdin: run the command behind '--' and store what it "
	  "prints, but only if it succeeds", .line_only = true },

	/* Choosing snapshots --------------------------------------------- */
	{ "tag", 0, CLI_LIST, "T", B(SNAPSHOTS) | NAMING, AT(tags),
	  "only snapshots with the tag T; repeated: with all of them" },
	{ "host", 0, CLI_STRING, "H", B(SNAPSHOTS) | NAMING, AT(host),
	  "only snapshots of the host H" },
	{ "path", 0, CLI_LIST, "PATH", B(SNAPSHOTS) | B(FORGET), AT(paths),
	  "only snapshots of exactly PATH; repeated: of exactly these",
	  .complete = CLI_COMPLETE_DIR },
	{ "snapshot", 's', CLI_LIST, "SNAP", B(FIND), AT(snapshots),
	  "search SNAP instead of every snapshot; may be repeated",
	  .complete = CLI_COMPLETE_SNAPSHOT },

	{ "forgotten", 0, CLI_FLAG, NULL, B(SNAPSHOTS), AT(forgotten),
	  "list those that were forgotten instead" },

	/* Looking into them ---------------------------------------------- */
	{ "long", 'l', CLI_FLAG, NULL, B(LS) | B(FIND), AT(long_format),
	  "print mode, owner, group, size and time as well" },
	{ "one-level", '1', CLI_FLAG, NULL, B(LS), AT(one_level),
	  "list a directory's own entries, not what is below them" },
	{ "by-codec", 0, CLI_FLAG, NULL, B(STATS), AT(by_codec),
	  "also say what each codec made of how much; reads the directory of "
	  "every container" },
	{ "restore-cost", 0, CLI_FLAG, NULL, B(STATS), AT(restore_cost),
	  "also say how much a restore of SNAP reads and decodes; reads its "
	  "metadata, and groups that were compressed against others" },
	{ "space", 0, CLI_FLAG, NULL, B(STATS), AT(space),
	  "also say what only SNAP holds, and what forgetting all that are named "
	  "would free; takes as long as reclaiming" },

	{ "compression", 0, CLI_FLAG, NULL, B(STATS), AT(show_compression),
	  "also say what was given and what it takes: now, of the last seven "
	  "days, of the last day", .line_only = true },
	{ "histogram", 0, CLI_FLAG, NULL, B(STATS), AT(histogram),
	  "also list chunks by how often they are referred to; reads the "
	  "metadata of every snapshot", .line_only = true },

	/* put, get, objects ----------------------------------------------- */
	{ "attribute", 0, CLI_LIST, "NAME=VALUE", B(PUT), AT(attributes),
	  "give the objects the attribute NAME; may be repeated",
	  .line_only = true },
	{ "snapshot", 's', CLI_STRING, "SNAP", B(GET) | B(OBJECTS),
	  AT(snapshot), "as of SNAP instead of the newest",
	  .complete = CLI_COMPLETE_SNAPSHOT, .line_only = true },
	{ "offset", 0, CLI_SIZE, "SIZE", B(GET), AT(offset),
	  "begin SIZE bytes behind the start", .line_only = true },
	{ "length", 0, CLI_SIZE, "SIZE", B(GET), AT(length),
	  "end after SIZE bytes", .line_only = true },
	{ "name", 0, CLI_STRING, "PATTERN", B(OBJECTS), AT(object_name),
	  "only objects whose name matches the shell pattern PATTERN",
	  .line_only = true },
	{ "newest", 0, CLI_FLAG, NULL, B(OBJECTS), AT(newest),
	  "only from the newest snapshot of each space and host",
	  .line_only = true },

	{ "traces", 0, CLI_FLAG, NULL, B(ESTIMATE), AT(as_traces),
	  "each FILE is a trace: fingerprints without data (see 'akin help "
	  "traces')", .line_only = true },

	/* loadgen ----------------------------------------------------------- */
	{ "seed", 0, CLI_STRING, "N", B(LOADGEN), AT(load_seed),
	  "another N gives another load (default 0)", .line_only = true },
	{ "size", 0, CLI_SIZE, "SIZE", B(LOADGEN), AT(load_size),
	  "of each stream (default 1G)", .line_only = true },
	{ "streams", 0, CLI_COUNT, "N", B(LOADGEN), AT(load_streams),
	  "make N streams (default 1); a pool gets them at once, as far as its "
	  "memory allows", .line_only = true },
	{ "unit", 0, CLI_SIZE, "SIZE", B(LOADGEN), AT(load_unit),
	  "repeat units of SIZE (default 128K, larger than any chunk)",
	  .line_only = true },
	{ "dedup", 0, CLI_STRING, "F", B(LOADGEN), AT(load_dedup),
	  "have F times as many units as different ones, in all streams "
	  "together (default 1)", .line_only = true },
	{ "random", 0, CLI_STRING, "N%", B(LOADGEN), AT(load_random),
	  "instead: N% of the units occur once, the rest repeats a set",
	  .line_only = true },
	{ "set", 0, CLI_COUNT, "N", B(LOADGEN), AT(load_set),
	  "with --random: a set of N units (default: one in 100 units)",
	  .line_only = true },
	{ "distribution", 0, CLI_STRING, "FILE", B(LOADGEN),
	  AT(load_distribution), "instead: as a file of DEDISbench says, lines "
	  "of 'DUPLICATES CONTENTS'", .complete = CLI_COMPLETE_FILE,
	  .line_only = true },
	{ "trace", 0, CLI_LIST, "FILE", B(LOADGEN), AT(traces),
	  "instead: what a trace of chunks or blocks had, with contents made "
	  "from its fingerprints (see 'akin help traces')",
	  .complete = CLI_COMPLETE_FILE, .line_only = true },
	{ "compressible", 0, CLI_STRING, "N%", B(LOADGEN),
	  AT(load_compressible), "let compression save N%, up to 99% (default "
	  "0%)", .line_only = true },
	{ "similar", 0, CLI_STRING, "N%", B(LOADGEN), AT(load_similar),
	  "N% of the different units resemble another one (default 0%)",
	  .line_only = true },
	{ "similar-bytes", 0, CLI_COUNT, "N", B(LOADGEN),
	  AT(load_similar_bytes), "but for N bytes in each KiB (default 16)",
	  .line_only = true },
	{ "change", 0, CLI_STRING, "N%", B(LOADGEN), AT(load_change),
	  "edit N% of the bytes from generation to generation (default 0%)",
	  .line_only = true },
	{ "edit-size", 0, CLI_SIZE, "SIZE", B(LOADGEN), AT(load_edit_size),
	  "SIZE at a time (default 64K)", .line_only = true },
	{ "edits", 0, CLI_STRING, "O:I:D:M", B(LOADGEN), AT(load_edits),
	  "so many parts of overwriting, inserting, deleting, moving (default "
	  "7:1:1:1)", .line_only = true },
	{ "generations", 0, CLI_COUNT, "N", B(LOADGEN), AT(load_generations),
	  "store N generations, each as a snapshot (default 1)",
	  .line_only = true },
	{ "generation", 0, CLI_COUNT, "N", B(LOADGEN), AT(load_generation),
	  "begin with generation N (default 0)", .line_only = true },
	{ "object-size", 0, CLI_STRING, "MIN[-MAX]", B(LOADGEN),
	  AT(load_objects), "cut streams into objects of such sizes, small ones "
	  "more often (default: one each)", .line_only = true },
	{ "offer", 0, CLI_RATE, "RATE", B(LOADGEN), AT(load_offer),
	  "to a pool: offer RATE bytes a second and no more, all streams "
	  "together", .line_only = true },
	{ "verify", 0, CLI_FLAG, NULL, B(LOADGEN), AT(verify),
	  "read everything back afterwards and compare" },

	/* bench ------------------------------------------------------------- */
	{ "size", 0, CLI_SIZE, "SIZE", B(BENCH), AT(load_size),
	  "of the load: of each stream, or step (default 64M to 256M)",
	  .line_only = true },
	{ "files", 0, CLI_KEEP, "N", B(BENCH), AT(bench_files),
	  "files: a study of N files (default 1000), each of --size (default "
	  "256K)", .line_only = true },
	{ "fingerprints", 0, CLI_KEEP, "N", B(BENCH), AT(bench_fingerprints),
	  "growth: besides data, N fingerprints of chunks that are not there "
	  "(16 bytes of disk each, twice while they are merged)",
	  .line_only = true },
	{ "dir", 0, CLI_STRING, "DIR", B(BENCH), AT(bench_dir),
	  "make pools in DIR, and remove them (default: TMPDIR, or /tmp)",
	  .complete = CLI_COMPLETE_DIR, .line_only = true },
	{ "trace", 0, CLI_LIST, "FILE", B(BENCH), AT(traces),
	  "growth: a step with what FILE had (see 'akin help traces'); may be "
	  "repeated", .complete = CLI_COMPLETE_FILE, .line_only = true },
	{ "report", 0, CLI_STRING, "FILE", B(BENCH) | B(ESTIMATE), AT(report),
	  "also write a page of HTML with charts to FILE",
	  .complete = CLI_COMPLETE_FILE, .line_only = true },

	/* estimate ------------------------------------------------------- */
	{ "sample", 0, CLI_STRING, "N%", B(ESTIMATE), AT(sample),
	  "read only N% of the data, in pieces chosen by chance",
	  .line_only = true },
	{ "series", 0, CLI_FLAG, NULL, B(ESTIMATE), AT(series),
	  "each PATH is a state of the same data, oldest first: how does it "
	  "change?", .line_only = true },
	{ "every", 0, CLI_STRING, "TIME", B(ESTIMATE), AT(every),
	  "from one state to the next, such as 1d (default: by their times of "
	  "change)", .line_only = true },
	{ "identity-only", 0, CLI_FLAG, NULL, B(ESTIMATE), AT(identity_only),
	  "do not try references; nothing is written anywhere then" },
	{ "scratch", 0, CLI_STRING, "DIR", B(ESTIMATE), AT(scratch),
	  "try references in a pool in DIR that is removed afterwards "
	  "(default: TMPDIR, or /tmp)", .complete = CLI_COMPLETE_DIR },
	{ "scratch-size", 0, CLI_SIZE, "SIZE", B(ESTIMATE), AT(scratch_size),
	  "let it take SIZE at most (default 4G)" },
	{ "seed", 0, CLI_STRING, "N", B(ESTIMATE), AT(load_seed),
	  "another N chooses other samples (default 0)", .line_only = true },

	/* restore -------------------------------------------------------- */
	{ "target", 't', CLI_STRING, "DIR", B(RESTORE), AT(target),
	  "restore into DIR, made if it does not exist",
	  .complete = CLI_COMPLETE_DIR },
	{ "include", 0, CLI_LIST, "PATTERN", B(RESTORE), AT(includes),
	  "restore only what PATTERN matches; may be repeated" },
	{ "exclude", 0, CLI_LIST, "PATTERN", B(RESTORE), AT(excludes),
	  "leave out what PATTERN matches; may be repeated" },
	{ "drop", 0, CLI_LIST, "PATH", B(REWRITE), AT(drop),
	  "leave out PATH and all that is below it; may be repeated",
	  .line_only = true },
	{ "keep-old", 0, CLI_FLAG, NULL, B(REWRITE), AT(keep_old),
	  "do not forget the snapshots that were rewritten",
	  .line_only = true },
	{ "exclude", 0, CLI_LIST, "PATTERN", B(VERIFY), AT(excludes),
	  "leave out what PATTERN matches, in the snapshot and live; may be "
	  "repeated" },
	{ "overwrite", 0, CLI_CHOICE, "WHEN", B(RESTORE), AT(overwrite),
	  "existing files: if-changed (size or time differ; the default), "
	  "always (compare and correct every byte), never",
	  .choices = "if-changed|always|never" },
	{ "delete", 0, CLI_FLAG, NULL, B(RESTORE), AT(delete_extra),
	  "remove from DIR what the snapshot does not have" },
	{ "verify", 0, CLI_FLAG, NULL, B(RESTORE), AT(verify),
	  "read everything back afterwards and compare" },
	{ "dry-run", 'n', CLI_FLAG, NULL, B(BACKUP) | B(RESTORE) |
	  B(FORGET) | B(GC) | B(OPTIMIZE) | B(REPAIR) | B(REWRITE) |
	  B(UPGRADE), AT(dry_run),
	  "say what would happen; write nothing" },

	/* forget, policy -------------------------------------------------- */
	{ "keep-last", 0, CLI_KEEP, "N", KEEPING, AT(keep_last),
	  "keep the N newest", .line_only = true },
	{ "keep-hourly", 0, CLI_KEEP, "N", KEEPING, AT(keep_hourly),
	  "keep the newest of each of the N newest hours that have any",
	  .line_only = true },
	{ "keep-daily", 0, CLI_KEEP, "N", KEEPING, AT(keep_daily),
	  "the same with days, from midnight in the time zone of TZ",
	  .line_only = true },
	{ "keep-weekly", 0, CLI_KEEP, "N", KEEPING, AT(keep_weekly),
	  "the same with weeks, from Monday", .line_only = true },
	{ "keep-monthly", 0, CLI_KEEP, "N", KEEPING, AT(keep_monthly),
	  "the same with months", .line_only = true },
	{ "keep-yearly", 0, CLI_KEEP, "N", KEEPING, AT(keep_yearly),
	  "the same with years", .line_only = true },
	{ "keep-within", 0, CLI_STRING, "TIME", KEEPING, AT(keep_within),
	  "keep all that are not older than TIME, such as 30d or 1y6m, counted "
	  "back from the newest", .line_only = true },
	{ "keep-tag", 0, CLI_LIST, "T", KEEPING, AT(keep_tags),
	  "keep those with the tag T; repeated: with one of them",
	  .line_only = true },

	{ "gc", 0, CLI_FLAG, NULL, B(FORGET), AT(gc),
	  "return the space afterwards, as 'akin gc' does" },

	/* tag, protect ----------------------------------------------------- */
	{ "add", 0, CLI_LIST, "T", B(TAG), AT(add_tags),
	  "add the tag T; may be repeated", .line_only = true },
	{ "remove", 0, CLI_LIST, "T", B(TAG), AT(remove_tags),
	  "take the tag T away; may be repeated", .line_only = true },
	{ "set", 0, CLI_LIST, "T", B(TAG), AT(set_tags),
	  "have the tag T and no others; repeated: these and no others",
	  .line_only = true },
	{ "until", 0, CLI_STRING, "DATE", B(PROTECT), AT(until),
	  "only until DATE: 2027-01-31, '2027-01-31 12:00', or 30d from now",
	  .line_only = true },

	/* gc -------------------------------------------------------------- */
	{ "interrupted", 0, CLI_FLAG, NULL, B(GC), AT(interrupted),
	  "drop what interrupted backups have left for their next run",
	  .line_only = true },
	{ "threshold", 0, CLI_COUNT, "PERCENT", B(GC), AT(threshold),
	  "copy the rest of a container when PERCENT of it are dead (default "
	  "25; above 100: never)" },
	{ "limit", 0, CLI_SIZE, "SIZE", B(GC), AT(limit),
	  "write copies of about SIZE at most; the next run goes on" },

	/* optimize: only on the line, as each run does all of the work. ------ */
	{ "delta-depth", 0, CLI_CHOICE, "N", B(OPTIMIZE), AT(delta_depth),
	  "longest chain of differences for old snapshots (default 8); each "
	  "link saves space and makes restoring them slower",
	  .choices = "0|1|2|3|4|5|6|7|8", .line_only = true },
	{ "compression", 0, CLI_STRING, "CODEC", B(OPTIMIZE), AT(compression),
	  "compress everything with CODEC, such as zstd:19 (default: the "
	  "pool's, of zstd level 6 at least)", .complete = CLI_COMPLETE_CODEC, .line_only = true },
	{ "parity", 0, CLI_STRING, "PERCENT", B(OPTIMIZE), AT(parity),
	  "give so much parity to all that is stored, and to what will be, 1 "
	  "to 50; 0: take it away; nothing else is done then",
	  .line_only = true },
	{ "all", 0, CLI_FLAG, NULL, B(OPTIMIZE), AT(all),
	  "also series with nothing new since the last run",
	  .line_only = true },

	/* check ---------------------------------------------------------- */
	{ "read-data", 0, CLI_SHARE, "N%|SIZE", B(CHECK), AT(read_data),
	  "read data too: all of it, a share (5%), or so much (10G)" },
	{ "budget", 0, CLI_BUDGET, "TIME|SIZE", B(CHECK), AT(budget),
	  "for so long (10m, 2h), or so much (50G), read what was never read, "
	  "then what was read longest ago" },

	/* repair --------------------------------------------------------- */
	{ "read-data", 0, CLI_FLAG, NULL, B(REPAIR), AT(read_all),
	  "look for damage in the data, too: reads all of it" },
	{ "yes", 'y', CLI_FLAG, NULL, B(REPAIR), AT(yes),
	  "do what is to be done without asking", .line_only = true },

	/* sysstat ---------------------------------------------------------- */
	{ "extended", 'x', CLI_FLAG, NULL, B(SYSSTAT), AT(extended),
	  "show all columns", .line_only = true },
	{ "summary", 's', CLI_FLAG, NULL, B(SYSSTAT), AT(summary),
	  "end with least, mean and greatest", .line_only = true },
	{ "count", 'c', CLI_COUNT, "N", B(SYSSTAT) | B(TOP), AT(count),
	  "end after N rows or frames (default: go on until interrupted)",
	  .line_only = true },
	{ "once", '1', CLI_FLAG, NULL, B(TOP), AT(once),
	  "print one frame, also off a terminal, and end",
	  .line_only = true },

	/* capacity: only on the line; what a configuration says of chunks and
	 * compression is for real pools. ---------------------------------- */
	{ "explain", 0, CLI_FLAG, NULL, B(CAPACITY), AT(explain),
	  "show the calculation step by step",
	  .line_only = true },
	{ "serve", 0, CLI_FLAG, NULL, B(CAPACITY), AT(serve),
	  "serve the page that does the same, on this machine only",
	  .line_only = true },
	{ "port", 0, CLI_STRING, "N", B(CAPACITY), AT(port),
	  "with --serve: on port N (default: any that is free)",
	  .line_only = true },
	{ "disk", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(DISK),
	  "sun7000, zfs: one disk has SIZE, such as 4TB; akin, plan: the disk "
	  "of the pool",
	  .line_only = true },
	{ "ashift", 0, CLI_STRING, "N", B(CAPACITY), CAPACITY(ASHIFT),
	  "zfs: sectors of 2^N bytes, 9 to 16 (default 12)",
	  .line_only = true },
	{ "recordsize", 0, CLI_STRING, "SIZE", B(CAPACITY),
	  CAPACITY(RECORDSIZE), "zfs: records of SIZE (default 128K)",
	  .line_only = true },
	{ "disk-loss", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(DISK_LOSS),
	  "zfs: of each disk, SIZE goes to swap and partitions (default 0)",
	  .line_only = true },
	{ "slop-shift", 0, CLI_STRING, "N", B(CAPACITY), CAPACITY(SLOP_SHIFT),
	  "zfs: keep 1/2^N of the space back, the module's spa_slop_shift "
	  "(default 5)",
	  .line_only = true },
	{ "data", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(DATA),
	  "netapp, akin: so much data; for akin, that of one backup",
	  .line_only = true },
	{ "distinct", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(DISTINCT),
	  "netapp: so much of it is different (default: all)",
	  .line_only = true },
	{ "used", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(USED),
	  "netapp: 'used' of df -s, as 289150724K",
	  .line_only = true },
	{ "saved", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(SAVED),
	  "netapp: 'saved' of df -s",
	  .line_only = true },
	{ "release", 0, CLI_STRING, "R", B(CAPACITY), CAPACITY(RELEASE),
	  "netapp: Data ONTAP 7.2, 7.3, 8.0, 8.1 or 8.2 (default)",
	  .line_only = true },
	{ "dedup", 0, CLI_STRING, "F", B(CAPACITY), CAPACITY(DEDUP),
	  "akin, plan: deduplication within one backup, such as 1.5 "
	  "(default 1)",
	  .line_only = true },
	{ "compression", 0, CLI_STRING, "F", B(CAPACITY),
	  CAPACITY(COMPRESSION), "akin, plan: compression, such as 2 (default "
	  "1)",
	  .line_only = true },
	{ "change", 0, CLI_STRING, "N%", B(CAPACITY), CAPACITY(CHANGE),
	  "akin, plan: N% of the data is replaced each day (default 1%)",
	  .line_only = true },
	{ "change-compression", 0, CLI_STRING, "F", B(CAPACITY),
	  CAPACITY(CHANGE_COMPRESSION), "akin, plan: compression of what is "
	  "replaced, which is more where it resembles what was there (default: "
	  "as --compression)",
	  .line_only = true },
	{ "growth", 0, CLI_STRING, "N%", B(CAPACITY), CAPACITY(GROWTH),
	  "akin, plan: the data grows by N% a year (default 0%)",
	  .line_only = true },
	{ "keep", 0, CLI_STRING, "LIST", B(CAPACITY), CAPACITY(KEEP),
	  "akin, plan: keep so many daily backups, 30d (default), or daily, "
	  "weekly, monthly and yearly ones, 7d4w12m3y",
	  .line_only = true },
	{ "chunk-size", 0, CLI_STRING, "SIZE", B(CAPACITY),
	  CAPACITY(CHUNK_SIZE), "akin, plan: chunks of SIZE on average "
	  "(default 8K)",
	  .line_only = true },
	{ "meta-disk", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(META_DISK),
	  "akin, plan: metadata lies on a disk of its own, of SIZE",
	  .line_only = true },
	{ "ram", 0, CLI_STRING, "SIZE", B(CAPACITY), CAPACITY(RAM),
	  "akin, plan: akin may use so much memory (default 128M)",
	  .line_only = true },
	{ "years", 0, CLI_STRING, "N", B(CAPACITY), CAPACITY(YEARS),
	  "akin, plan: look N years ahead (default 3)",
	  .line_only = true },
	{ "from", 0, CLI_STRING, "DATE", B(CAPACITY), CAPACITY(FROM),
	  "akin, plan: the first backup is on DATE, as 2026-05-01 (default: "
	  "today)",
	  .line_only = true },
	{ NULL },
};

bool cli_option_is_global(const struct cli_option *o)
{
	return o->commands == CLI_ALL;
}

const struct cli_option *cli_option_find(enum cli_command command,
					 const char *name, size_t len)
{
	const struct cli_option *o;

	for (o = cli_options; o->name; o++) {
		if ((o->commands & CLI_BIT(command)) &&
		    strlen(o->name) == len && memcmp(o->name, name, len) == 0)
			return o;
	}
	return NULL;
}

int cli_command_find(const char *name)
{
	int i;

	for (i = 0; i < CLI_NR_COMMANDS; i++) {
		if (strcmp(cli_commands[i].name, name) == 0)
			return i;
	}
	return -1;
}

const struct cli_topic *cli_topic_find(const char *name)
{
	const struct cli_topic *t;

	for (t = cli_topics; t->name; t++) {
		if (strcmp(t->name, name) == 0)
			return t;
	}
	return NULL;
}
