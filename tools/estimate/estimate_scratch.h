/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What references save: tried out, in a pool that is thrown away.
 *
 * Which stored data a new group is like, how long chains get and what the
 * reading of them is worth is decided in half a dozen modules; a model of them
 * would be wrong where it matters. So the data goes through them: into a pool
 * in a directory of its own, a transaction for each state, with the default
 * parameters. The result is what a pool would take, metadata included.
 *
 * The pool may take so many bytes. If all data together is more than that, even
 * raw, only files (or pieces of 64 MiB of large ones) are taken whose names
 * hash below a limit: the same ones in all states, so that what they have in
 * common stays. When it is full nevertheless, what comes then is left out.
 *
 * Thread safety: as the estimate; the consumer may run on any thread.
 */
#ifndef ESTIMATE_SCRATCH_H
#define ESTIMATE_SCRATCH_H

#include "estimate_internal.h"

/* Made in opt->scratch_dir, of opt->scratch_bytes. */
int estimate_scratch_new(const struct estimate_options *opt,
			 struct estimate_scratch **out,
			 struct akin_diag *diag) __must_check;
/* Removes the pool. NULL is fine. */
void estimate_scratch_free(struct estimate_scratch *s);
struct consumer *estimate_scratch_consumer(struct estimate_scratch *s);
/* A state ends: bytes it added. Nothing may be at work. */
int estimate_scratch_state(struct estimate_scratch *s, u64 *stored_ret,
			   struct akin_diag *diag) __must_check;
int estimate_scratch_finish(struct estimate_scratch *s,
			    struct akin_diag *diag) __must_check;
/* What all of @unique distinct and @bytes bytes would take. */
void estimate_scratch_get(const struct estimate_scratch *s,
			  const struct estimate_result *pool,
			  struct estimate_references *out);

#endif
