/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by counters_file.c (writing), counters_list.c (reading) and
 * counters_name.c (who a process is).
 */
#ifndef OS_COUNTERS_INTERNAL_H
#define OS_COUNTERS_INTERNAL_H

#include "os/counters_file.h"

#define COUNTERS_RUN_DIR "/run/akin"
#define COUNTERS_USERS_DIR "/run/user"
#define COUNTERS_SHM_DIR "/dev/shm"

#define COUNTERS_DIR_MAX 192
/* Four numbers of at most 20 digits, and what separates them. */
#define COUNTERS_NAME_MAX 88
#define COUNTERS_PATH_MAX (COUNTERS_DIR_MAX + COUNTERS_NAME_MAX)

/* What a file is named by. Numbers of processes mean nothing outside of their
 * PID namespace, and directories may be shared with other ones. */
struct counters_name {
	u64 start_ticks;	/* since the machine's start */
	u64 namespace;		/* inode */
	u32 pid;
	u32 handle;		/* counts the pools of one process */
};

#define COUNTERS_VERSION 2
/* "akinctr\n" */
#define COUNTERS_MAGIC 0x0a7274636e696b61ull

struct counters_header {
	_Atomic u64 magic;
	u32 version;
	u32 nr_values;
	u64 layout;		/* counters_layout() */
	u8 pool[COUNTERS_POOL_BYTES];
	struct counters_name name;
	_Atomic u64 closed_ns;	/* clock_ns(); 0: it is open */
	s64 opened_sec;
	char command[224];	/* words, a zero behind each; maybe cut */
};

/* The counters begin on a cache line of their own. */
struct counters_image {
	struct counters_header header;
	struct counters counters __attribute__((aligned(64)));
	struct counters_streams streams __attribute__((aligned(64)));
};

#define COUNTERS_FILE_BYTES 8192
static_assert(sizeof(struct counters_image) <= COUNTERS_FILE_BYTES,
	      "two pages a pool");
/* Changes with counters_layout() only as far as values are concerned. */
static_assert(sizeof(struct counters_stream) == 128,
	      "another size is another COUNTERS_VERSION");

/*
 * A file stays for so long after its pool was closed, that who looks from time
 * to time sees what was counted last: most of what a backup commits, it commits
 * just before it ends. Longer than one looks away, and short beside the time in
 * which thousands of commands can run.
 */
#define COUNTERS_LINGER_NS (60 * 1000000000ull)

/* Was it closed, and if so, is it time to remove it? */
static inline bool counters_expired(u64 closed_ns, u64 now_ns)
{
	/* What is to come is a lie. */
	return closed_ns && (closed_ns > now_ns ||
			     now_ns - closed_ns > COUNTERS_LINGER_NS);
}

/* counters_list.c: remove a few files of the directory that have expired. */
void counters_reap(int dir_fd);

/* counters_name.c */

/* AKIN_COUNTERS, if it can be used; NULL otherwise. */
const char *counters_dir_given(void);
/* "@dir/@name"; false if it is too long or @dir is not absolute. */
bool counters_dir_below(const char *dir, const char *name,
			char out[COUNTERS_DIR_MAX]);
void counters_name_print(const struct counters_name *n,
			 char out[COUNTERS_NAME_MAX]);
/* Strictly what counters_name_print() makes. */
bool counters_name_parse(const char *s, struct counters_name *out);
/* This process; false where the kernel does not tell. */
bool counters_name_self(struct counters_name *out);
/* Does it live? Whether it is @n's namespace was checked. *uid_ret: its owner,
 * if it lives. */
enum counters_life { COUNTERS_GONE, COUNTERS_ALIVE, COUNTERS_UNKNOWN };
enum counters_life counters_name_life(const struct counters_name *n,
				      u32 *uid_ret);
/* A small file of /proc, cut and zero-terminated; its length or -1. */
long counters_proc_read(u32 pid, const char *what, char *out, size_t cap);

#endif
