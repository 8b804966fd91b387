/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "ingest/refset.h"

void refset_release(struct refset *rs)
{
	mem_free(rs->refs);
	memset(rs, 0, sizeof(*rs));
}

static const struct group_ref *find(const struct refset *rs, u64 container,
				    u32 entry)
{
	const struct group_ref *r;
	u32 i;

	/* Backwards: neighbours mostly meet in the last runs. */
	for (i = rs->nr; i > 0; i--) {
		r = &rs->refs[i - 1];
		if (r->container == container && entry >= r->entry &&
		    entry - r->entry < r->nr)
			return r;
	}
	return NULL;
}

bool refset_has(const struct refset *rs, u64 container, u32 entry)
{
	return find(rs, container, entry) != NULL;
}

/* The first entry from @from on, below @end, that is in a run; else @end. */
static u32 next_taken(const struct refset *rs, u64 container, u32 from,
		      u32 end)
{
	const struct group_ref *r;
	u32 i;

	for (i = 0; i < rs->nr; i++) {
		r = &rs->refs[i];
		if (r->container == container && r->entry >= from &&
		    r->entry < end)
			end = r->entry;
	}
	return end;
}

static int append(struct refset *rs, u64 container, u32 entry, u32 nr)
{
	struct group_ref *r;
	u32 i, cap;

	for (i = rs->nr; i > 0; i--) {
		r = &rs->refs[i - 1];
		if (r->container == container && r->entry + r->nr == entry) {
			r->nr += nr;
			return 0;
		}
	}
	if (rs->nr == GROUP_MAX_REFS)
		return 0;
	if (rs->nr == rs->cap) {
		cap = rs->cap ? rs->cap * 2 : 16;
		r = mem_realloc(rs->refs, cap * sizeof(*r));
		if (!r)
			return -AKIN_E_nomem;
		rs->refs = r;
		rs->cap = cap;
	}
	r = &rs->refs[rs->nr++];
	r->container = container;
	r->entry = entry;
	r->nr = nr;
	return 0;
}

int refset_add(struct refset *rs, const struct group_ref *run)
{
	const struct group_ref *r;
	u32 at = run->entry, stop, end;
	int err = 0;

	if (at >= CONTAINER_MAX_ENTRIES || !run->container)
		return 0;
	end = at + (u32)min_u64(run->nr, CONTAINER_MAX_ENTRIES - at);
	while (!err && at < end) {
		r = find(rs, run->container, at);
		if (r) {
			at = r->entry + r->nr;
			continue;
		}
		stop = next_taken(rs, run->container, at, end);
		err = append(rs, run->container, at, stop - at);
		at = stop;
	}
	return err;
}
