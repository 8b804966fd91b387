/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lying, recording disk in memory.
 *
 * `struct simdisk` is the hardware and the kernel's page cache: it outlives
 * what uses it. simdisk_attach() gives a `struct disk` on it, as a process
 * would have; several may be attached at once and see each other's files and
 * locks. What was written but not synced is remembered apart from what is
 * durable, in order, so that simdisk_reboot() can make every disk that a power
 * cut could leave behind:
 *
 *   file bytes    durable by file_sync() on any open file of it
 *   names         durable by disk_sync_dir() of the directory. A rename is one
 *                 operation, durable when either of its directories is synced;
 *                 what was done before to the same names comes along
 *   everything    else is kept, lost or torn, as seed and mode say
 *
 * A file may thus come back with bytes missing, shorter, as zeros, under its
 * old name, or not at all, though its bytes were synced.
 *
 * The usual crash test: run a workload and count its mutating operations; for
 * each n run it again with simdisk_crash_at(sd, n), then reboot that disk with
 * a few seeds, open the store there and compare. The original stays as it is,
 * so one crash serves many reboots.
 *
 * A sync that fails by a fault loses, as Linux does, some of the data written
 * since the last one: later syncs succeed without it.
 *
 * Thread safe, but for free, join and kill (nothing else may be running).
 * Memory comes from plain malloc, so that walking mem_fail_after() does not
 * hit the simulator (open file names come from mem_*, by the wrappers); out
 * of memory aborts. Files may be at most 1 GiB long.
 */
#ifndef SIMDISK_H
#define SIMDISK_H

#include "os/disk.h"

struct simdisk;

/* @label as in struct disk: "metadata" or "data"; borrowed. */
struct simdisk *simdisk_new(const char *label);
/* Nothing may be attached. NULL is fine. */
void simdisk_free(struct simdisk *sd);
/*
 * Put @sd into the machine of @other: one running number, one power cord. For
 * the two directories of a pool. Right after simdisk_new/clone/reboot.
 */
void simdisk_join(struct simdisk *sd, struct simdisk *other);

/*
 * Returns owned: disk_free(), with all its files closed (asserted) or after
 * simdisk_kill().
 */
struct disk *simdisk_attach(struct simdisk *sd, bool writable);
/*
 * The process dies: its locks and open files are gone, what it wrote stays in
 * the page cache. All its calls fail from now on; files that are not closed
 * are freed by disk_free().
 */
void simdisk_kill(struct disk *d);

/* What locks are worth here. */
enum sim_locks {
	SIM_LOCKS_KEPT,
	SIM_LOCKS_LOCAL,	/* nobody sees those of other machines */
	SIM_LOCKS_NONE,		/* -AKIN_E_no_locks */
	SIM_LOCKS_LIE,		/* all are granted, none is kept */
};
void simdisk_set_locks(struct simdisk *sd, enum sim_locks locks);
/* Attachments from now on are of machine @me, beside others; NULL, as at the
 * start: there is one machine only. */
void simdisk_set_machine(struct simdisk *sd, const struct machine *me);

enum sim_kind {
	SIM_OPEN = 0x1,		/* an existing file */
	SIM_CREATE = 0x2,	/* opening that creates or cuts; temporaries */
	SIM_MKDIR = 0x4,
	SIM_RENAME = 0x8,
	SIM_UNLINK = 0x10,
	SIM_STAT = 0x20,	/* of a name, of an open file, of the disk */
	SIM_LIST = 0x40,
	SIM_SYNC_DIR = 0x80,
	SIM_READ = 0x100,
	SIM_WRITE = 0x200,
	SIM_TRUNCATE = 0x400,
	SIM_RESERVE = 0x800,
	SIM_SYNC = 0x1000,
	SIM_LOCK = 0x2000,	/* taking, not testing or releasing */
	SIM_ALL = 0x3fff,
};
/* What gets a running number; the first is 1. */
#define SIM_MUTATING (SIM_CREATE | SIM_MKDIR | SIM_RENAME | SIM_UNLINK | \
		      SIM_SYNC_DIR | SIM_WRITE | SIM_TRUNCATE | SIM_RESERVE | \
		      SIM_SYNC)

