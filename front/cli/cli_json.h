/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Lines: one object a line, each with a "type".
 *
 * Own code, because records stream (a library would build a tree for each) and
 * because names are bytes: a string that is not valid UTF-8 comes with
 * U+FFFD in place of the bytes in question and is followed by KEY_hex with
 * the exact bytes. Libraries refuse such strings.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdio.h>

#include "cli_str.h"

/* Zeroed = ready. One line at a time. */
struct cli_json {
	struct cli_str out;
	bool comma;		/* something stands before the next item */
};

void cli_json_begin(struct cli_json *j, const char *type);
/* A text that is no name: invalid bytes are replaced, and that is all. */
void cli_json_text(struct cli_json *j, const char *key, const char *s);
void cli_json_bytes(struct cli_json *j, const char *key, const void *s,
		    size_t n);
void cli_json_name(struct cli_json *j, const char *key, const char *s);
void cli_json_int(struct cli_json *j, const char *key, int64_t v);
void cli_json_uint(struct cli_json *j, const char *key, uint64_t v);
void cli_json_bool(struct cli_json *j, const char *key, bool v);
/* @a / @b with six decimals; left out if @b is 0. */
void cli_json_ratio(struct cli_json *j, const char *key, uint64_t a,
		    uint64_t b);
/* Seconds with a fraction. */
void cli_json_seconds(struct cli_json *j, const char *key, uint64_t ns);
/* KEY as ISO 8601 (left out if it has none), KEY_sec and KEY_nsec. */
void cli_json_time(struct cli_json *j, const char *key, int64_t sec,
		   uint32_t nsec);
/* An array; KEY_hex with all of them if one is not valid UTF-8. */
void cli_json_names(struct cli_json *j, const char *key,
		    const char *const *v, uint32_t nr);
/* Writes the line. */
void cli_json_end(struct cli_json *j, FILE *f);
void cli_json_release(struct cli_json *j);

/* The string with its quotes; invalid bytes become U+FFFD. */
void cli_json_string(struct cli_str *out, const char *s, size_t n);

#endif
