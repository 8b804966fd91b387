/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters in memory that other processes can read: one small file for each
 * open pool, in a directory of the user's on a file system in memory.
 *
 * Where: /run/akin for root; $XDG_RUNTIME_DIR/akin for others; else
 * /dev/shm/akin-UID. AKIN_COUNTERS in the environment, an absolute path,
 * stands for all of these, to write and to look in.
 *
 * A file is named by its process (number, start time, PID namespace) and
 * removed when the pool is closed. What a killed process leaves behind is
 * removed by whoever lists next and may do so. Where no file can be had,
 * counters are private memory and nobody notices.
 *
 * A reader believes a file if and only if, in this order: its name is one that
 * we make, of our PID namespace; the process of that number lives and started
 * then; file, directory and process have one owner; it is a regular file of
 * our size; magic, version and layout of the table are ours; the header says
 * again what the name says. Files are read, never mapped, so their owner cannot
 * harm the reader by cutting them.
 *
 * The file is a cache of nothing and truth of nothing: native-endian, laid out
 * as this build has it.
 */
#ifndef OS_COUNTERS_FILE_H
#define OS_COUNTERS_FILE_H

#include "base/counters.h"
#include "base/diag.h"

struct counters_file;

#define COUNTERS_POOL_BYTES 16
#define COUNTERS_COMMAND_MAX 256

/* Only lack of memory is an error. */
int counters_file_open(const u8 pool[COUNTERS_POOL_BYTES],
		       struct counters_file **out, struct akin_diag *diag)
	__must_check;
/* Borrowed until counters_file_close(); count from any thread. */
struct counters *counters_file_counters(struct counters_file *cf);
/* Path of the file, borrowed; NULL: private memory. */
const char *counters_file_path(const struct counters_file *cf);
/* Removes the file. NULL is fine. */
void counters_file_close(struct counters_file *cf);

/* What a file says, checked as above. */
struct counters_seen {
	u8 pool[COUNTERS_POOL_BYTES];
	u32 pid, uid;
	s64 opened_sec;
	char command[COUNTERS_COMMAND_MAX];	/* no control characters */
	u64 values[AKIN_NR_COUNTER_VALUES];
};

/* Living processes only. A non-zero return of @fn ends it with that code; what
 * cannot be read is left out. */
int counters_file_each(int (*fn)(void *ctx, const struct counters_seen *seen),
		       void *ctx);

#endif
