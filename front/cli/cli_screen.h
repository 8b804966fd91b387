/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole terminal, for as long as something is shown on it.
 *
 * Plain control sequences that every terminal of the last thirty years knows
 * (ECMA-48 and the other screen of xterm): frames are drawn from top to bottom,
 * and a library would save nothing but these few.
 *
 * However the process ends, the terminal is as it was: on return, on exit(), on
 * every signal that can be caught, and while it is stopped. The state is the
 * process's: there is one terminal.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include "cli_str.h"

/* Standard output is a terminal that can do this. */
bool cli_screen_possible(void);
/* Keys come one by one if standard input is a terminal, too. */
void cli_screen_open(void);
void cli_screen_close(void);

/* Of the terminal now; 80 and 24 where it does not tell. */
void cli_screen_size(unsigned *columns_ret, unsigned *lines_ret);
/* Replaces what is shown; lines end with '\n', none is wider than the screen
 * and there are no more than it has. */
void cli_screen_draw(const struct cli_str *frame);

enum {
	CLI_SCREEN_TIME = 0,	/* it is @until_ns */
	CLI_SCREEN_RESIZED = -1,	/* or continued: draw again */
	CLI_SCREEN_END = -2,	/* a signal came, or standard input ended */
};
/* Keys that are more than a byte. */
enum {
	CLI_KEY_NONE = 256,	/* pressed, and means nothing */
	CLI_KEY_UP, CLI_KEY_DOWN, CLI_KEY_LEFT, CLI_KEY_RIGHT,
	CLI_KEY_PAGE_UP, CLI_KEY_PAGE_DOWN, CLI_KEY_HOME, CLI_KEY_END,
};
/* A byte, a CLI_KEY, or one of the CLI_SCREENs. */
int cli_screen_wait(uint64_t until_ns);

/* The key that @n bytes of input begin with, and how many of them it is: 0 if
 * it is not all there yet. */
int cli_key_decode(const unsigned char *s, size_t n, size_t *used_ret);

#endif
