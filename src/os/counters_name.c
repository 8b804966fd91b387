/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of counters' files, and the processes they stand for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/counters_internal.h"

const char *counters_dir_given(void)
{
	const char *s = secure_getenv("AKIN_COUNTERS");

	return s && s[0] == '/' && strlen(s) < COUNTERS_DIR_MAX ? s : NULL;
}

bool counters_dir_below(const char *dir, const char *name,
			char out[COUNTERS_DIR_MAX])
{
	return dir[0] == '/' &&
	       snprintf(out, COUNTERS_DIR_MAX, "%s/%s", dir, name) <
		       COUNTERS_DIR_MAX;
}

void counters_name_print(const struct counters_name *n,
			 char out[COUNTERS_NAME_MAX])
{
	snprintf(out, COUNTERS_NAME_MAX, "%u-%llu-%llu-%u", n->pid,
		 (unsigned long long)n->start_ticks,
		 (unsigned long long)n->namespace, n->handle);
}

static bool parse_number(const char **s, char end, u64 max, u64 *out)
{
	char *stop;

	if (**s < '0' || **s > '9')
		return false;
	errno = 0;
	*out = strtoull(*s, &stop, 10);
	if (errno || *out > max || *stop != end)
		return false;
	*s = stop + 1;
	return true;
}

bool counters_name_parse(const char *s, struct counters_name *out)
{
	char again[COUNTERS_NAME_MAX];
	const char *at = s;
	u64 pid, handle;

	memset(out, 0, sizeof(*out));
	if (!parse_number(&at, '-', INT32_MAX, &pid) ||
	    !parse_number(&at, '-', UINT64_MAX, &out->start_ticks) ||
	    !parse_number(&at, '-', UINT64_MAX, &out->namespace) ||
	    !parse_number(&at, 0, UINT32_MAX, &handle) || pid == 0)
		return false;
	out->pid = (u32)pid;
	out->handle = (u32)handle;
	/* One name for one process: no leading zeros. */
	counters_name_print(out, again);
	return strcmp(s, again) == 0;
}

long counters_proc_read(u32 pid, const char *what, char *out, size_t cap)
{
	char path[64];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (len < cap - 1) {
		n = read(fd, out + len, cap - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	out[len] = 0;
	return (long)len;
}

/*
 * "PID (NAME) STATE ..." with the start as field 22. The name may hold
 * anything, so it is what ends at the last parenthesis.
 */
static bool parse_stat(const char *stat, char *state_ret, u64 *start_ret)
{
	const char *s = strrchr(stat, ')');
	int i;

	if (!s || s[1] != ' ' || !s[2])
		return false;
	*state_ret = s[2];
	for (i = 2, s++; s && i < 21; i++)
		s = strchr(s + 1, ' ');
	if (!s)
		return false;
	s++;
	return parse_number(&s, ' ', UINT64_MAX, start_ret);
}

bool counters_name_self(struct counters_name *out)
{
	char stat_text[1024], state;
	struct stat st;

	memset(out, 0, sizeof(*out));
	out->pid = (u32)getpid();
	if (stat("/proc/self/ns/pid", &st))
		return false;
	out->namespace = st.st_ino;
	return counters_proc_read(out->pid, "stat", stat_text,
				  sizeof(stat_text)) > 0 &&
	       parse_stat(stat_text, &state, &out->start_ticks);
}

enum counters_life counters_name_life(const struct counters_name *n,
				      u32 *uid_ret)
{
	char path[32], text[1024], state;
	struct stat st;
	u64 start;

	snprintf(path, sizeof(path), "/proc/%u", n->pid);
	if (stat(path, &st))
		return errno == ENOENT ? COUNTERS_GONE : COUNTERS_UNKNOWN;
	if (counters_proc_read(n->pid, "stat", text, sizeof(text)) <= 0 ||
	    !parse_stat(text, &state, &start))
		return COUNTERS_UNKNOWN;	/* it may be ending just now */
	*uid_ret = st.st_uid;
	/* Zombies count no more. */
	return start != n->start_ticks || state == 'Z' || state == 'X' ?
		       COUNTERS_GONE : COUNTERS_ALIVE;
}
