/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap door. The two counters are the process-wide test hook.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/mem.h"

static _Atomic u64 mem_count;
static _Atomic u64 mem_fail_at;

/*
 * glibc gives every thread an arena of its own, and what one has freed stays
 * with it: resident memory would follow the number of threads and not the
 * budget. The engine allocates rarely once it runs, so two arenas do not make
 * threads wait.
 *
 * It also raises, with each large block that is freed, the size from which
 * blocks are mapped alone; then groups and directories of all lives mix on the
 * heap, and half of it is holes (64 streams within 64 MiB: 70 MiB instead of
 * 45). Naming the size keeps it where it is.
 */
#define MAP_ALONE_BYTES (128 * 1024)

void mem_prepare_process(void)
{
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, MAP_ALONE_BYTES);
	mallopt(M_TRIM_THRESHOLD, MAP_ALONE_BYTES);
}

static bool mem_must_fail(void)
{
	u64 n = atomic_fetch_add_explicit(&mem_count, 1, memory_order_relaxed);
	u64 at = atomic_load_explicit(&mem_fail_at, memory_order_relaxed);

	return at != 0 && n + 1 >= at;
}

void mem_fail_after(u64 n)
{
	atomic_store(&mem_fail_at, n ? atomic_load(&mem_count) + n : 0);
}

u64 mem_nr_allocs(void)
{
	return atomic_load(&mem_count);
}

void *mem_alloc(size_t size)
{
	return mem_must_fail() ? NULL : malloc(size ? size : 1);
}

void *mem_zalloc(size_t size)
{
	return mem_must_fail() ? NULL : calloc(1, size ? size : 1);
}

void *mem_calloc(size_t n, size_t size)
{
	if (mem_must_fail())
		return NULL;
	return calloc(n ? n : 1, size ? size : 1);
}

void *mem_realloc(void *p, size_t size)
{
	return mem_must_fail() ? NULL : realloc(p, size ? size : 1);
}

void *mem_aligned(size_t align, size_t size)
{
	void *p = NULL;

	if (mem_must_fail() || posix_memalign(&p, align, size ? size : 1))
		return NULL;
	return p;
}

/* That of x86 and of arm64 with pages of 4 KiB. */
#define LARGE_PAGE ((size_t)2 << 20)

void *mem_reserve(size_t size)
{
	void *p = mem_aligned(LARGE_PAGE, size);

	/* A request; the memory is as good without. */
	if (p)
		(void)madvise(p, size, MADV_HUGEPAGE);
	return p;
}

void mem_discard(void *p, size_t n)
{
	(void)madvise(p, n, MADV_DONTNEED);
}

void *mem_dup(const void *p, size_t n)
{
	void *q = mem_alloc(n);

	if (q)
		memcpy(q, p, n);
	return q;
}

char *mem_strdup(const char *s)
{
	return mem_dup(s, strlen(s) + 1);
}

void mem_free(void *p)
{
	free(p);
}
