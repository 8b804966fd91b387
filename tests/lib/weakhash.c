/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/hash_internal.h"
#include "weakhash.h"

static void weak_init(struct hasher *h, struct hash_scratch *s)
{
}

static void weak_expand(struct hasher *h)
{
}

static const char *weak_kernel(const struct hasher *h)
{
	return "weak";
}

static void weak_one(const struct hasher *h, const void *data, size_t n,
		     struct fp *out)
{
	u8 few = (u8)checksum64(data, n, get_le64(h->key));
	size_t i;

	/* Bits all over, as indexes expect of a fingerprint. */
	for (i = 0; i < FP_BYTES; i += 8)
		put_le64(out->b + i, checksum64(&few, 1, i));
}

static void weak_batch(const struct hasher *h, struct hash_scratch *s,
		       const struct hash_item *items, size_t n, struct fp *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		weak_one(h, items[i].data, items[i].len, &out[i]);
}

const struct hash_ops weakhash_ops = {
	.name = "weak",
	.id = HASH_BLAKE3,	/* as far as the superblock is concerned */
	.init = weak_init,
	.expand = weak_expand,
	.kernel = weak_kernel,
	.one = weak_one,
	.batch = weak_batch,
};