/* Mutating operations so far, on all disks of the machine. */
u64 simdisk_nr_ops(struct simdisk *sd);
/* "7 data: write containers/00000001 4096 bytes at 0"; "" if there is none. */
void simdisk_describe(struct simdisk *sd, u64 nr, char *text, size_t size);
/*
 * Operation @nr and everything after it, reads included, fails with
 * -AKIN_E_io and changes nothing, on all disks of the machine; 0 = never.
 */
void simdisk_crash_at(struct simdisk *sd, u64 nr);
bool simdisk_crashed(struct simdisk *sd);

enum sim_mode {
	SIM_LOSE,	/* only what was synced */
	SIM_KEEP,	/* everything arrived */
	SIM_TORN,	/* writes kept, lost or torn by 512-byte sector; sizes
			 * a prefix per file, names a prefix per directory */
	SIM_WILD,	/* the same, but each name operation by itself */
	SIM_NR_MODES
};

/*
 * The disk after a power cut now; @sd is unchanged. Equal disks, seeds and
 * modes give equal results. Everything on it is durable. Faults, crash and
 * numbers start afresh, the capacity stays. Returns owned.
 */
struct simdisk *simdisk_reboot(struct simdisk *sd, u64 seed,
			       enum sim_mode mode);
/*
 * The same state in a machine of its own, page cache included; attachments,
 * locks and unnamed files are not cloned. Cheap: pages are shared until they
 * are written. Returns owned.
 */
struct simdisk *simdisk_clone(struct simdisk *sd);

struct sim_fault {
	unsigned kinds;		/* enum sim_kind bits; 0 = no fault */
	u64 nth;		/* matching operation from now on, 1 = next */
	int code;		/* negative, such as -AKIN_E_io; 0: a write
				 * says that it succeeded, but one bit in its
				 * middle is wrong */
	bool for_good;		/* and all after it */
	const char *name;	/* only names that contain this; borrowed,
				 * NULL = any */
};
/* Replaces an earlier fault. A failing operation changes nothing (but see
 * syncs above); in file_pread_many each read counts. */
void simdisk_fail(struct simdisk *sd, const struct sim_fault *fault);
/* How often it struck. */
u64 simdisk_nr_faults(struct simdisk *sd);

/*
 * Size of the disk; 0 = no limit. Only growth is refused, with
 * -AKIN_E_nospace: 4 KiB for each new file or directory and for each page of
 * a file that has none yet. A write fills what fits. Names cost nothing.
 */
void simdisk_set_capacity(struct simdisk *sd, u64 bytes);
u64 simdisk_used(struct simdisk *sd);

/*
 * Damage, in the page cache, on the platter and in what lies between. The
 * range must be inside the file (asserted).
 */
void simdisk_flip_bit(struct simdisk *sd, const char *name, u64 off,
		      unsigned bit);
void simdisk_poke(struct simdisk *sd, const char *name, u64 off,
		  const void *data, size_t n);
/*
 * The 4 KiB at @off cannot be read any more, and so nothing less than all of
 * them can be written; writing them makes them good again. Up to SIM_BAD_MAX
 * of a disk; a clone has none. @name is borrowed.
 */
#define SIM_BAD_MAX 16
void simdisk_break_page(struct simdisk *sd, const char *name, u64 off);

struct sim_name {
	char *path;
	u64 size_bytes;
	bool is_dir;
};
/* All names a process would see, sorted. simdisk_names_free(). */
struct sim_name *simdisk_names(struct simdisk *sd, size_t *nr_ret);
void simdisk_names_free(struct sim_name *names, size_t nr);
/* Over all names and bytes a process would see. */
u64 simdisk_hash(struct simdisk *sd);

#endif
