/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ahead reading: what is wanted goes in, in order; data comes out, in the
 * same order, with each group read and decoded once within the window.
 *
 * The caller pushes a file's recipe entries and marks of its own; workers read
 * and decode the groups behind them; when the window is full, the oldest items
 * are emitted from within the push. So the caller runs ahead of its own output
 * by up to the window's bytes.
 *
 * One thread pushes and gets the callbacks.
 */
#ifndef RESTORE_FETCHER_H
#define RESTORE_FETCHER_H

#include "depot/depot.h"
#include "format/format_recipe.h"

struct fetcher;

struct fetcher_options {
	size_t window_bytes;	/* of decoded groups */
	struct counters_stream *shown;	/* where what comes out is counted;
					 * borrowed, may be NULL */
	/*
	 * Bytes of the current file. @err: this piece could not be read (its
	 * reason in @why), @data is NULL and @len bytes are missing. A
	 * non-zero return ends everything with that code.
	 */
	int (*data)(void *ctx, const u8 *data, u64 len, int err,
		    const struct akin_diag *why, struct akin_diag *diag);
	int (*hole)(void *ctx, u64 len, struct akin_diag *diag);
	int (*mark)(void *ctx, int what, void *token, struct akin_diag *diag);
	/* A token that will not be delivered. May be NULL. */
	void (*drop)(void *ctx, int what, void *token);
	void *ctx;
};

int fetcher_new(struct depot *d, struct decoder *dec,
		const struct fetcher_options *opt, struct fetcher **out,
		struct akin_diag *diag) __must_check;
/* Drops what has not been emitted. NULL is fine. */
void fetcher_free(struct fetcher *f);

int fetcher_mark(struct fetcher *f, int what, void *token,
		 struct akin_diag *diag) __must_check;
/* All of a content, or the part of it from @off on, @len bytes. */
int fetcher_content(struct fetcher *f, const struct content *ct,
		    const struct hint *hint, u64 off, u64 len,
		    struct akin_diag *diag) __must_check;
/* Emit everything that was pushed. */
int fetcher_drain(struct fetcher *f, struct akin_diag *diag) __must_check;

#endif
