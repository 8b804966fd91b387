/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In place of the server where there is no libmicrohttpd.
 */
#include <errno.h>

#include "capacity_page.h"

struct capacity_server *capacity_server_new(unsigned port)
{
	errno = ENOSYS;
	return NULL;
}

unsigned capacity_server_port(const struct capacity_server *s)
{
	return 0;
}

void capacity_server_free(struct capacity_server *s)
{
}
