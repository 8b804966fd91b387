/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "child.h"

const char *child_self(void)
{
	return "/proc/self/exe";
}

static void read_all(int fd, char *out, size_t cap)
{
	char rest[512];
	size_t n = 0;
	ssize_t r;

	for (;;) {
		if (n < cap - 1)
			r = read(fd, out + n, cap - 1 - n);
		else
			r = read(fd, rest, sizeof(rest));
		if (r <= 0)
			break;
		if (n < cap - 1)
			n += (size_t)r;
	}
	out[n] = 0;
}

int child_run(const char *const *argv, struct child *out)
{
	int ends[2];
	pid_t pid;

	memset(out, 0, sizeof(*out));
	if (pipe(ends))
		return -1;
	fflush(stdout);
	out->begun_ns = clock_ns();
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execv(argv[0], (char **)argv);
		_exit(127);
	}
	close(ends[1]);
	if (pid > 0)
		read_all(ends[0], out->text, sizeof(out->text));
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &out->status, 0) != pid)
		return -1;
	out->wall_ns = clock_ns() - out->begun_ns;
	return 0;
}

double child_value(const struct child *c, const char *key)
{
	size_t n = strlen(key);
	const char *line;

	for (line = c->text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0 && line[n] == ' ')
			return strtod(line + n, NULL);
	}
	return -1;
}

void child_say(const char *key, double value)
{
	printf("%s %.17g\n", key, value);
	fflush(stdout);
}

u64 child_peak_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmHWM: %llu", &kb) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kb * 1024;
}
