/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows any on-disk structure, through format/ alone: nothing of a pool is
 * opened, locked or needed but the one file.
 */
#ifndef INSPECT_H
#define INSPECT_H

#include <stdbool.h>
#include <stdio.h>

#include "akin/error.h"

/*
 * Print what the file at @path is and holds to @out, one line a thing: its
 * offset, what it is, and key=value fields (text), or a JSON object with the
 * keys "off" and "what" first. Byte strings are escaped reversibly: printable
 * ASCII stands for itself, backslash, double quote and all other bytes are
 * \xNN; in JSON the escaped text is the value.
 *
 * Of damaged files, everything that is sound is printed, and a line "damage"
 * for everything that is not. Returns the code of the first damage, the
 * message names file, offset and structure. -AKIN_E_bad_magic if it is no
 * structure of akin; codes of I/O as they come.
 */
int inspect_file(const char *path, bool json, FILE *out,
		 struct akin_diag *diag);

#endif
