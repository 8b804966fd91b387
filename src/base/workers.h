/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed crew of threads with one queue.
 *
 * Work items are embedded in what they work on and run in the order they were
 * queued, each on some thread, with that thread's own context (codec contexts
 * and the like, made by the crew's owner). The queue has no bound: who queues
 * bounds what he queues.
 *
 * Thread safety: workers_queue and workers_cancel from any thread, also from a
 * work item.
 */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include "base/diag.h"
#include "base/types.h"

struct work {
	void (*run)(struct work *w, void *thread_ctx);
	struct work *next;
};

struct workers;

struct workers_options {
	unsigned nr_threads;
	/* Make and drop a thread's context; may be NULL. */
	int (*ctx_new)(void *arg, void **out, struct akin_diag *diag);
	void (*ctx_free)(void *thread_ctx);
	void *arg;
};

int workers_new(const struct workers_options *opt, struct workers **out,
		struct akin_diag *diag) __must_check;
/* Runs what is queued, then ends. NULL is fine. */
void workers_free(struct workers *ws);
void workers_queue(struct workers *ws, struct work *w);
/* Take @w back if no thread has begun with it; false: it runs, or ran. */
bool workers_cancel(struct workers *ws, struct work *w);
unsigned workers_nr(const struct workers *ws);

#endif
