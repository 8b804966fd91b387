/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded, it makes every file system look like another:
 *
 *	LYING_TYPE=nfs		statfs says so
 *	LYING_LOCKS=none	there are no locks
 *	LYING_LOCKS=granted	all are granted, none is kept
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int is(const char *name, const char *value)
{
	const char *have = getenv(name);

	return have && strcmp(have, value) == 0;
}

EXPORT int fcntl(int fd, int cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (cmd == F_OFD_SETLK || cmd == F_OFD_GETLK) {
		if (is("LYING_LOCKS", "none")) {
			errno = ENOLCK;
			return -1;
		}
		if (is("LYING_LOCKS", "granted")) {
			if (cmd == F_OFD_GETLK)
				((struct flock *)arg)->l_type = F_UNLCK;
			return 0;
		}
	}
	return (int)syscall(SYS_fcntl, fd, cmd, arg);
}

EXPORT int fstatfs(int fd, struct statfs *out)
{
	int ret = (int)syscall(SYS_fstatfs, fd, out);

	if (ret == 0 && is("LYING_TYPE", "nfs"))
		out->f_type = 0x6969;
	return ret;
}
