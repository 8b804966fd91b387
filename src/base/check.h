/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assertions about our own memory, on in release. Never about bytes that were
 * read from a disk, a network or a user: those are errors.
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

void check_failed(const char *expr, const char *file, int line)
	__attribute__((noreturn, cold));

#define akin_assert(expr) \
	((expr) ? (void)0 : check_failed(#expr, __FILE__, __LINE__))

#ifdef AKIN_DCHECK
#define akin_dcheck(expr) akin_assert(expr)
#else
#define akin_dcheck(expr) ((void)sizeof((expr) ? 1 : 0))
#endif

#endif
