/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves the page with libmicrohttpd; see capacity_page.h.
 *
 * Five files from memory, on the loopback address only, to whoever asks with
 * GET or HEAD. Nothing of a request is looked at but method and path.
 *
 * The library is loaded when it is needed: with what it brings along, nine
 * libraries for encryption and names, it would double the time that every other
 * command takes to start.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "capacity_page.h"

#define CONNECTIONS 32
#define TIMEOUT_SECONDS 10

/* By the version of the header's interface. */
#define LIBRARY "libmicrohttpd.so.12"

/* Its functions by their names, less "MHD_". */
struct library {
	void *handle;
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_get_daemon_info) get_daemon_info;
	__typeof__(&MHD_create_response_from_buffer) create_response;
	__typeof__(&MHD_add_response_header) add_response_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
};

struct capacity_server {
	struct library lib;
	struct MHD_Daemon *daemon;
	unsigned port;
};

static bool library_open(struct library *lib)
{
	const struct { const char *name; void *to; } symbols[] = {
		{ "MHD_start_daemon", &lib->start_daemon },
		{ "MHD_stop_daemon", &lib->stop_daemon },
		{ "MHD_get_daemon_info", &lib->get_daemon_info },
		{ "MHD_create_response_from_buffer", &lib->create_response },
		{ "MHD_add_response_header", &lib->add_response_header },
		{ "MHD_queue_response", &lib->queue_response },
		{ "MHD_destroy_response", &lib->destroy_response },
	};
	void *symbol;
	size_t i;

	lib->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!lib->handle)
		return false;
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		symbol = dlsym(lib->handle, symbols[i].name);
		if (!symbol) {
			dlclose(lib->handle);
			return false;
		}
		/* ISO C has no conversion to pointers to functions. */
		memcpy(symbols[i].to, &symbol, sizeof(symbol));
	}
	return true;
}

static const char *type_of(const char *name)
{
	const char *end = strrchr(name, '.');

	if (strcmp(end, ".html") == 0)
		return "text/html; charset=utf-8";
	if (strcmp(end, ".css") == 0)
		return "text/css; charset=utf-8";
	return "text/javascript; charset=utf-8";
}

static enum MHD_Result reply(const struct library *lib,
			     struct MHD_Connection *c, unsigned status,
			     const void *data, size_t len, const char *type)
{
	static const char *const headers[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "Cache-Control", "no-cache" },
		{ "Content-Security-Policy", "default-src 'none'; script-src "
		  "'self' 'wasm-unsafe-eval'; style-src 'self'; img-src data:; "
		  "frame-ancestors 'none'; base-uri 'none'; form-action "
		  "'none'" },
	};
	struct MHD_Response *r;
	enum MHD_Result ret;
	size_t i;

	r = lib->create_response(len, (void *)(uintptr_t)data,
				 MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	lib->add_response_header(r, "Content-Type", type);
	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		lib->add_response_header(r, headers[i][0], headers[i][1]);
	ret = lib->queue_response(c, status, r);
	lib->destroy_response(r);
	return ret;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *data_len, void **state)
{
	static const char absent[] = "no such file\n", refused[] = "GET only\n";
	const struct capacity_server *s = ctx;
	const struct capacity_page_file *f;

	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return reply(&s->lib, c, MHD_HTTP_METHOD_NOT_ALLOWED, refused,
			     sizeof(refused) - 1, "text/plain");
	if (strcmp(url, "/") == 0)
		url = "/index.html";
	for (f = capacity_page_files; f->name; f++) {
		if (strcmp(url + 1, f->name) == 0)
			return reply(&s->lib, c, MHD_HTTP_OK, f->data, f->len,
				     type_of(f->name));
	}
	return reply(&s->lib, c, MHD_HTTP_NOT_FOUND, absent,
		     sizeof(absent) - 1, "text/plain");
}

struct capacity_server *capacity_server_new(unsigned port)
{
	struct capacity_server *s = calloc(1, sizeof(*s));
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	const union MHD_DaemonInfo *info;
	int err;

	if (!s)
		return NULL;
	if (!library_open(&s->lib)) {
		free(s);
		errno = ENOSYS;
		return NULL;
	}
	errno = 0;
	s->daemon = s->lib.start_daemon(MHD_USE_INTERNAL_POLLING_THREAD,
					(uint16_t)port, NULL, NULL, on_request,
					s, MHD_OPTION_SOCK_ADDR, &at,
					MHD_OPTION_CONNECTION_LIMIT,
					CONNECTIONS,
					MHD_OPTION_CONNECTION_TIMEOUT,
					TIMEOUT_SECONDS, MHD_OPTION_END);
	if (!s->daemon) {
		if (!errno)
			errno = EIO;
		err = errno;
		dlclose(s->lib.handle);
		free(s);
		errno = err;
		return NULL;
	}
	info = s->lib.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	s->port = info ? info->port : port;
	return s;
}

unsigned capacity_server_port(const struct capacity_server *s)
{
	return s->port;
}

void capacity_server_free(struct capacity_server *s)
{
	if (!s)
		return;
	s->lib.stop_daemon(s->daemon);
	dlclose(s->lib.handle);
	free(s);
}
