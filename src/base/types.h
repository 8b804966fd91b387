/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integer names, on-disk integers and the identifiers that every layer shares.
 */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define __must_check __attribute__((warn_unused_result))
#define __printf(fmt, args) __attribute__((format(printf, fmt, args)))
/* For results that nothing depends on; say why beside the call. */
#define ignore_result(expr) do { if (expr) { } } while (0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define KiB ((u64)1024)
#define MiB ((u64)1024 * KiB)
#define GiB ((u64)1024 * MiB)

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Transfer of ownership, visible at the call. */
#define TAKE(ptr) (ptr)

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Little-endian bytes on disk; cannot be used as numbers by accident. */
typedef struct { u8 b[2]; } le16;
typedef struct { u8 b[4]; } le32;
typedef struct { u8 b[8]; } le64;

static inline u16 get_le16(const void *p)
{
	const u8 *b = p;

	return (u16)(b[0] | b[1] << 8);
}

/* Loads, not shifts: compilers assemble wide numbers from single bytes. */
static inline u32 get_le32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v :
							    __builtin_bswap32(v);
}

static inline u64 get_le64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v :
							    __builtin_bswap64(v);
}

static inline void put_le16(void *p, u16 v)
{
	u8 *b = p;

	b[0] = (u8)v;
	b[1] = (u8)(v >> 8);
}

static inline void put_le32(void *p, u32 v)
{
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_le64(void *p, u64 v)
{
	v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

/* Keyed BLAKE3-256 (or SHA-256) of a chunk's bytes. */
#define FP_BYTES 32
struct fp {
	u8 b[FP_BYTES];
};

static inline bool fp_equal(const struct fp *a, const struct fp *b)
{
	return memcmp(a->b, b->b, FP_BYTES) == 0;
}

/* The first eight bytes as a number: uniformly distributed. */
static inline u64 fp_prefix(const struct fp *fp)
{
	return get_le64(fp->b);
}

/* Where a chunk lives, stable for life. Container numbers start at 1. */
struct place {
	u64 container;
	u32 entry;		/* entry number in the container's directory */
};

#endif
