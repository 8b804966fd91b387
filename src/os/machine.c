/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "os/clock.h"
#include "os/machine.h"

/* 0 in containers and elsewhere where nobody has given it one. */
static u64 read_id(void)
{
	char text[64];
	ssize_t n;
	int fd;

	fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text));
	(void)close(fd);	/* was only read */
	/* Before it is set it is "uninitialized". */
	return n >= 32 ? XXH3_64bits(text, 32) : 0;
}

static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '.' || c == '-';
}

void machine_read(struct machine *out)
{
	struct clock_reading now;
	size_t i;

	memset(out, 0, sizeof(*out));
	clock_read(&now);
	memcpy(out->boot, now.boot, sizeof(out->boot));
	out->id = read_id();
	if (gethostname(out->name, sizeof(out->name) - 1))
		out->name[0] = '\0';
	for (i = 0; out->name[i]; i++)
		if (!plain(out->name[i]))
			out->name[i] = '_';
	if (!out->name[0])
		memcpy(out->name, "localhost", sizeof("localhost"));
}

bool machine_same(const struct machine *a, const struct machine *b)
{
	static const u8 unknown[sizeof(a->boot)];

	if (memcmp(a->boot, unknown, sizeof(unknown)) &&
	    memcmp(a->boot, b->boot, sizeof(a->boot)) == 0)
		return true;
	return a->id && a->id == b->id && strcmp(a->name, b->name) == 0;
}
