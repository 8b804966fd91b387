/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hooks are silent: asking the runs on disk for a few of the chunks.
 *
 * Memory holds one fingerprint in so many, so it takes as many chunks before
 * the first one of a stream is known, or of a piece that was moved, and all
 * before it would be stored again. A long run of chunks that nobody knows is
 * therefore asked for on disk: a few of its chunks, one after the other until
 * one is found, a page of each run for each. Its directory knows the chunks
 * around it, and it leads to the predecessor.
 *
 * Data that is really new is asked for in vain. So after each failure the next
 * try comes twice as late, and sooner again when one succeeds.
 */
#include "follow/follow_internal.h"

/* Chunks in a row: shorter runs are mostly changes between known ones. */
#define RUN_MIN 6
/* Of a run: where half of the chunks are known, one of these is. */
#define PROBES 8
#define PROBE_PAUSE_MIN (512 * KiB)
#define PROBE_PAUSE_MAX (64 * MiB)
/* Copies of one chunk. */
#define PLACES_MAX 4

static bool is_unknown(const struct follow *f, const struct dir_hit *hits,
		       u32 k)
{
	return !hits[k].container && f->chunks[k].old < 0;
}

/* The longest run of chunks that neither memory nor the window knows. */
static u32 longest_run(const struct follow *f, const struct dir_hit *hits,
		       u32 *first_ret)
{
	u32 best = 0, nr = 0, k;

	for (k = 0; k < f->nr; k++) {
		nr = is_unknown(f, hits, k) ? nr + 1 : 0;
		if (nr > best) {
			best = nr;
			*first_ret = k + 1 - nr;
		}
	}
	return best;
}

static bool find_on_disk(struct follow *f, u32 k, struct dir_hit *out)
{
	struct depot *d = f->depot;
	struct place at[PLACES_MAX];
	u32 nr, i;

	f->stats.probes++;
	if (index_lookup_disk(d->index, &f->fps[k], at, PLACES_MAX, &nr, NULL))
		return false;
	for (i = 0; i < nr; i++) {
		if (!dircache_has(d->dirs, at[i].container) &&
		    !follow_may_load(f))
			continue;
		if (!dircache_verify(d->dirs, &at[i], &f->fps[k], out, NULL) &&
		    out->container && out->len == f->chunks[k].len &&
		    !depot_is_damaged(d, out->container, out->entry))
			return true;
	}
	out->container = 0;
	return false;
}

/* What that directory knows of the others. */
static void find_around(struct follow *f, struct dir_hit *hits)
{
	struct dir_hit hit;
	u32 k;

	for (k = 0; k < f->nr; k++) {
		if (!is_unknown(f, hits, k))
			continue;
		dircache_lookup(f->depot->dirs, &f->fps[k], 1, &hit);
		if (hit.container && hit.len == f->chunks[k].len &&
		    !depot_is_damaged(f->depot, hit.container, hit.entry)) {
			hits[k] = hit;
			f->chunks[k].missing = false;
			f->stats.found++;
		}
	}
}

/* With similarity nobody asks the index; and a whole one has been asked. */
bool follow_may_probe(const struct follow *f)
{
	struct index_stats st;

	if (f->fed < f->next_probe ||
	    f->depot->engine == SUPER_ENGINE_SIMILARITY)
		return false;
	index_get_stats(f->depot->index, &st);
	return st.sample_shift > 0;
}

bool follow_probe(struct follow *f, struct dir_hit *hits)
{
	u32 first = 0, nr, i;
	bool found = false;

	nr = longest_run(f, hits, &first);
	if (nr < RUN_MIN || !follow_may_probe(f))
		return false;
	for (i = 0; i < PROBES && !found; i++)
		found = find_on_disk(f, first + i * nr / PROBES,
				     &hits[first + i * nr / PROBES]);
	if (!found) {
		f->next_probe = f->fed + f->probe_pause;
		f->probe_pause = min_u64(2 * f->probe_pause, PROBE_PAUSE_MAX);
		return false;
	}
	f->probe_pause = max_u64(f->probe_pause / 4, PROBE_PAUSE_MIN);
	f->chunks[first + (i - 1) * nr / PROBES].missing = false;
	f->stats.found++;
	find_around(f, hits);
	/* We are somewhere else, and it is not known where that leads. */
	f->next_lead = f->fed;
	return true;
}
