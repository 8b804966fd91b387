/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a content.
 *
 * Random bytes come from eight xorshift generators side by side (Marsaglia,
 * 2003), which compilers make vectors of; each KiB begins anew from seed,
 * content and number of the KiB. They pass for random with every codec and
 * fingerprint, and need not be more.
 */
#include <string.h>

#include "loadgen_internal.h"

typedef uint64_t lanes __attribute__((vector_size(64)));

#define SEGMENT LOADGEN_SEGMENT
/* In front of each unit, so that different contents never are equal. */
struct stamp {
	uint64_t magic, content;
};
#define MAGIC 0x6e6567646b6c6461u

/* Digits of pi. One mixed key for all lanes: mixing eight took longer than the
 * rest. */
static const lanes apart = {
	0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u,
	0x082efa98ec4e6c89u, 0x452821e638d01377u, 0xbe5466cf34e90c6cu,
	0xc0ac29b7c97c50ddu, 0x3f84d5b5b5470917u,
};

static void random_segment(uint64_t key, unsigned char *to, uint32_t n)
{
	lanes x = apart ^ key;
	uint32_t i;

	for (i = 0; i < n; i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(to + i, &x, sizeof(x));
	}
}

/* In what @content differs from the one it resembles. */
static void change_segment(const struct loadgen *l, uint64_t key,
			   unsigned char *to)
{
	uint64_t h = loadgen_mix(key);
	uint32_t nr = l->opt.similar_bytes, i;

	if (nr > l->random_bytes)
		nr = l->random_bytes;
	for (i = 0; i < nr; i++) {
		to[(h + (uint64_t)i * l->random_bytes / nr) %
		   l->random_bytes] ^= (unsigned char)(1 + (h >> 32) % 255);
	}
}

static uint64_t resembled(const struct loadgen *l, uint64_t content)
{
	while (content && loadgen_is_similar(l, content))
		content--;
	return content;
}

/* A whole segment, @nr within the unit. */
static void fill_segment(const struct loadgen *l, uint64_t content,
			 uint64_t base, uint32_t nr, unsigned char *to)
{
	struct stamp stamp = { MAGIC, content };
	/* Mixed: else contents of one seed would be others of the next. */
	uint64_t seed = loadgen_mix(l->opt.seed);

	random_segment(loadgen_mix2(seed ^ base, nr), to, l->random_bytes);
	memset(to + l->random_bytes, 0, SEGMENT - l->random_bytes);
	if (base != content)
		change_segment(l, loadgen_mix2(seed ^ content, ~(uint64_t)nr),
			       to);
	if (nr == 0)
		memcpy(to, &stamp, sizeof(stamp));
}

void loadgen_fill(const struct loadgen *l, uint64_t content, uint32_t off,
		  void *to, size_t n)
{
	uint64_t base = resembled(l, content);
	unsigned char one[SEGMENT], *p = to;
	uint32_t skip;
	size_t len;

	if (l->kept && content < l->distinct) {
		memcpy(to, l->kept + content * l->opt.unit_bytes + off, n);
		return;
	}
	for (; n; n -= len, off += (uint32_t)len, p += len) {
		skip = off % SEGMENT;
		len = SEGMENT - skip;
		if (len > n)
			len = n;
		if (len == SEGMENT) {
			fill_segment(l, content, base, off / SEGMENT, p);
		} else {
			fill_segment(l, content, base, off / SEGMENT, one);
			memcpy(p, one + skip, len);
		}
	}
}
