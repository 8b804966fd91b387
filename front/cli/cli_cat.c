/* SPDX-License-Identifier: Apache-2.0 */
/*
 * akin cat.
 *
 * Writes past stdio: the bytes come in large pieces and are copied once less.
 * Into a regular file that is empty behind the present position, holes are
 * made by seeking.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli_signal.h"

struct sink {
	struct cli *c;
	bool hole_at_end;
};

static int failed(struct sink *s, int err)
{
	s->c->output_errno = err;
	return cli_fail_errno(&s->c->diag, err, "standard output");
}

/* A descriptor that somebody else made non-blocking. */
static void wait_writable(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	if (poll(&p, 1, 1000) < 0)
		return;
}

static int on_data(void *ctx, const void *data, size_t n)
{
	struct sink *s = ctx;
	const char *p = data;
	ssize_t done;

	while (n) {
		if (cli_signal_received())
			return cli_fail(&s->c->diag, -AKIN_E_interrupted,
					"interrupted");
		done = write(STDOUT_FILENO, p, n);
		if (done < 0 && errno == EAGAIN)
			wait_writable();
		else if (done < 0 && errno != EINTR)
			return failed(s, errno);
		if (done > 0) {
			p += done;
			n -= (size_t)done;
			s->hole_at_end = false;
		}
	}
	return 0;
}

static int on_hole(void *ctx, uint64_t len)
{
	struct sink *s = ctx;

	if (lseek(STDOUT_FILENO, (off_t)len, SEEK_CUR) < 0)
		return failed(s, errno);
	s->hole_at_end = true;
	return 0;
}

static bool can_seek(void)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);
	off_t at = lseek(STDOUT_FILENO, 0, SEEK_CUR);
	struct stat st;

	return flags >= 0 && !(flags & O_APPEND) && at >= 0 &&
	       fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_size <= at;
}

static int end_hole(struct sink *s)
{
	off_t at = lseek(STDOUT_FILENO, 0, SEEK_CUR);

	if (at < 0 || ftruncate(STDOUT_FILENO, at))
		return failed(s, errno);
	return 0;
}

int cli_cmd_cat(struct cli *c)
{
	struct sink s = { .c = c };
	struct cli_name name = { 0 };
	int err;

	err = cli_open(c, true);
	if (!err)
		err = cli_resolve(c, c->args.operands.v[0], &name);
	if (!err && !name.path) {
		err = cli_fail(&c->diag, -AKIN_E_usage, "'%s' names no file",
			       c->args.operands.v[0]);
		cli_hint(&c->diag, "Usage: akin %s",
			 cli_commands[CLI_CAT].synopsis[0]);
	}
	if (!err)
		err = akin_snapshot_read(c->pool, name.snapshot, name.path,
					 on_data, can_seek() ? on_hole : NULL,
					 &s, &c->diag);
	if (!err && s.hole_at_end)
		err = end_hole(&s);
	cli_name_release(&name);
	return err;
}
