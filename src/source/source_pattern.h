/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns that choose paths: --exclude, --include and pattern files.
 *
 * A pattern is a glob over bytes:
 *   *       any bytes but '/'
 *   ?       one byte but '/'
 *   [a-z]   one byte of a set; [!a-z] or [^a-z] one not in it; never '/'
 *   **      as a whole component: any number of components, also none;
 *           elsewhere: any bytes, '/' too
 *   \x      the byte x itself
 * What it is held against:
 *   name      no '/' in it: the last component of any path
 *   dir/name  a '/' inside: the last components of any path
 *   /dir/name a '/' in front: the absolute path
 *   name/     a '/' behind: directories only
 *   !pattern  takes back what an earlier pattern matched
 * The last pattern that fits decides. A match of a directory says nothing of
 * what is below it: a walk does not enter an excluded directory, and whoever
 * matches single paths uses pattern_set_match_above().
 *
 * A set is built by one thread; matching is thread safe.
 */
#ifndef SOURCE_PATTERN_H
#define SOURCE_PATTERN_H

#include "base/diag.h"
#include "base/types.h"

/* Longer patterns than any path of interest; keeps hostile files small. */
#define PATTERN_MAX_BYTES 4096
/* Bytes of a pattern file. */
#define PATTERN_FILE_MAX (16 * MiB)

struct pattern_set;

/* Empty; NULL if memory is short. */
struct pattern_set *pattern_set_new(void) __must_check;
/* NULL is fine. */
void pattern_set_free(struct pattern_set *set);
/*
 * Adds one pattern; @text is borrowed. -AKIN_E_usage if it is none: empty,
 * an unclosed or empty set, a range backwards, a '\' at the end, a component
 * that no path has (empty, "." or ".."). On failure nothing changes.
 */
int pattern_set_add(struct pattern_set *set, const char *text,
		    struct akin_diag *diag) __must_check;
/*
 * Adds the patterns in the file @path, one a line. Blank lines and lines that
 * start with '#' are skipped ("\#" and "\!" are the bytes themselves); spaces
 * and CR at the end of a line are dropped unless the space is escaped. Errors
 * name file and line; earlier lines stay added.
 */
int pattern_set_add_file(struct pattern_set *set, const char *path,
			 struct akin_diag *diag) __must_check;
size_t pattern_set_count(const struct pattern_set *set);

/* @path is absolute, without a '/' at the end. An empty set matches nothing. */
bool pattern_set_match(const struct pattern_set *set, const char *path,
		       bool is_dir) __must_check;
/* True if @path or a directory above it matches. */
bool pattern_set_match_above(const struct pattern_set *set, const char *path,
			     bool is_dir) __must_check;
/*
 * False only if nothing below the directory @path can match: tells a walk that
 * looks for included paths where it need not go.
 */
bool pattern_set_may_match_below(const struct pattern_set *set,
				 const char *path) __must_check;

#endif
