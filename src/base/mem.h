/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one door to the heap.
 *
 * It counts, and on demand it fails (mem_fail_after), so that tests can walk
 * every allocation of a run. All functions are thread safe. A NULL return is
 * an error to handle, never to assert.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/types.h"

void *mem_alloc(size_t size) __must_check;
void *mem_zalloc(size_t size) __must_check;
/* Zeroed array; NULL if n * size overflows. */
void *mem_calloc(size_t n, size_t size) __must_check;
/* On failure @p stays valid. */
void *mem_realloc(void *p, size_t size) __must_check;
/* @align is a power of two, at least sizeof(void *). Freed by mem_free. */
void *mem_aligned(size_t align, size_t size) __must_check;
/*
 * For much memory that is filled bit by bit and used for long: what is not
 * written to takes none, and where the system has large pages it is made of
 * them, which saves a fault for every 4 KiB. Contents are not defined. Freed by
 * mem_free.
 */
void *mem_reserve(size_t size) __must_check;
/* These bytes of it (whole MEM_PAGE) take no memory until they are written to
 * again. */
#define MEM_PAGE 4096
void mem_discard(void *p, size_t n);
char *mem_strdup(const char *s) __must_check;
void *mem_dup(const void *p, size_t n) __must_check;
void mem_free(void *p);

/* See akin_prepare_process() in the public headers. */
void mem_prepare_process(void);

/*
 * Test hook: the @n-th allocation from now (1 = the next) and all after it
 * fail; 0 switches it off. mem_nr_allocs() counts since process start.
 */
void mem_fail_after(u64 n);
u64 mem_nr_allocs(void);

#endif
