/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running comparison of a snapshot with live data; shared by
 * store_compare.c (the walk) and store_compare_files.c (contents, and what is
 * told in which order).
 */
#ifndef STORE_COMPARE_H
#define STORE_COMPARE_H

#include "restore/fetcher.h"
#include "source/source_pattern.h"
#include "store/store.h"
#include "store/store_live.h"
#include "tree/tree_reader.h"

/* A pair of directories. */
struct compare_pair {
	struct compare_pair *up;
	struct tree_reader *reader;
	const struct node *node;	/* one ahead; NULL: at the end */
	const struct hint *hint;
	/* NULL: the snapshot knows only what leads to its paths, so nothing
	 * that is live is too much. */
	struct source_dir *dir;
	const char *name;	/* one ahead; NULL: at the end */
	size_t path_len;
};

struct compare_told;

struct compare {
	struct akin_pool *p;
	const struct akin_compare_options *opt;
	struct akin_compare_result *out;
	struct snapshot snap;
	struct pattern_set *excludes;
	struct source_walk *walk;
	struct compare_pair *top;
	struct buf path;	/* in the snapshot */

	/* Contents run behind the walk, as far as the fetcher's window goes. */
	struct fetcher *fetcher;
	struct counters_stream *shown;	/* to others; may be NULL */
	struct live_compare live;
	struct compare_told *current;	/* the file that is compared */
	u32 nr_open;		/* live files on the way */
	u64 start_ns, next_report_ns;
};

int compare_files_open(struct compare *c, struct akin_diag *diag) __must_check;
void compare_files_close(struct compare *c);
/* Tell of @path, in its turn. @code and @text only of kind '!'. */
int compare_tell(struct compare *c, enum akin_diff_kind kind, const char *path,
		 int code, const char *text, struct akin_diag *diag)
	__must_check;
/*
 * Compare the content of @n with @f (taken). @metadata: they differ otherwise,
 * which is told if the content is equal.
 */
int compare_file(struct compare *c, const struct node *n,
		 const struct hint *hint, struct source_file *f, bool metadata,
		 struct akin_diag *diag) __must_check;

/* store_diff.c: of pools with the same keys. */
bool store_same_content(const struct content *a, const struct content *b);
/* store_diff.c: times of change, numbers of inodes and devices are no change. */
bool store_same_metadata(const struct node *a, const struct node *b);

#endif
