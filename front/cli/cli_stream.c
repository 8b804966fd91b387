/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams; see cli_stream.h.
 *
 * A signal may be delivered to any thread, so a read that waits for a silent
 * producer is not sure to be interrupted by it: every wait also polls the
 * descriptor that becomes readable with the first signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli_signal.h"
#include "cli_stream.h"

#define PIPE_BYTES (1 << 20)	/* the most that is allowed without privilege */
#define KILL_AFTER_MS 5000

void cli_stream_stdin(struct cli_stream *s)
{
	s->fd = STDIN_FILENO;
	s->pid = 0;
	s->command = NULL;
}

static int spawn(pid_t *pid, int out_fd, char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int err;

	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return err;
	err = posix_spawn_file_actions_adddup2(&actions, out_fd,
					       STDOUT_FILENO);
	if (!err)
		err = cli_spawn(pid, argv[0], argv, &actions);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

int cli_stream_exec(struct cli_stream *s, char *const *argv,
		    struct akin_diag *diag)
{
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return cli_fail_errno(diag, errno, "pipe");
	/* Fewer switches between the two; without it is only slower. */
	if (fcntl(fds[0], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		errno = 0;
	err = spawn(&s->pid, fds[1], argv);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		s->pid = 0;
		cli_fail(diag, -AKIN_E_source_exec, "cannot run '%.200s': %s",
			 argv[0], strerror(err));
		return -AKIN_E_source_exec;
	}
	s->fd = fds[0];
	s->command = argv[0];
	return 0;
}

static int interrupted(struct akin_diag *diag)
{
	return cli_fail(diag, -AKIN_E_interrupted, "interrupted");
}

/* Waits until @fd can be read, at most @ms (-1: for ever). */
static int wait_for(int fd, int ms, struct akin_diag *diag)
{
	struct pollfd p[2] = {
		{ .fd = cli_signal_fd(), .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
	};

	while (poll(p, 2, ms) < 0) {
		if (errno != EINTR)
			return cli_fail_errno(diag, errno, "poll");
	}
	return cli_signal_received() ? interrupted(diag) : 0;
}

long cli_stream_read(void *ctx, void *buf, size_t cap, struct akin_diag *diag)
{
	struct cli_stream *s = ctx;
	ssize_t n;
	int err;

	for (;;) {
		err = wait_for(s->fd, -1, diag);
		if (err)
			return err;
		n = read(s->fd, buf, cap);
		if (n >= 0)
			return n;
		if (errno == EINTR || errno == EAGAIN)
			continue;
		return cli_fail(diag, -AKIN_E_source_read, "%s: %s",
				s->pid ? s->command : "standard input",
				strerror(errno));
	}
}

/* The status in *status_ret; 1 while the command still runs. */
static int reap(struct cli_stream *s, int *status_ret)
{
	pid_t got = waitpid(s->pid, status_ret, WNOHANG);

	if (got == 0 || (got < 0 && errno == EINTR))
		return 1;
	if (got < 0)
		*status_ret = -1;
	s->pid = 0;
	return 0;
}

static int judge(struct cli_stream *s, int status, struct akin_diag *diag)
{
	int code = -AKIN_E_source_exec;

	if (status == 0)
		return 0;
	if (WIFEXITED(status))
		cli_fail(diag, code, "'%.200s' exited with status %d: no "
			 "snapshot was made", s->command, WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		cli_fail(diag, code, "'%.200s' was ended by signal %d (%s): no "
			 "snapshot was made", s->command, WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		cli_fail(diag, code, "'%.200s': its exit status is lost: no "
			 "snapshot was made", s->command);
	return code;
}

int cli_stream_finish(void *ctx, struct akin_diag *diag)
{
	struct cli_stream *s = ctx;
	int status, ms = 1, err;

	if (!s->pid)
		return 0;
	/* It has closed its output; most are gone by now. */
	while (reap(s, &status)) {
		err = wait_for(-1, ms, diag);
		if (err)
			return err;
		ms = ms < 50 ? ms * 2 : 100;
	}
	return judge(s, status, diag);
}

void cli_stream_release(struct cli_stream *s)
{
	int status, ms;

	if (s->command && s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (!s->pid)
		return;
	kill(s->pid, SIGTERM);
	for (ms = 0; reap(s, &status); ms += 10) {
		if (ms >= KILL_AFTER_MS)
			kill(s->pid, SIGKILL);
		poll(NULL, 0, 10);
	}
}
