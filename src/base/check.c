/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

static void say(const char *s)
{
	/* Nothing can be done about a failure here: the process is ending. */
	ssize_t n = write(STDERR_FILENO, s, strlen(s));

	(void)n;
}

void check_failed(const char *expr, const char *file, int line)
{
	char digits[12];
	char *p = digits + sizeof(digits) - 1;

	*p = 0;
	do {
		*--p = (char)('0' + line % 10);
		line /= 10;
	} while (line && p > digits);
	say("akin: assertion failed: ");
	say(expr);
	say(" at ");
	say(file);
	say(":");
	say(p);
	say("\n");
	abort();
}
