/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing strings and lists of the command line.
 *
 * Nothing here fails: without memory for a line of text the program says so
 * and ends with exit code 1. The engine's memory is another matter; it is
 * budgeted, and its failures are errors that come back.
 */
#ifndef CLI_STR_H
#define CLI_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define CLI_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void *cli_alloc(size_t n);		/* zeroed */
void *cli_realloc(void *p, size_t n);
char *cli_strdup(const char *s);

/* Zeroed = empty. @s is NUL-terminated once anything was added. */
struct cli_str {
	char *s;
	size_t len, cap;
};

void cli_str_release(struct cli_str *b);
void cli_str_reset(struct cli_str *b);
void cli_str_add(struct cli_str *b, const char *s);
void cli_str_addn(struct cli_str *b, const void *s, size_t n);
void cli_str_addc(struct cli_str *b, char c);
void cli_str_addf(struct cli_str *b, const char *fmt, ...) CLI_PRINTF(2, 3);
/* Never NULL. */
const char *cli_str_text(const struct cli_str *b);

/* Zeroed = empty. The strings are borrowed unless said otherwise. */
struct cli_list {
	const char **v;
	uint32_t nr, cap;
};

void cli_list_add(struct cli_list *l, const char *s);
/* Frees the array only. */
void cli_list_release(struct cli_list *l);
/* Frees the strings too. */
void cli_list_free_all(struct cli_list *l);

#endif
