/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents to standard output; see cli_sink.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli_signal.h"
#include "cli_sink.h"

static int failed(struct cli_sink *s, int err)
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

int cli_sink_data(void *ctx, const void *data, size_t n)
{
	struct cli_sink *s = ctx;
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
	struct cli_sink *s = ctx;

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

cli_sink_hole_fn *cli_sink_hole(void)
{
	return can_seek() ? on_hole : NULL;
}

int cli_sink_end(struct cli_sink *s)
{
	off_t at;

	if (!s->hole_at_end)
		return 0;
	at = lseek(STDOUT_FILENO, 0, SEEK_CUR);
	if (at < 0 || ftruncate(STDOUT_FILENO, at))
		return failed(s, errno);
	return 0;
}
