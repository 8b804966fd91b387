/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as text: they are bytes, and a terminal must get neither control bytes
 * nor invalid UTF-8, whatever somebody called a file.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "cli_str.h"

/*
 * The code point at @s, of which @n > 0 bytes are left; its length in
 * *len_ret. -1 (and length 1) where there is no valid UTF-8: overlong forms,
 * surrogates and values above U+10FFFF are none.
 */
long cli_utf8_next(const char *s, size_t n, size_t *len_ret);
bool cli_utf8_valid(const char *s, size_t n);

/*
 * Appends the name so that it can be pasted into a shell (bash, zsh, ksh; the
 * $'..' form is POSIX since 2024) and gives the same bytes back: as it is if
 * nothing in it is special, else '..', else $'..' with octal escapes. Control
 * bytes, invalid UTF-8, and code points that move or reorder text on a screen
 * are escaped.
 */
void cli_quote(struct cli_str *out, const char *s, size_t n);

/*
 * Appends a message, which may hold names: the same bytes are escaped, blanks
 * and quotes stay as they are. To be read, not to be pasted.
 */
void cli_plain(struct cli_str *out, const char *s);

/* Columns that printable UTF-8 takes; may be one too many, never too few. */
size_t cli_width(const char *s, size_t n);
/* Appends the end of @s that fits in @columns, "..." in front if it was cut. */
void cli_shorten(struct cli_str *out, const char *s, size_t columns);

#endif
