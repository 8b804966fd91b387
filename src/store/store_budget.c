/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "store/store.h"

/* Program, libraries, catalog, stacks: measured with every cache empty. */
#define FIXED_BYTES (14 * MiB)
/*
 * A worker's, with groups of 128 KiB: codec contexts at level 3 both ways (1.4
 * MiB), a group in byte planes, the prefix that a group is compressed against
 * (three groups), its share of buffers for groups on their way (two). What
 * decoding a chain of references takes besides, one stored group and one prefix
 * for each level, is there only while the groups above wait for it; it comes to
 * less than what level 1 saves: 64 streams with chains of 8 take 39 MiB of 64
 * where the same without references take 35 (tests/memory).
 */
#define THREAD_BYTES (2 * MiB)
#define CACHES_MIN (8 * MiB)
/* The default: its bases fit in what is left when streams have their share. */
#define SHORT_CHAIN 2

int store_budget_split(size_t memory, unsigned nr_threads,
		       struct store_budget *out, struct akin_diag *diag)
{
	size_t left;

	memset(out, 0, sizeof(*out));
	out->total = memory;
	out->fixed = FIXED_BYTES;
	out->threads = nr_threads * THREAD_BYTES;
	if (memory < AKIN_MEMORY_MIN ||
	    memory < out->fixed + out->threads + CACHES_MIN)
		return diag_set(diag, -AKIN_E_usage,
				"--memory: %zu MiB is too little for %u "
				"threads; the least is %zu MiB",
				memory / (size_t)MiB, nr_threads,
				(size_t)max_u64(AKIN_MEMORY_MIN, out->fixed +
						out->threads + CACHES_MIN) /
				(size_t)MiB);
	left = memory - out->fixed - out->threads;
	/* The index first: what it cannot hold is deduplicated later. */
	out->index = left * 5 / 16;
	out->dirs = left * 3 / 16;
	out->groups = left * 4 / 16;
	out->streams = left - out->index - out->dirs - out->groups;
	out->window = out->groups * 2 / 3;
	return 0;
}

void akin_prepare_process(void)
{
	mem_prepare_process();
}

size_t store_reading_memory(const struct store_budget *b)
{
	return b->groups + b->streams / 2;
}

/*
 * Of decoded groups, while a session writes. Long chains need room for half a
 * dozen groups of each level, or bases are decoded again and again
 * (docs/design/references.md).
 */
static size_t writing_groups(const struct store_budget *b, bool compares,
			     u8 depth)
{
	return compares || depth > SHORT_CHAIN ? b->groups : b->groups / 4;
}

size_t store_stream_memory(const struct store_budget *b, bool compares,
			   u8 depth)
{
	return b->streams + b->groups - writing_groups(b, compares, depth);
}

size_t store_take_stream_memory(struct akin_pool *p, bool compares, u8 depth)
{
	groupcache_set_budget(p->depot.groups,
			      writing_groups(&p->budget, compares, depth));
	return store_stream_memory(&p->budget, compares, depth);
}

void store_return_stream_memory(struct akin_pool *p)
{
	groupcache_set_budget(p->depot.groups,
			      store_reading_memory(&p->budget));
}
