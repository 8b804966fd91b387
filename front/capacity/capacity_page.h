/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of calculators: its files, and serving them on this machine.
 */
#ifndef CAPACITY_PAGE_H
#define CAPACITY_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct capacity_page_file {
	const char *name;
	const unsigned char *data;
	size_t len;
};

/* Ends with a NULL name; nothing else if the page was not built (that takes
 * clang and wasm-ld). */
extern const struct capacity_page_file capacity_page_files[];

/*
 * A server for the page on 127.0.0.1, in a thread of its own. @port 0: any that
 * is free. NULL, and in errno why: ENOSYS without libmicrohttpd.
 */
struct capacity_server;
struct capacity_server *capacity_server_new(unsigned port);
unsigned capacity_server_port(const struct capacity_server *s);
void capacity_server_free(struct capacity_server *s);

#endif
