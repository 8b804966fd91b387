/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session relies on: the containers it matched or referred to, and how
 * its checkpoints and commit revive them if they have been condemned meanwhile
 * (docs/design/protocol.md). By container, not by place: that takes one bit for
 * each, and at worst keeps a generation until the next reclaim.
 */
#include "container/container_reader.h"
#include "ingest/session_internal.h"

void session_touch(struct session *s, u64 container)
{
	pthread_mutex_lock(&s->touch_lock);
	if (numset_add(&s->touched, container))
		s->touch_failed = true;
	pthread_mutex_unlock(&s->touch_lock);
}

void session_touch_refs(struct session *s, const struct group_header *g)
{
	u32 i;

	for (i = 0; i < g->nr_refs; i++)
		session_touch(s, g->refs[i].container);
}

static bool uses(void *ctx, u64 container)
{
	struct session *s = ctx;
	bool yes;

	pthread_mutex_lock(&s->touch_lock);
	yes = s->touch_failed || numset_has(&s->touched, container);
	pthread_mutex_unlock(&s->touch_lock);
	return yes;
}

static int bases(void *ctx, u64 container, u32 generation,
		 int (*fn)(void *call, u64 base), void *call,
		 struct akin_diag *diag)
{
	const struct directory *dir;
	struct container_reader *r;
	struct session *s = ctx;
	u32 i;
	int err;

	/* Not through the cache, which asks the catalog. */
	err = container_open(s->depot->data, &s->depot->super.pool, container,
			     generation, &r, diag);
	if (err)
		return err;
	dir = container_directory(r);
	for (i = 0; !err && i < dir->nr_bases; i++)
		err = fn(call, dir->bases[i]);
	container_close(r);
	return err;
}

struct catalog_reviver session_reviver(struct session *s)
{
	struct catalog_reviver by = { .view = s->view, .uses = uses,
				      .bases = bases, .ctx = s };

	return by;
}
