/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal; see cli_screen.h.
 *
 * Signals that end or stop the process restore the terminal first, by calls
 * that are safe in a handler, and then do what they would have done. INT, TERM
 * and HUP are cli_signal's: the first is an end like another, and before the
 * second ends the process at once it asks us to restore.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli_screen.h"
#include "cli_signal.h"

/* Of a sequence the bytes come together, or the link is very slow. */
#define SEQUENCE_MS 50

/* The other screen, no cursor; and back. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static const int fatal[] = { SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };

static struct {
	atomic_bool open;
	bool have_keys, ended;
	struct termios before, during;
	int wake[2];
	unsigned char in[32];	/* read, and no key yet */
	size_t nr_in;
} screen = { .wake = { -1, -1 } };

static void put(const char *s, size_t n)
{
	ssize_t done;

	/* A terminal that is gone has nothing to restore. */
	while (n) {
		done = write(STDOUT_FILENO, s, n);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (done > 0) {
			s += done;
			n -= (size_t)done;
		}
	}
}

static void enter(void)
{
	if (screen.have_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen.during);
	put(ENTER, sizeof(ENTER) - 1);
	atomic_store(&screen.open, true);
}

/* From anywhere, signal handlers included; once. */
static void leave(void)
{
	int saved = errno;

	if (atomic_exchange(&screen.open, false)) {
		put(LEAVE, sizeof(LEAVE) - 1);
		if (screen.have_keys)
			tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
	}
	errno = saved;
}

static void on_fatal(int sig)
{
	leave();
	/* It is blocked here and has its default back: on return it comes. */
	raise(sig);
}

static void wake_up(int sig)
{
	int saved = errno;

	/* A full pipe would be readable already. */
	if (write(screen.wake[1], "", 1) < 0)
		errno = saved;
	errno = saved;
}

static void on_stop(int sig)
{
	sigset_t set;

	leave();
	signal(SIGTSTP, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	/* The process stops here, until it is continued. */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGTSTP, on_stop);
	enter();
	wake_up(sig);
}

static void catch(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa, old;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = fn;
	sa.sa_flags = flags;
	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(sig, &sa, NULL);
}

bool cli_screen_possible(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDOUT_FILENO) && kind && *kind &&
	       strcmp(kind, "dumb") != 0;
}

void cli_screen_open(void)
{
	size_t i;

	fflush(stdout);
	screen.have_keys = isatty(STDIN_FILENO) &&
			   tcgetattr(STDIN_FILENO, &screen.before) == 0;
	screen.during = screen.before;
	screen.during.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	screen.during.c_cc[VMIN] = 1;
	screen.during.c_cc[VTIME] = 0;
	/* Without, a resize is seen when the next frame is drawn. */
	if (pipe2(screen.wake, O_CLOEXEC | O_NONBLOCK))
		screen.wake[0] = screen.wake[1] = -1;
	atexit(leave);
	cli_signal_last(leave);
	for (i = 0; i < CLI_ARRAY_SIZE(fatal); i++)
		catch(fatal[i], on_fatal, (int)SA_RESETHAND);
	catch(SIGTSTP, on_stop, SA_RESTART);
	catch(SIGWINCH, wake_up, SA_RESTART);
	enter();
}

void cli_screen_close(void)
{
	leave();
	cli_signal_last(NULL);
}

void cli_screen_size(unsigned *columns_ret, unsigned *lines_ret)
{
	struct winsize ws;
	bool told = ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0;

	*columns_ret = told && ws.ws_col ? ws.ws_col : 80;
	*lines_ret = told && ws.ws_row ? ws.ws_row : 24;
}

