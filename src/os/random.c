/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/random.h>

#include "os/random.h"

int random_bytes(void *out, size_t n, struct akin_diag *diag)
{
	u8 *p = out;
	ssize_t r;

	while (n) {
		r = getrandom(p, n, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return diag_set_errno(diag, error_from_errno(errno),
					      errno, "random numbers");
		p += r;
		n -= (size_t)r;
	}
	return 0;
}
