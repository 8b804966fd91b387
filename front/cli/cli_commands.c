/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each command is, in words and examples; see cli_table.h.
 */
#include "cli_table.h"

const struct cli_command_info cli_commands[CLI_NR_COMMANDS] = {
[CLI_INIT] = {
	"init", "make a new, empty pool",
	{ "init [OPTION]... POOL" },
	"A pool is two directories: metadata (catalog and index; small, wants a\n"
	"fast disk) and data (containers; big, may be slow). Both lie below POOL\n"
	"unless --meta-dir or --data-dir put them elsewhere; POOL then remembers\n"
	"where they are. A directory that is not empty is refused.\n"
	"\n"
	"What is chosen here stays for the life of the pool.\n",
	{ { "akin init /mnt/backup", "Make a pool; both parts below /mnt/backup." },
	  { "akin init --meta-dir /ssd/akin --data-dir /hdd/akin /srv/pool",
	    "Metadata on a fast disk, data on a big one. From now on the pool is "
	    "/srv/pool." },
	  { "akin init --compression zstd:9 --chunk-size 16K /mnt/archive",
	    "Compress harder and cut larger chunks, for data that changes "
	    "little." },
	  { "akin init --fixed-blocks --chunk-size 4K /mnt/images",
	    "For disk images whose blocks move by whole blocks only." },
	  { "akin init --like /mnt/backup /mnt/second",
	    "A second pool that the first can be copied to without cutting "
	    "again." } },
	0, 1, CLI_COMPLETE_DIR },

[CLI_BACKUP] = {
	"backup", "store files and directories, or a stream, as a snapshot",
	{ "-p POOL backup [OPTION]... PATH...",
	  "-p POOL backup --stdin NAME [OPTION]...",
	  "-p POOL backup --stdin NAME [OPTION]... --exec -- COMMAND [ARG]..." },
	"Everything a restore needs is stored: names as bytes, owners, modes,\n"
	"times to the nanosecond, extended attributes, ACLs, hard links, holes,\n"
	"and nodes of every type. The newest snapshot of the same host and paths\n"
	"is the parent: files that have not changed since are taken from it\n"
	"without reading them (unless --force).\n"
	"\n"
	"There is one snapshot at the end, or none. If some files could not be\n"
	"read the others are stored all the same, the snapshot is marked, and the\n"
	"exit code is 3. After an interruption, run the same backup again: what\n"
	"was stored already is found and not stored twice.\n"
	"\n"
	"With --stdin a stream is stored. Use --exec where the command that makes\n"
	"it can fail: a pipe hides that, --exec makes no snapshot then.\n",
	{ { "akin -p /mnt/backup backup /home /etc",
	    "Back up two directories. Run it again tomorrow, exactly so." },
	  { "akin backup --tag nightly --exclude '*.o' --exclude '/home/*/.cache' "
	    "-x /home", "Leave things out; stay on one file system; tag it. The "
	    "pool comes from AKIN_POOL or the configuration." },
	  { "akin backup --stdin db.sql --exec -- pg_dumpall -h db1",
	    "Store what a command prints, but only if it exits with 0." },
	  { "zcat disk.img.gz | akin backup --stdin disk.img --tag vm7",
	    "Store a stream. Data that is compressed already hardly "
	    "deduplicates: feed it unpacked." },
	  { "find /data -newer /stamp -print0 | akin backup --files-from0 -",
	    "Back up a list of paths from another program." },
	  { "akin backup --read-special --limit-read 50M /dev/vg0/root-snap",
	    "Store the contents of a device, gently." },
	  { "akin backup --dry-run --verbose /home",
	    "Read and look up everything, store nothing." } },
	0, CLI_ANY, CLI_COMPLETE_FILE },

[CLI_SNAPSHOTS] = {
	"snapshots", "list the snapshots of a pool, oldest first",
	{ "-p POOL snapshots [OPTION]..." },
	"ADDED is what the backup added to the pool, compressed; SIZE is what a\n"
	"restore gives back. A '!' behind the time marks a snapshot of which some\n"
	"files could not be read.\n",
	{ { "akin snapshots", "List them all." },
	  { "akin snapshots --host db1 --tag nightly",
	    "Only those of one host with one tag." },
	  { "akin snapshots --path /home --json",
	    "Only backups of exactly /home, for a program." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_LS] = {
	"ls", "list the files in a snapshot",
	{ "-p POOL ls [OPTION]... SNAP[:PATH]" },
	"Prints PATH and everything below it, in the order of their bytes; with\n"
	"--one-level what is directly in it. See 'akin help snapshot-names' for\n"
	"SNAP. Names are printed so that they can be pasted back into a shell.\n",
	{ { "akin ls latest", "Everything in the newest snapshot." },
	  { "akin ls -1 -l latest:/etc", "One directory, as 'ls -l' shows it." },
	  { "akin ls --host web1 tag:nightly:/var/www",
	    "Below a directory of the newest nightly snapshot of a host." } },
	1, 1, CLI_COMPLETE_SNAPSHOT },

[CLI_FIND] = {
	"find", "find files by name in snapshots",
	{ "-p POOL find [OPTION]... PATTERN..." },
	"PATTERN is a shell pattern (*, ?, [a-z]), quoted so that the shell leaves\n"
	"it alone. Without a '/' it is held against the last component of each\n"
	"path, else against the whole path, where '*' stops at a '/'. Every\n"
	"snapshot is searched, or those that --snapshot, --host and --tag choose.\n"
	"What is found is printed as ID:PATH, which 'akin cat' and 'akin restore'\n"
	"take.\n",
	{ { "akin find '*.conf'", "In all snapshots." },
	  { "akin find -s latest '/home/*/.ssh/*'", "Whole paths, in one snapshot." },
	  { "akin find -l --host db1 report.odt",
	    "With size and time, to see which version is which." } },
	1, CLI_ANY, CLI_COMPLETE_NONE },

[CLI_DIFF] = {
	"diff", "show what differs between two snapshots",
	{ "-p POOL diff [OPTION]... SNAP SNAP" },
	"One line for each path, from the first snapshot to the second:\n"
	"\n"
	"    +  added\n"
	"    -  removed\n"
	"    M  content differs\n"
	"    U  only metadata differs (owner, mode, times, attributes)\n"
	"    T  another type of file\n"
	"\n"
	"Subtrees that are the same are not read. The exit code is 0 whether or\n"
	"not there are differences.\n",
	{ { "akin diff 1a2b3c4d latest", "What changed since a snapshot." },
	  { "akin diff --json tag:before tag:after",
	    "The same between two tags, for a program." } },
	2, 2, CLI_COMPLETE_SNAPSHOT },

[CLI_CAT] = {
	"cat", "print a file or stream from a snapshot",
	{ "-p POOL cat SNAP:PATH" },
	"Into a file, holes stay holes.\n",
	{ { "akin cat latest:/etc/fstab", "Look at a file as it was." },
	  { "akin cat latest:db.sql | psql", "Feed a stream back." },
	  { "akin cat 1a2b3c4d:/vm/disk.img > disk.img",
	    "Get one file, with its holes." } },
	1, 1, CLI_COMPLETE_SNAPSHOT },

[CLI_RESTORE] = {
	"restore", "write files of a snapshot below a directory",
	{ "-p POOL restore SNAP[:PATH]... --target DIR [OPTION]..." },
	"Without PATH the stored absolute paths are put below DIR: /etc/fstab\n"
	"becomes DIR/etc/fstab. With PATH, what is below PATH is put directly\n"
	"into DIR. Nothing is ever written outside DIR, whatever a snapshot holds.\n"
	"\n"
	"Files that exist are compared (see --overwrite) and corrected in place,\n"
	"so an interrupted restore can simply be run again. Owners are restored\n"
	"where the user may set them.\n",
	{ { "akin restore latest --target /mnt/new",
	    "Everything, as DIR/home, DIR/etc and so on." },
	  { "akin restore latest:/home/eva/mail --target ./mail",
	    "One directory, straight into another." },
	  { "akin restore tag:nightly --target / --overwrite always --verify",
	    "Put a machine back: every byte is made right, then read back and "
	    "compared." },
	  { "akin restore latest --target x --include '*.odt' --exclude /tmp",
	    "Only some of it." },
	  { "akin restore 1a2b3c4d:/srv --target /srv --delete --dry-run",
	    "See what making /srv equal to the snapshot would do." } },
	1, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_CHECK] = {
	"check", "look for damage in a pool",
	{ "-p POOL check [--read-data[=N%|=SIZE]] [OPTION]..." },
	"Without --read-data the structure is tested: superblocks, catalog,\n"
	"snapshot records, the header, directory and length of every container,\n"
	"and that every recipe leads to chunks that exist. That is fast, and it\n"
	"says what it did not test. With --read-data every byte is read and\n"
	"compared with its fingerprint, or a share of them.\n"
	"\n"
	"Damage is reported as container, chunks, files and snapshots, of each\n"
	"kind the first 1,000, and remembered, so that the next backup of the same\n"
	"data stores it anew. The exit code is 5 if there is any.\n",
	{ { "akin check", "The structure. Minutes at most." },
	  { "akin check --read-data", "Every byte." },
	  { "akin check --read-data=5%",
	    "A twentieth of the data, chosen anew each time: daily, say." },
	  { "akin check --read-data=20G --json", "20 GiB of it, for a program." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_STATS] = {
	"stats", "show what a pool, or a snapshot, holds and takes",
	{ "-p POOL stats [SNAP...]" },
	"Without SNAP: the pool, every byte of it accounted for. With SNAP: what\n"
	"these snapshots hold and what their backups added.\n",
	{ { "akin stats", "How much is stored in how much." },
	  { "akin stats latest", "What the last backup found and added." },
	  { "akin stats --json", "For a monitor." } },
	0, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_INSPECT] = {
	"inspect", "print any file of a pool as text",
	{ "inspect FILE..." },
	"Understands superblocks, containers, index runs and snapshot records by\n"
	"themselves; no pool is opened and nothing is written. It is for those\n"
	"who want to know, and for the day when something is broken.\n",
	{ { "akin inspect /mnt/backup/data/superblock", "What a pool is." },
	  { "akin inspect /mnt/backup/data/snapshots/*",
	    "Snapshot records, even if the catalog is lost." } },
	1, CLI_ANY, CLI_COMPLETE_FILE },

[CLI_VERSION] = {
	"version", "print the version",
	{ "version" },
	"With --verbose and a pool, also which kernels this machine uses.\n",
	{ { "akin version", "For bug reports." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_HELP] = {
	"help", "explain a command or a topic",
	{ "help [COMMAND|TOPIC]" },
	"The same text as in the manual pages akin(1) and akin-COMMAND(1).\n",
	{ { "akin help", "What there is." },
	  { "akin help backup", "One command, by example." },
	  { "akin help exit-codes", "A topic." } },
	0, 1, CLI_COMPLETE_TOPIC },
};
