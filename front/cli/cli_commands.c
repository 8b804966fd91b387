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
	"fast disk) and data (containers; big, may be slow). They are POOL/meta and\n"
	"POOL/data unless --meta-dir or --data-dir put them elsewhere; POOL then\n"
	"remembers where they are. If one of the two is not empty it is refused. They\n"
	"are for their owner alone; 'chmod -R a+rX' lets others read.\n"
	"\n"
	"What is chosen here stays for the life of the pool, but for the\n"
	"compression, which each backup may choose for what it adds, and the\n"
	"parity, which 'akin optimize' changes.\n",
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
	"without reading them (unless --force). A symbolic link is stored as one,\n"
	"also if it is a PATH; PATH/ is the directory behind it. The pool itself is\n"
	"left out.\n"
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
	  { "akin backup --compression zstd:12 /srv/archive",
	    "Compress what is new harder than the pool usually does." },
	  { "akin backup --dry-run --verbose /home",
	    "Read and look up everything, store nothing." } },
	0, CLI_ANY, CLI_COMPLETE_FILE },

[CLI_SNAPSHOTS] = {
	"snapshots", "list the snapshots of a pool, oldest first",
	{ "-p POOL snapshots [OPTION]..." },
	"ADDED is what the backup added to the pool, compressed; SIZE is what a\n"
	"restore gives back. A '!' behind the time marks a snapshot of which some\n"
	"files could not be read, a 'P' one that is protected. With --forgotten, a\n"
	"'-' marks one whose space was reclaimed: it cannot be undeleted.\n",
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
	"into DIR, and a DIR that was not there gets the owner, mode and time of\n"
	"PATH. Nothing is ever written outside DIR, whatever a snapshot holds.\n"
	"\n"
	"Files that exist are compared (see --overwrite) and corrected in place,\n"
	"so an interrupted restore can simply be run again. Owners are restored\n"
	"where the user may set them.\n"
	"\n"
	"With --delete, what DIR has and the snapshot does not have goes, in those\n"
	"directories that the backup saw in full: not where another file system\n"
	"was mounted that it did not enter, not beside the paths that it was given,\n"
	"and nothing of the pool. 'akin ls -l' marks such directories.\n",
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

[CLI_VERIFY] = {
	"verify", "compare a snapshot with live data",
	{ "-p POOL verify SNAP[:PATH] [LIVE-PATH]" },
	"Every byte is compared, and everything a restore would bring back. What\n"
	"differs is printed, a line for each, from the snapshot to what is live:\n"
	"\n"
	"    +  live only (a directory: with all that is below)\n"
	"    -  in the snapshot only\n"
	"    M  content differs\n"
	"    U  only metadata differs (owner, mode, times, attributes)\n"
	"    T  another type of file\n"
	"    !  one side cannot be read\n"
	"\n"
	"LIVE-PATH is what PATH is to be compared with; without it, PATH itself,\n"
	"where it was backed up from. Without PATH, LIVE-PATH stands for '/', as a\n"
	"restore puts absolute paths below its target. What a backup left out by\n"
	"patterns shows as '+', unless it is left out here, too.\n"
	"\n"
	"The exit code is 0 if there is no difference, 7 if there is one, 5 if the\n"
	"snapshot's data is damaged. Data that is in use differs; freeze it, or\n"
	"compare a copy.\n",
	{ { "akin verify latest", "Is all of it still as it was backed up?" },
	  { "akin verify latest:/etc", "A part of it." },
	  { "akin verify 1a2b3c4d:/home/eva /mnt/old/eva",
	    "With a copy in another place." },
	  { "akin verify latest /mnt/restored", "With a restore of all of it." },
	  { "akin verify --exclude '*.log' --json latest:/srv", "For a program." } },
	1, 2, CLI_COMPLETE_SNAPSHOT },

[CLI_COPY] = {
	"copy", "copy snapshots into another pool",
	{ "copy [OPTION]... POOL POOL [SNAP...]" },
	"From the first pool into the second: the snapshots named, or all that\n"
	"--host and --tag choose, the oldest first. They keep id, time, host, paths\n"
	"and tags; what is there already is passed over, so it can be run again\n"
	"and again. Each snapshot is one commit. After an interruption, run it\n"
	"again: what was stored already is found and not stored twice.\n"
	"\n"
	"What a snapshot has in common with the one copied before is not read,\n"
	"and of the rest only what the second pool does not have is stored, and\n"
	"compressed against what is similar there. Between pools of the same keys\n"
	"('akin help init') contents are compared for that, by fingerprints; others\n"
	"go by size and times, as backups do.\n"
	"\n"
	"The first pool is only read. A snapshot with damaged data is not copied.\n"
	"Protection is not copied: 'akin protect' it there.\n",
	{ { "akin copy /mnt/backup /mnt/offsite",
	    "Whatever is not there yet; for a timer." },
	  { "akin copy --tag monthly /mnt/backup /mnt/archive --compression zstd:12",
	    "Only some, compressed harder." },
	  { "akin copy /mnt/old /mnt/new latest", "One." },
	  { "akin copy --json --limit-write 20M /mnt/backup /mnt/offsite",
	    "Gently, and for a program." } },
	2, CLI_ANY, CLI_COMPLETE_DIR },

[CLI_REWRITE] = {
	"rewrite", "drop paths from snapshots",
	{ "-p POOL rewrite --drop PATH... [OPTION]... SNAP..." },
	"Makes a new snapshot of each SNAP that has one of the paths, without them\n"
	"and what is below, and forgets the old one. The new one keeps time, host,\n"
	"paths and tags; its id is another. Data is neither read nor written, only\n"
	"directories are. A protected snapshot is refused, unless --keep-old leaves\n"
	"it where it is.\n"
	"\n"
	"Nothing is gone yet: 'akin undelete' takes the old one back until 'akin\n"
	"gc' has returned the space. Other snapshots may hold the same data.\n",
	{ { "akin rewrite --drop /home/eva/secrets latest",
	    "It should never have been backed up." },
	  { "akin rewrite --drop /var/tmp --drop /home/eva/vm.img 1a2b3c4d 5e6f7a8b",
	    "Two paths, two snapshots." },
	  { "akin rewrite --drop /srv/scratch --dry-run tag:nightly",
	    "Is it in there?" } },
	1, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_FORGET] = {
	"forget", "take snapshots off the list, by name or by policy",
	{ "-p POOL forget [OPTION]... SNAP...",
	  "-p POOL forget [OPTION]... --keep-WHAT N...",
	  "-p POOL forget [OPTION]..." },
	"With SNAP just these. With rules, or without anything the rules that\n"
	"'akin policy' has stored, every series is judged by itself: a series is\n"
	"the snapshots of one host and one set of paths. What no rule keeps is\n"
	"forgotten.\n"
	"\n"
	"--dry-run shows for each snapshot which rule keeps it, and what 'akin gc'\n"
	"would free then, to the byte if nobody else is at work: it forgets and\n"
	"reclaims on a copy of the pool's state. That takes as long as reclaiming,\n"
	"and room in TMPDIR (default /var/tmp) for containers that would be\n"
	"written anew; nothing is written to the pool. With --quiet it only judges.\n"
	"\n"
	"A policy never takes the last snapshot of a series, and never one that is\n"
	"protected. Hours, days and so on are those of the time zone in TZ;\n"
	"periods without snapshots do not count, so a machine that was away loses\n"
	"nothing. With --host, --tag and --path only snapshots that match are\n"
	"judged, and the others stay. A tag to keep that no snapshot has is\n"
	"reported, and an error if nothing else would keep anything.\n"
	"\n"
	"Nothing is deleted yet: 'akin gc' returns the space, and until then 'akin\n"
	"undelete' takes it all back. It works on a full disk.\n",
	{ { "akin forget --keep-last 3 --keep-daily 7 --keep-monthly 12 --dry-run",
	    "See what these rules would keep, and why, and what that frees." },
	  { "akin forget --gc", "As the policy of the pool says, and return the "
	    "space; for a timer." },
	  { "akin forget --host db1 --tag hourly --keep-within 2d",
	    "Only the hourly ones of one host: those of the last two days stay." },
	  { "akin forget 1a2b3c4d", "One, whatever the policy says." },
	  { "akin forget --keep-daily 7 --json", "For a program." } },
	0, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_UNDELETE] = {
	"undelete", "put forgotten snapshots back on the list",
	{ "-p POOL undelete SNAP..." },
	"SNAP names a forgotten snapshot; 'akin snapshots' can list those, too.\n"
	"That works until space has been reclaimed since it was forgotten; then\n"
	"its data may be gone, and the listing says so.\n",
	{ { "akin undelete 1a2b3c4d", "Have it back on the list." },
	  { "akin undelete latest", "The newest of the forgotten ones." } },
	1, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_POLICY] = {
	"policy", "show, set or clear the rules that forget goes by",
	{ "-p POOL policy [show]", "-p POOL policy set --keep-WHAT N...",
	  "-p POOL policy clear" },
	"The rules are stored in the pool; 'akin forget' without any uses them.\n"
	"'set' replaces them all. Nothing is forgotten by this command.\n",
	{ { "akin policy set --keep-daily 7 --keep-weekly 5 --keep-monthly 12",
	    "A usual one: a week by days, a month by weeks, a year by months." },
	  { "akin policy", "Which is it?" },
	  { "akin policy clear", "None any more." } },
	0, 1, CLI_COMPLETE_POLICY },

[CLI_TAG] = {
	"tag", "change the tags of snapshots",
	{ "-p POOL tag [--add T]... [--remove T]... SNAP...",
	  "-p POOL tag --set T... SNAP..." },
	"Tags choose snapshots, name them (tag:T), and a policy can keep what has\n"
	"one. A tag may be any text without a ':'.\n",
	{ { "akin tag latest --add before-upgrade", "Mark the newest snapshot." },
	  { "akin tag tag:before-upgrade --remove before-upgrade",
	    "Unmark it." },
	  { "akin tag 1a2b3c4d --set monthly --set db", "These, and no others." } },
	1, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_PROTECT] = {
	"protect", "keep snapshots from being forgotten",
	{ "-p POOL protect [--until DATE] SNAP..." },
	"A protected snapshot is not forgotten, neither by a policy nor by name,\n"
	"until 'akin unprotect' or, with --until, the date. A date alone means\n"
	"0 o'clock on that day, local time.\n"
	"\n"
	"A clock that is wrong ends no protection: the pool also keeps account of\n"
	"the time that has certainly passed (by the kernel's clock while a machine\n"
	"runs, and at most a week across each restart), and --until ends when\n"
	"both have come to the date. For a machine that is seldom on, that may be\n"
	"late; then lift it by hand. A protection can be made longer\n"
	"at any time, but shorter only by lifting it first.\n",
	{ { "akin protect latest", "Until it is lifted." },
	  { "akin protect --until 2027-01-31 tag:audit", "Until a date." },
	  { "akin protect --until 90d 1a2b3c4d", "For three months or so." } },
	1, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_UNPROTECT] = {
	"unprotect", "let protected snapshots be forgotten again",
	{ "-p POOL unprotect SNAP..." },
	"Also before the date that it was protected until. What is not protected\n"
	"stays so.\n",
	{ { "akin unprotect 1a2b3c4d", "Lift it." } },
	1, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_GC] = {
	"gc", "return the space of what no snapshot needs",
	{ "-p POOL gc [OPTION]..." },
	"'akin forget' takes snapshots off the list; this deletes what only they\n"
	"needed. Containers that nobody needs any part of are deleted; of those\n"
	"that are dead in part, the rest is copied and the old ones deleted, batch\n"
	"by batch, so that little space is needed for it.\n"
	"\n"
	"Backups, restores and everything else go on meanwhile. What they may\n"
	"still need is kept, and the summary says who; the next run deletes it.\n"
	"It can be stopped, and killed, at any time. If data that a snapshot needs\n"
	"cannot be found, nothing is deleted: 'akin check' says what is damaged.\n"
	"\n"
	"From the first deletion on, forgotten snapshots cannot be undeleted.\n",
	{ { "akin gc --dry-run", "How much would that free?" },
	  { "akin gc", "After 'akin forget'; for a timer." },
	  { "akin gc --interrupted", "Also give up what interrupted backups have "
	    "stored so far." },
	  { "akin gc --threshold 10 --limit 50G",
	    "Thoroughly, but write no more than 50 GiB for it." },
	  { "akin gc --json", "For a program." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_OPTIMIZE] = {
	"optimize", "store the newest snapshots in one piece, old ones smaller",
	{ "-p POOL optimize [OPTION]..." },
	"Backups store what is new as a difference to what is old, so that the\n"
	"newest snapshot, the one that is restored, is in many pieces and the\n"
	"slowest to read. This turns it round: the newest snapshot of each series\n"
	"(the same host and paths) is stored again, in order and without\n"
	"differences, and each older one as a difference to a newer one. Data that\n"
	"was stored twice, because the index did not know it, becomes one.\n"
	"\n"
	"Until 'akin gc' has deleted the old copies, the pool needs space for both.\n"
	"Backups and restores go on meanwhile. It can be stopped, and killed, at\n"
	"any time; the next run goes on where it was. Series in which nothing is\n"
	"new since the last run are left as they are, unless --all, --delta-depth\n"
	"or --compression is given.\n"
	"\n"
	"In a pool with parity, containers that have none get it at last. With\n"
	"--parity that is all that is done, and how much there is from now on.\n"
	"Meanwhile backups go on, and reclaiming does not.\n",
	{ { "akin optimize --dry-run", "What is there to do?" },
	  { "akin optimize", "Monthly, say, and then 'akin gc'." },
	  { "akin optimize --compression zstd:19",
	    "As small as can be, however long it takes." },
	  { "akin optimize --parity 5%",
	    "So that what a disk loses, a sector here and there, can be made "
	    "again; for what is stored and what will be." },
	  { "akin optimize --json", "For a program." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_CHECK] = {
	"check", "look for damage in a pool",
	{ "-p POOL check [--read-data[=N%|=SIZE]] [OPTION]...",
	  "-p POOL check --budget TIME|SIZE [OPTION]..." },
	"Without --read-data the structure is tested: superblocks, catalog,\n"
	"snapshot records, the header, directory and length of every container,\n"
	"and that every recipe leads to chunks that exist. That is fast, and it\n"
	"says what it did not test: of data containers nothing is read but header\n"
	"and directory. With --read-data every byte is read and compared with its\n"
	"fingerprint, or a share of them.\n"
	"\n"
	"With --budget it is a round of a scrub, for a timer: whole containers are\n"
	"read until the time (s, m, h, d) or size (K, M, G, T) is used up, those\n"
	"never read first, then those read longest ago; the pool remembers when.\n"
	"'akin stats' and 'akin metrics' say how old the oldest reading is. If\n"
	"something is wrong, the structure is tested as well, to say which files\n"
	"need it.\n"
	"\n"
	"Damage is reported as container, chunks, files and snapshots, of each\n"
	"kind the first 1,000, and remembered, so that the next backup of the same\n"
	"data stores it anew. The exit code is 5 if there is any; also if parity\n"
	"makes up for all of it, because there might be more.\n",
	{ { "akin check", "The structure. Minutes at most." },
	  { "akin check --read-data", "Every byte." },
	  { "akin check --read-data=5%",
	    "A twentieth of the data, chosen anew each time: daily, say." },
	  { "akin check --read-data=20G --json", "20 GiB of it, for a program." },
	  { "akin check --budget 10m", "What is due, every night." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_REPAIR] = {
	"repair", "make whole again what can be, from what is there",
	{ "-p POOL repair [--dry-run] [--yes] [OPTION]..." },
	"First it looks, as 'akin check' does, and prints what is wrong, what it\n"
	"would do, and which files of which snapshots are lost. Then it asks; off\n"
	"a terminal it needs --yes. What is sound is never changed, and what\n"
	"cannot be read is moved into a directory 'quarantine' of the pool, never\n"
	"deleted; but sectors that parity makes up for are written back where they\n"
	"were. It can be interrupted and run again. Backups and 'akin gc' must\n"
	"not run meanwhile.\n"
	"\n"
	"If the metadata directory is lost, or its catalog cannot be read, all of\n"
	"it is made anew from the data directory: the snapshots with their tags\n"
	"and protection, and the policy. Look first whether a disk is just not\n"
	"mounted.\n"
	"\n"
	"The exit code is 0 if everything is whole, and 5 if damage is left: then\n"
	"back up what still exists (a file that looks unchanged is read again if\n"
	"it is damaged), which stores anew what is missing, and run it once more.\n",
	{ { "akin repair --dry-run", "What is wrong, and what could be done?" },
	  { "akin repair", "Do it, after asking." },
	  { "akin repair --read-data --yes", "Look at every byte; do not ask." },
	  { "akin repair --yes --json", "For a program." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_UPGRADE] = {
	"upgrade", "switch on what an older format of the pool lacks",
	{ "-p POOL upgrade [--dry-run] [--json]" },
	"Lists the features that a pool of this format can have, which of them it\n"
	"has, and what a program does that does not know them; then switches on\n"
	"those that are off. A new pool has them all. A pool that an older version\n"
	"made is used as it is until somebody upgrades it, and never by the way:\n"
	"the older version may only read it afterwards, or not even that. There is\n"
	"no way back.\n"
	"\n"
	"It takes a moment whatever the size of the pool, and can be interrupted\n"
	"and run again. Backups may run meanwhile; 'akin gc', 'akin repair' and\n"
	"changes of the parity may not. A pool of a format that this version does\n"
	"not know is refused.\n",
	{ { "akin upgrade --dry-run", "What has the pool, what could it have?" },
	  { "akin upgrade", "Have it all." } },
	0, 0, CLI_COMPLETE_NONE },

[CLI_STATS] = {
	"stats", "show what a pool, or a snapshot, holds and takes",
	{ "-p POOL stats [SNAP...]" },
	"Without SNAP: the pool, every byte of it accounted for. With SNAP: what\n"
	"these snapshots hold and what their backups added.\n"
	"\n"
	"With --by-codec, how far each codec has shrunk the groups it was let at,\n"
	"data and metadata apart. 'none' is what would not shrink by an eighth.\n"
	"\n"
	"The factors, of the pool and of a backup, multiply: 'dedup' is what was\n"
	"given over what is left without repetitions, 'compress' that over what it\n"
	"compresses to by itself, 'reference' that over what it takes compressed\n"
	"against what is similar (what it would take by itself is an estimate),\n"
	"and 'product' what was given over what the data takes; metadata comes\n"
	"besides.\n"
	"\n"
	"With --compression, three rows as Data Domain shows them: Pre-Comp is\n"
	"what was given, Post-Comp what it takes with its metadata, Global-Comp\n"
	"deduplication, Local-Comp all that follows. With --histogram, a table as\n"
	"'zdb -DD' prints it: chunks by how often snapshots refer to them, their\n"
	"size raw, compressed (their share of their groups) and in files; 'none'\n"
	"are chunks that no listed snapshot needs.\n"
	"\n"
	"With --restore-cost, what a restore of SNAP reads and decodes if it has\n"
	"memory enough to do so once: groups with its chunks, and those that these\n"
	"were compressed against.\n"
	"\n"
	"While there is time, it warns of a disk that is nearly full, with exit\n"
	"code 3: less than a twentieth of it is left, less than 64 GiB, and less\n"
	"than the pool takes.\n"
	"\n"
	"With --space, what only each SNAP holds, so that nothing else would miss\n"
	"it, and what 'akin gc' would free if all of those named were forgotten:\n"
	"more than the sum if they share something that no other has, less where\n"
	"too little of a container is dead, or others were compressed against it.\n"
	"It is tried out on a copy of the pool's state.\n",
	{ { "akin stats", "How much is stored in how much." },
	  { "akin stats latest", "What the last backup found and added." },
	  { "akin stats --restore-cost latest",
	    "What do references cost those who want it back?" },
	  { "akin stats --space 1a2b3c4d 5e6f7a8b",
	    "Is it worth forgetting these two?" },
	  { "akin stats --by-codec", "How well does it compress, and what does?" },
	  { "akin stats --json", "For a monitor." } },
	0, CLI_ANY, CLI_COMPLETE_SNAPSHOT },

[CLI_SYSSTAT] = {
	"sysstat", "show what running commands do, a row for each interval",
	{ "[-p POOL] sysstat [-x] [-s] [-c N] [SECONDS]" },
	"Every command that has a pool open counts what it does where others can\n"
	"see it. A row says what all those of POOL (without -p: of every pool)\n"
	"that you may see did in the last SECONDS (default 15), without\n"
	"disturbing them; '-' means that nothing happened.\n"
	"\n"
	"    CPU           busy share of the machine's processors, percent\n"
	"    ops/s         files and objects, stored or read back\n"
	"    MB/s          what is backed up (in) and restored (out)\n"
	"    meta, data    kB/s read from and written to each of the pool's disks\n"
	"    cache age     how long ago that was used which goes next from the\n"
	"                  directories in memory: seconds, minutes, hours\n"
	"    cache hit     lookups that directories in memory answered, percent\n"
	"    dedup, total  how much smaller what came in has become\n"
	"    commit ty     S a snapshot, T a checkpoint because time had passed, F\n"
	"                  because so much was stored, O another; a number: so\n"
	"                  many; ':' one goes on\n"
	"    commit time   share of the interval spent in them, percent\n"
	"    disk busy     of the machine's busiest disk, percent\n"
	"    ms            of reads and writes half take no longer, 99 of 100\n"
	"                  take no longer (ends of buckets that double)\n"
	"\n"
	"-x adds the machine's network, what answered lookups (the cursor in the\n"
	"last backup, directories in memory, the index in memory, runs on disk),\n"
	"factors of references and compression, chunks, groups, how busy the stages\n"
	"are (percent of one processor, waits included: lookups read the disk), and\n"
	"latencies of each pool. -s ends with least, mean and greatest; means of\n"
	"ratios are ratios of sums.\n",
	{ { "akin sysstat 1", "A row every second." },
	  { "akin sysstat -x -s -c 60 5", "Five minutes, everything, and a "
	    "summary." },
	  { "akin sysstat --json 10", "For a program." } },
	0, 1, CLI_COMPLETE_NONE },

[CLI_TOP] = {
	"top", "watch running commands and their streams",
	{ "[-p POOL] top [-c N] [SECONDS]",
	  "[-p POOL] top --once | --json [-c N] [SECONDS]" },
	"What 'akin sysstat' shows of all commands together, and below it each\n"
	"command that has POOL (without -p: any pool) open, with what flows in and\n"
	"out of it: bytes a second, how much of it was new, and how that went in\n"
	"the last sixty intervals. Frames come every SECONDS (default 2); looking\n"
	"disturbs nobody.\n"
	"\n"
	"    q            leave\n"
	"    s, < >       sort by rate, total or name; also left and right\n"
	"    up, down     scroll; page up, page down, home, end\n"
	"    h            help\n"
	"    space        look now\n"
	"\n"
	"It needs a terminal. --once prints one frame after one interval, with\n"
	"--json also that in lines for programs. --json alone goes on, or prints N\n"
	"frames with -c: an object 'top' with the columns of sysstat, then a\n"
	"'process' and its 'stream's each. A NO_COLOR in the environment that is\n"
	"not empty leaves out colours.\n",
	{ { "akin top", "Everything you may see, until 'q'." },
	  { "akin -p /mnt/backup top 1", "One pool, every second." },
	  { "akin top --once", "For a report." },
	  { "akin top --json -c 60 1", "For a program: a minute of it." } },
	0, 1, CLI_COMPLETE_NONE },

[CLI_METRICS] = {
	"metrics", "print counters for Prometheus",
	{ "[-p POOL] metrics [FILE]" },
	"In the text format of Prometheus: the counters and histograms of all\n"
	"running commands (with -p: of that pool's), and with -p what the pool\n"
	"holds and takes, its free space, its damage and the time of its newest\n"
	"snapshot. With FILE they are written there, whole or not at all, for the\n"
	"textfile collector of the node exporter.\n",
	{ { "akin metrics", "What is running." },
	  { "akin -p /mnt/backup metrics /var/lib/node_exporter/akin.prom",
	    "From a timer." } },
	0, 1, CLI_COMPLETE_FILE },

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

[CLI_CAPACITY] = {
	"capacity", "calculate what a storage system holds",
	{ "capacity sun7000 COUNT[h] [LOGS|h[LOGS]]... [add COUNT...]",
	  "capacity zfs [Nx]VDEV[@SIZE]... [--disk SIZE] [OPTION]...",
	  "capacity netapp --data SIZE [--distinct SIZE] [--release R]",
	  "capacity akin --data SIZE [OPTION]...",
	  "capacity plan FILE --disk SIZE [OPTION]...",
	  "capacity --serve [--port N]" },
	"No pool is needed: nothing but the numbers given is looked at.\n"
	"\n"
	"sun7000 lays out the disks of a Sun Storage 7000: COUNT JBODs of 24\n"
	"slots, then one word for each that has log devices (a number), is half\n"
	"full (h, 12 slots), or both (h2); 12h are twelve halves. Steps that were\n"
	"bought later are joined with 'add'. The form for SAS has a word for each\n"
	"JBOD with its disks for each pool: 8/8/8 12/2/10.\n"
	"\n"
	"zfs takes vdevs as OpenZFS names them: stripe, mirror:2, raidz1:5,\n"
	"raidz2:6, raidz3:11 (disks behind the colon), draid2:8d:24c:1s (data,\n"
	"children, spares). 4x in front makes four of them, @8TB behind names the\n"
	"size of their disks. It shows what zpool and zfs would, and what blocks\n"
	"of each size cost in parity and padding.\n"
	"\n"
	"netapp counts what is left of --data when blocks are shared, each at most\n"
	"255 times, or 32,767 from release 8.1; or the %saved of df -s from --used\n"
	"and --saved.\n"
	"\n"
	"akin says what disk, metadata disk and memory a pool needs for daily\n"
	"backups, over time, and when --disk is full. plan reads an estimate (JSON,\n"
	"from FILE or '-') and says in one line whether it fits into a box, until\n"
	"when, and what else would make it fit.\n"
	"\n"
	"Sizes: K, M, G, T, P, E, Z, Y and KiB... are powers of 1024, KB, MB, GB,\n"
	"TB... of 1000. Disks are sold in TB: --disk 4TB, not 4T. Results name\n"
	"both. With --json, integers may have more than 64 bits.\n",
	{ { "akin capacity sun7000 12 4 4",
	    "Twelve JBODs, two of them with four log devices: every profile." },
	  { "akin capacity sun7000 1 h1 add 1 h add 1 --explain",
	    "A half JBOD with a log device, later another half, later a full "
	    "one; and how the result comes about." },
	  { "akin capacity zfs 4xraidz2:6 --disk 18TB",
	    "What OpenZFS makes of 24 disks." },
	  { "akin capacity zfs draid2:8d:48c:2s@20TB --recordsize 1M --explain",
	    "Distributed parity and spares, step by step." },
	  { "akin capacity netapp --data 100GiB --distinct 4KiB --release 8.0",
	    "One block, 26 million times." },
	  { "akin capacity akin --data 40TB --change 2% --keep 7d4w12m "
	    "--compression 2 --growth 20% --disk 100TB",
	    "What a pool needs, and until when the disk lasts." },
	  { "akin capacity plan estimate.json --disk 20TB --keep 90d",
	    "Does what was estimated fit? If not, what would help?" },
	  { "akin capacity --serve",
	    "A page with the same calculators, drawings and links to share." } },
	0, CLI_ANY, CLI_COMPLETE_CAPACITY },

[CLI_ESTIMATE] = {
	"estimate", "find out how well data would reduce",
	{ "estimate [OPTION]... PATH...", "estimate --series [OPTION]... STATE...",
	  "estimate [OPTION]... POOL", "estimate --traces FILE..." },
	"Each PATH is a directory, a file, a device, or '-' for standard input. What\n"
	"is read is cut into fixed blocks and by content, each in several sizes; for\n"
	"each the distinct blocks are counted, and a sample of them is compressed\n"
	"with each codec: fixed blocks one by one, as file systems do, chunks cut by\n"
	"content in groups, as a pool does. What references to similar data save is\n"
	"tried out, in a pool that is removed afterwards (--identity-only: not).\n"
	"\n"
	"While fingerprints fit into memory, counts are exact. Then only one block\n"
	"in 2, 4, 8... is remembered, and (95%) says how far the truth may be away.\n"
	"With --sample only some of the data is read, in pieces: how often what was\n"
	"met in one piece lies in others is then known as a range only, which is\n"
	"wide where the sample is small. ZFS RAM is what its table of distinct\n"
	"blocks takes at 320 bytes each, INDEX what akin's takes on the metadata\n"
	"disk. Files and directories are judged in the order of reading: the first\n"
	"of two that are the same takes all.\n"
	"\n"
	"With --series each PATH is a state of the same data, oldest first. Files are\n"
	"the same if they have the same path below it. How much is new in each says\n"
	"how it changes and grows. A POOL is a series of its snapshots.\n"
	"\n"
	"With --json, the last object is an estimate that 'akin capacity plan'\n"
	"reads: chunks of 8 KiB, zstd, references; of a series, the last state and\n"
	"its rates of change.\n",
	{ { "akin estimate /home /srv", "Directories, as one backup." },
	  { "akin estimate --sample 5% /archive",
	    "A first answer about a lot of data." },
	  { "akin estimate --memory 1G /dev/vg0/images",
	    "A device, with more memory for exact counts." },
	  { "pg_dumpall | akin estimate -", "What a command prints." },
	  { "akin estimate --series --every 1d mon.tar tue.tar wed.tar",
	    "How much changes from day to day?" },
	  { "akin estimate --report r.html /mnt/backup",
	    "What a pool holds, as a page with charts." },
	  { "akin estimate --json /srv > estimate.json",
	    "For 'akin capacity plan estimate.json': does it fit, and for how "
	    "long?" } },
	1, CLI_ANY, CLI_COMPLETE_FILE },

[CLI_PUT] = {
	"put", "store objects under names in a space",
	{ "-p POOL put [OPTION]... SPACE PATH [FILE [PATH FILE]...]" },
	"What a backup program does through the library, from the command line:\n"
	"one transaction, in it one object for each PATH, with the data of FILE\n"
	"('-' or nothing: standard input). A SPACE stands for what is backed up as\n"
	"a whole, and with the host makes the series that retention works on. The\n"
	"objects become visible together, as a snapshot, or not at all.\n"
	"\n"
	"See akin_session(3) for programs.\n",
	{ { "pg_dump db | akin put postgres main/db", "Store a stream." },
	  { "akin put images vm7/disk disk.img vm7/config vm7.xml",
	    "Two objects in one transaction." },
	  { "akin put --attribute lsn=0/16B3748 --tag full postgres base base.tar",
	    "With something to remember, and a tag for the snapshot." } },
	2, CLI_ANY, CLI_COMPLETE_FILE },

[CLI_GET] = {
	"get", "print an object, or a part of it",
	{ "-p POOL get [OPTION]... SPACE PATH" },
	"The newest version, whichever host has stored it, or that of --snapshot.\n"
	"Into a file, holes stay holes.\n",
	{ { "akin get postgres main/db | psql", "Give a stream back." },
	  { "akin get -s 1f3a --offset 1G --length 4K images vm7/disk > block",
	    "One block of an older version." } },
	2, 2, CLI_COMPLETE_NONE },

[CLI_OBJECTS] = {
	"objects", "list objects that programs have stored",
	{ "-p POOL objects [OPTION]... [SPACE [PATH]]" },
	"All versions, oldest first: those of SPACE, at or below PATH. Streams\n"
	"that 'akin backup' has stored have no space.\n",
	{ { "akin objects", "Everything." },
	  { "akin objects --newest postgres", "What there is now of one space." },
	  { "akin objects --name 'disk*' --json images vm7",
	    "All versions of some, for a program." } },
	0, 2, CLI_COMPLETE_NONE },

[CLI_LOADGEN] = {
	"loadgen", "make data up, to a pool or a file",
	{ "loadgen [OPTION]...", "loadgen [OPTION]... FILE|-",
	  "-p POOL loadgen [OPTION]... pool" },
	"Data whose properties are known exactly: how often each unit occurs, how\n"
	"well it compresses, how similar units are, how generations differ. The\n"
	"same options make the same bytes, on any machine, any part first. Without\n"
	"an operand, says what would be made.\n"
	"\n"
	"Into a FILE, or standard output, streams go one after the other. To a pool\n"
	"they go as a program's would (see akin_session(3)), each generation as a\n"
	"transaction in the space 'loadgen', object n of stream m as sM/oN.\n",
	{ { "akin loadgen --dedup 3 --compressible 50%",
	    "Say what that load is." },
	  { "akin loadgen --size 10G --random 30% --streams 8 -p /mnt/test pool",
	    "Eight streams at once, 30% of them random." },
	  { "akin loadgen --size 4G --change 1% --generations 30 --verify -p "
	    "/mnt/test pool", "A month of backups, each compared." },
	  { "akin loadgen --unit 4K --distribution kernels.dist big.img",
	    "A file for another store, like a known one." },
	  { "akin loadgen --trace fslhomes-user000-2014-09-01.8kb.hash.anon pool",
	    "What somebody's home directory had." },
	  { "akin loadgen --generation 5 --change 2% - | zstd | wc -c",
	    "The sixth generation." } },
	0, 1, CLI_COMPLETE_FILE },

[CLI_POOLS] = {
	"pools", "list pools, a line each",
	{ "pools PATH...", "-p POOL pools" },
	"SIZE and FREE are those of the file system with the data, ALLOC what the\n"
	"pool takes, CAP the share it has of what it could have, DEDUP and RATIO\n"
	"what was given over what is distinct, and over ALLOC. HEALTH is ONLINE,\n"
	"DEGRADED (damage is known: 'akin check' says more) or UNAVAIL.\n",
	{ { "akin pools /mnt/*/pool", "How full are they?" },
	  { "akin pools --json -p /mnt/backup", "For a program." } },
	0, CLI_ANY, CLI_COMPLETE_DIR },

[CLI_BENCH] = {
	"bench", "measure what this machine reaches",
	{ "bench [OPTION]... streams [N]...", "bench [OPTION]... engines [N]",
	  "bench [OPTION]... targets [N]...", "bench [OPTION]... verify",
	  "bench [OPTION]... growth [STEPS] | micro",
	  "bench [OPTION]... files [FACTOR]" },
	"Pools of its own are made and removed; yours are not touched. The load is\n"
	"that of 'akin loadgen', and goes in as a program's would.\n"
	"\n"
	"streams sends N streams at once (default 1, 2, 4 and 8), with none, half\n"
	"and all of their data random, and counts what that costs either pool.\n"
	"engines compares the engines on N streams (default 8) of which more and\n"
	"more is random, backup and restore, and shows over time what goes to\n"
	"either pool. targets prints ratios beside their bars, all or number N:\n"
	"eight streams beside one, beside the hash, beside the raw disk, random\n"
	"beside repeating data, restores beside backups. streams without numbers is\n"
	"followed by both.\n"
	"\n"
	"verify compares the levels of verification, with blocks that are all equal\n"
	"and with data that repeats and is larger than the caches. growth feeds a\n"
	"pool step by step (default 8) and sees whether new and old data keep their\n"
	"rates, beside a small pool in each step; --fingerprints makes its index as\n"
	"large as that of a pool that would not fit here. micro measures cutting,\n"
	"fingerprints, lookups, codecs and decoding alone, each beside its bound.\n"
	"\n"
	"files lists directories of an imaging study, reads ten files and writes\n"
	"ten: in the plain file system, with each codec (or that of --compression),\n"
	"the first time, again, beside five copies; and while small files come,\n"
	"until there are FACTOR times as many (default 100).\n"
	"\n"
	"On a machine that does other things, too, compare within a table only.\n",
	{ { "akin bench micro", "Ten seconds, for a first impression." },
	  { "akin bench --dir /mnt/new streams --report streams.html",
	    "What does that disk do? With charts." },
	  { "akin bench targets", "Does this machine reach what it should?" },
	  { "akin bench --files 4000 --size 1M files 1000 --report files.html",
	    "A study of 4 GB, and a pool of four million files." },
	  { "akin bench --size 1G --memory 64M growth 32 --json",
	    "A pool much larger than its memory." },
	  { "akin bench --fingerprints 1000000000 growth 11",
	    "One of 8 TB, in 32 GB of disk." } },
	1, CLI_ANY, CLI_COMPLETE_NONE },

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
