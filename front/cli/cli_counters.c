/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_counters.h"
#include "cli_str.h"

static int add(void *ctx, const struct akin_counters_process *c)
{
	struct cli_processes *ps = ctx;
	struct cli_process *p;

	if (c->pid == (uint32_t)getpid())
		return 0;
	if (ps->nr == ps->cap) {
		ps->cap = ps->cap ? ps->cap * 2 : 8;
		ps->v = cli_realloc(ps->v, ps->cap * sizeof(*ps->v));
	}
	p = &ps->v[ps->nr++];
	memcpy(p->pool, c->pool, sizeof(p->pool));
	p->pid = c->pid;
	p->uid = c->uid;
	p->handle = c->handle;
	p->opened_sec = c->opened_sec;
	p->closed = c->closed;
	p->nr_streams = c->nr_streams;
	p->streams = cli_alloc((c->nr_streams + 1) * sizeof(*p->streams));
	memcpy(p->streams, c->streams, c->nr_streams * sizeof(*p->streams));
	memcpy(p->command, c->command, sizeof(p->command));
	memcpy(p->values, c->values, sizeof(p->values));
	return 0;
}

static void drop(struct cli_processes *ps)
{
	while (ps->nr)
		free(ps->v[--ps->nr].streams);
}

void cli_processes_read(struct cli_processes *ps, const char *pool)
{
	drop(ps);
	akin_counters_each(pool, add, ps);
}

void cli_processes_release(struct cli_processes *ps)
{
	drop(ps);
	free(ps->v);
	memset(ps, 0, sizeof(*ps));
}

uint32_t cli_processes_open(const struct cli_processes *ps)
{
	uint32_t i, nr = 0;

	for (i = 0; i < ps->nr; i++)
		nr += !ps->v[i].closed;
	return nr;
}

const struct cli_process *cli_process_before(const struct cli_processes *ps,
					     const struct cli_process *p)
{
	const struct cli_process *b;
	uint32_t i;

	for (i = 0; i < ps->nr; i++) {
		b = &ps->v[i];
		if (b->pid == p->pid && b->handle == p->handle &&
		    b->opened_sec == p->opened_sec &&
		    strcmp(b->pool, p->pool) == 0)
			return b;
	}
	return NULL;
}
