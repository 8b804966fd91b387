/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters in memory that other processes can read: one small file for each
 * open pool, in a directory of the user's on a file system in memory.
 *
 * Where: /run/akin for root; $XDG_RUNTIME_DIR/akin for others, unless other
 * users may read it, who have no way there; else /dev/shm/akin-UID.
 * AKIN_COUNTERS in the environment, an absolute path, stands for all of these,
 * to write and to look in.
 *
 * A file is named by its process (number, start time, PID namespace). When the
 * pool is closed it says so and stays for a minute, so that its last values can
 * be seen; then it is removed by whoever lists or opens next and may do so, as
 * is at once what a killed process leaves behind. Where no file can be had,
 * counters are private memory and nobody notices.
 *
 * A reader believes a file if and only if, in this order: its name is one that
 * we make, of our PID namespace; the process of that number lives and started
 * then, or the file says that it was closed within the last minute; file,
 * directory and process have one owner; it is a regular file of our size;
 * magic, version and layout of the table are ours; the header says again what
 * the name says. Files are read, never mapped, so their owner cannot harm the
 * reader by cutting them.
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

/* Who besides its owner may read what is counted. */
struct counters_readers {
	bool group, others;
	u32 gid;		/* that group */
};

/* Only lack of memory is an error. */
int counters_file_open(const u8 pool[COUNTERS_POOL_BYTES],
		       const struct counters_readers *readers,
		       struct counters_file **out, struct akin_diag *diag)
	__must_check;
/* Borrowed until counters_file_close(); count from any thread. */
struct counters *counters_file_counters(struct counters_file *cf);
struct counters_streams *counters_file_streams(struct counters_file *cf);
/* Path of the file, borrowed; NULL: private memory. */
const char *counters_file_path(const struct counters_file *cf);
/* The file lingers. NULL is fine. */
void counters_file_close(struct counters_file *cf);

/* What a file says, checked as above. */
struct counters_seen {
	u8 pool[COUNTERS_POOL_BYTES];
	u32 pid, uid, handle;
	s64 opened_sec;
	bool closed;		/* these are the last values */
	char command[COUNTERS_COMMAND_MAX];	/* no control characters */
	u64 values[AKIN_NR_COUNTER_VALUES];
	struct akin_counters_stream streams[COUNTERS_STREAMS];	/* by id */
	u32 nr_streams;
};

/* Pools that are open or were closed within a minute. A non-zero return of @fn
 * ends it with that code; what cannot be read is left out. */
int counters_file_each(int (*fn)(void *ctx, const struct counters_seen *seen),
		       void *ctx);

#endif
