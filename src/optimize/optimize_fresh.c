/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second depot on the same pool that can open none but fresh containers. What
 * is looked up in it is found only where it has been stored anew, and what is
 * compressed against something in it cannot refer to anything old: O2 needs no
 * further care.
 *
 * It shares the index, which says the newest place it knows; where that is not
 * fresh, nothing is.
 */
#include "optimize/optimize_internal.h"

static int generation(void *ctx, u64 container, u32 *generation_ret,
		      struct akin_diag *diag)
{
	struct fresh *f = ctx;
	bool is_fresh;

	pthread_mutex_lock(&f->lock);
	is_fresh = numset_has(&f->set, container);
	pthread_mutex_unlock(&f->lock);
	if (!is_fresh)
		return diag_set(diag, -AKIN_E_absent, "container %llu is not "
				"of this run", (unsigned long long)container);
	return f->opt->generation(f->opt->generation_ctx, container,
				  generation_ret, diag);
}

int fresh_init(struct fresh *f, const struct optimize_options *opt,
	       struct akin_diag *diag)
{
	struct depot_options dopt = {
		.dircache_bytes = opt->fresh_dirs_bytes,
		.groupcache_bytes = opt->fresh_groups_bytes,
		.nr_threads = opt->nr_threads,
		.counters = opt->depot->counters,
		.generation = generation,
		.generation_ctx = f,
		.data_hash = opt->data_hash,
	};
	int err;

	pthread_mutex_init(&f->lock, NULL);
	f->opt = opt;
	err = depot_init(&f->depot, opt->depot->meta, opt->depot->data,
			 &opt->depot->super, &dopt, diag);
	if (err)
		return err;
	f->have_depot = true;
	f->depot.index = opt->depot->index;
	f->depot.refresh = opt->depot->refresh;
	f->depot.refresh_ctx = opt->depot->refresh_ctx;
	return 0;
}

void fresh_release(struct fresh *f)
{
	if (f->have_depot)
		depot_release(&f->depot);
	f->have_depot = false;
	numset_release(&f->set);
	pthread_mutex_destroy(&f->lock);
}

int fresh_add(struct fresh *f, u64 container)
{
	int err;

	if (container == f->last)
		return 0;
	pthread_mutex_lock(&f->lock);
	err = numset_add(&f->set, container);
	pthread_mutex_unlock(&f->lock);
	f->last = container;
	return err;
}
