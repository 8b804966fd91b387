/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals and limits; see cli_signal.h. The state is the process's, as signals
 * are.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "akin/session.h"
#include "cli_signal.h"

/* Beyond this, tables in the kernel cost more than they help. */
#define MAX_OPEN_FILES 65536

extern char **environ;

static _Atomic(struct akin_pool *) pool_to_stop;
static _Atomic(struct akin_session *) session_to_stop;
static atomic_int received;
static void (*_Atomic last)(void);
static int wake[2] = { -1, -1 };
static struct rlimit files_before, files_raised;
static bool know_limits;

static void on_signal(int sig)
{
	struct akin_session *s;
	struct akin_pool *p;
	int saved = errno, none = 0;
	void (*fn)(void);

	if (!atomic_compare_exchange_strong(&received, &none, sig)) {
		fn = atomic_load(&last);
		if (fn)
			fn();
		_exit(128 + sig);
	}
	p = atomic_load(&pool_to_stop);
	if (p)
		akin_pool_stop(p);
	s = atomic_load(&session_to_stop);
	if (s)
		akin_session_stop(s);
	/* A full pipe would be readable already. */
	if (write(wake[1], "", 1) < 0)
		errno = saved;
	errno = saved;
}

void cli_signal_init(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa, old;
	size_t i;

	if (pipe2(wake, O_CLOEXEC | O_NONBLOCK))
		wake[0] = wake[1] = -1;
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = SIG_IGN;
	/* A write to a closed pipe is an error like any other. */
	sigaction(SIGPIPE, &sa, NULL);
	/* No SA_RESTART: a read that waits is to end. */
	sa.sa_handler = on_signal;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* nohup and shells' background jobs ignore some: let them. */
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
}

void cli_signal_last(void (*fn)(void))
{
	atomic_store(&last, fn);
}

void cli_signal_pool(struct akin_pool *p)
{
	atomic_store(&pool_to_stop, p);
	/* It may have come while the pool was opened. */
	if (p && atomic_load(&received))
		akin_pool_stop(p);
}

void cli_signal_session(struct akin_session *s)
{
	atomic_store(&session_to_stop, s);
	if (s && atomic_load(&received))
		akin_session_stop(s);
}

int cli_signal_received(void)
{
	return atomic_load(&received);
}

int cli_signal_fd(void)
{
	return wake[0];
}

bool cli_fix_descriptors(void)
{
	bool stdin_was_closed = false;
	int fd;

	/* Else a file of the pool becomes standard output. */
	for (fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (fd == 0)
			stdin_was_closed = true;
		if (open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
	}
	return stdin_was_closed;
}

void cli_raise_limits(void)
{
	if (getrlimit(RLIMIT_NOFILE, &files_before))
		return;
	files_raised = files_before;
	if (files_raised.rlim_max > MAX_OPEN_FILES)
		files_raised.rlim_cur = MAX_OPEN_FILES;
	else
		files_raised.rlim_cur = files_raised.rlim_max;
	if (files_raised.rlim_cur < files_before.rlim_cur)
		files_raised = files_before;
	know_limits = true;
	cli_set_limits(true);
}

void cli_set_limits(bool raised)
{
	/* Without, fewer files are open at a time; nothing else. */
	if (know_limits &&
	    setrlimit(RLIMIT_NOFILE, raised ? &files_raised : &files_before))
		return;
}

int cli_spawn(pid_t *pid, const char *program, char *const *argv,
	      const posix_spawn_file_actions_t *actions)
{
	posix_spawnattr_t attr;
	sigset_t set;
	int err;

	err = posix_spawnattr_init(&attr);
	if (err)
		return err;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	err = posix_spawnattr_setsigdefault(&attr, &set);
	if (!err)
		err = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	cli_set_limits(false);
	if (!err)
		err = posix_spawnp(pid, program, actions, &attr, argv,
				   environ);
	cli_set_limits(true);
	posix_spawnattr_destroy(&attr);
	return err;
}