void cli_screen_draw(const struct cli_str *frame)
{
	const char *s = cli_str_text(frame), *end;
	struct cli_str out = { 0 };

	cli_str_add(&out, "\033[H");
	/* Line by line over what is there: nothing flickers. The last one ends
	 * without a newline, which would scroll. */
	while ((end = strchr(s, '\n'))) {
		cli_str_addn(&out, s, (size_t)(end - s));
		cli_str_add(&out, "\033[K");
		s = end + 1;
		if (*s)
			cli_str_add(&out, "\r\n");
	}
	cli_str_add(&out, "\033[J");
	put(out.s, out.len);
	cli_str_release(&out);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* By what ends a sequence: of "ESC [ NUMBER ~", by the number. */
static int key_of(unsigned char last, unsigned char number)
{
	static const struct {
		unsigned char last, number;
		int key;
	} keys[] = {
		{ 'A', 0, CLI_KEY_UP }, { 'B', 0, CLI_KEY_DOWN },
		{ 'C', 0, CLI_KEY_RIGHT }, { 'D', 0, CLI_KEY_LEFT },
		{ 'H', 0, CLI_KEY_HOME }, { 'F', 0, CLI_KEY_END },
		{ '~', '1', CLI_KEY_HOME }, { '~', '7', CLI_KEY_HOME },
		{ '~', '4', CLI_KEY_END }, { '~', '8', CLI_KEY_END },
		{ '~', '5', CLI_KEY_PAGE_UP }, { '~', '6', CLI_KEY_PAGE_DOWN },
	};
	size_t i;

	for (i = 0; i < CLI_ARRAY_SIZE(keys); i++) {
		if (keys[i].last == last &&
		    (last != '~' || keys[i].number == number))
			return keys[i].key;
	}
	return CLI_KEY_NONE;
}

int cli_key_decode(const unsigned char *s, size_t n, size_t *used_ret)
{
	size_t i = 2;

	*used_ret = n && s[0] != '\033';
	if (*used_ret)
		return s[0];
	if (n < 2)
		return CLI_KEY_NONE;
	if (s[1] != '[' && s[1] != 'O') {
		/* A key with Alt; or Escape, and another sequence. */
		*used_ret = s[1] == '\033' ? 1 : 2;
		return CLI_KEY_NONE;
	}
	/* Parameters of any number, then what it is. */
	while (i < n && s[i] >= 0x20 && s[i] < 0x40)
		i++;
	if (i == n)
		return CLI_KEY_NONE;
	*used_ret = s[i] < 0x20 ? i : i + 1;
	return key_of(s[i], s[i] == '~' && i != 3 ? 0 : s[2]);
}

static bool can_read(int ms)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, ms) > 0;
}

static int read_key(void)
{
	size_t used;
	ssize_t n;
	int key;

	for (;;) {
		key = cli_key_decode(screen.in, screen.nr_in, &used);
		screen.nr_in -= used;
		memmove(screen.in, screen.in + used, screen.nr_in);
		if (used)
			return key;
		/* Escape alone, or what no key sends. */
		if (screen.nr_in == sizeof(screen.in) ||
		    !can_read(screen.nr_in ? SEQUENCE_MS : 0)) {
			screen.nr_in = 0;
			return CLI_KEY_NONE;
		}
		n = read(STDIN_FILENO, screen.in + screen.nr_in,
			 sizeof(screen.in) - screen.nr_in);
		if (n > 0) {
			screen.nr_in += (size_t)n;
			continue;
		}
		screen.ended = n == 0 || (errno != EINTR && errno != EAGAIN);
		return screen.ended ? CLI_SCREEN_END : CLI_SCREEN_RESIZED;
	}
}

int cli_screen_wait(uint64_t until_ns)
{
	struct pollfd fds[3] = {
		{ .fd = cli_signal_fd(), .events = POLLIN },
		{ .fd = screen.wake[0], .events = POLLIN },
		{ .fd = screen.have_keys && !screen.ended ? STDIN_FILENO : -1,
		  .events = POLLIN },
	};
	uint64_t now;
	char drop[64];

	for (;;) {
		now = now_ns();
		if (cli_signal_received())
			return CLI_SCREEN_END;
		if (screen.nr_in)
			return read_key();
		if (now >= until_ns)
			return CLI_SCREEN_TIME;
		if (poll(fds, 3, (int)((until_ns - now) / 1000000 + 1)) <= 0)
			continue;
		if (fds[1].revents) {
			while (read(screen.wake[0], drop, sizeof(drop)) > 0)
				;
			return CLI_SCREEN_RESIZED;
		}
		if (fds[2].revents)
			return read_key();
	}
}
