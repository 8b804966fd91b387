/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks. clock_gettime() cannot fail for these ids and valid pointers, so
 * there is no error to hand on.
 */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

u64 clock_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

void clock_wall(s64 *sec, u32 *nsec)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	*sec = ts.tv_sec;
	*nsec = (u32)ts.tv_nsec;
}

/* Of "0123abcd-..." the hex digits; false if there are not 32. */
static bool parse_boot(const char *text, size_t n, u8 out[16])
{
	static const char digits[] = "0123456789abcdef";
	unsigned nr = 0;
	const char *at;
	size_t i;

	for (i = 0; i < n && nr < 32; i++) {
		if (text[i] == '-')
			continue;
		at = text[i] ? strchr(digits, text[i]) : NULL;
		if (!at)
			return false;
		out[nr / 2] = (u8)(out[nr / 2] << 4 | (at - digits));
		nr++;
	}
	return nr == 32;
}

void clock_read(struct clock_reading *out)
{
	struct timespec ts = { 0 };
	char text[64];
	ssize_t n = 0;
	u32 nsec;
	int fd;

	memset(out, 0, sizeof(*out));
	clock_wall(&out->wall_sec, &nsec);
	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	out->boot_ns = (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
	fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text));
		(void)close(fd);	/* was only read */
	}
	if (n <= 0 || !parse_boot(text, (size_t)n, out->boot))
		memset(out->boot, 0, sizeof(out->boot));
}
