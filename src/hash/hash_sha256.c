/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HMAC-SHA-256 with libcrypto.
 *
 * HMAC hashes a block made of the key, then the message; and another such
 * block, then that digest. The states behind both key blocks are computed
 * once. They are plain structs (SHA256_CTX), so starting a message is a copy
 * of 112 bytes: no allocation, no failure, nothing shared between threads. An
 * EVP context would allocate for each message, outside the memory door, and
 * hasher_one() could fail. libcrypto picks the processor's SHA instructions
 * in either interface. That these functions are marked deprecated since 3.0 is
 * for the sake of exchangeable providers, which exact digests do not need.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "hash/hash_internal.h"

enum {
	SHA256_BLOCK = 64,
	HMAC_INNER = 0x36,
	HMAC_OUTER = 0x5c,
};

static_assert(HASH_KEY_BYTES <= SHA256_BLOCK,
	      "longer keys would have to be hashed first");
static_assert(SHA256_DIGEST_LENGTH == FP_BYTES, "the digest is not cut");

static void start_keyed(SHA256_CTX *c, const u8 key[HASH_KEY_BYTES], u8 pad)
{
	u8 block[SHA256_BLOCK];
	size_t i;

	for (i = 0; i < sizeof(block); i++)
		block[i] = pad ^ (i < HASH_KEY_BYTES ? key[i] : 0);
	SHA256_Init(c);
	SHA256_Update(c, block, sizeof(block));
	explicit_bzero(block, sizeof(block));
}

/* libcrypto chooses by itself. */
static void sha256_init(struct hasher *h, struct hash_scratch *s)
{
}

static void sha256_expand(struct hasher *h)
{
	start_keyed(&h->sha256.inner, h->key, HMAC_INNER);
	start_keyed(&h->sha256.outer, h->key, HMAC_OUTER);
}

static const char *sha256_kernel(const struct hasher *h)
{
	return "sha256/libcrypto";
}

static void sha256_one(const struct hasher *h, const void *data, size_t n,
		       struct fp *out)
{
	SHA256_CTX c = h->sha256.inner;

	SHA256_Update(&c, data, n);
	SHA256_Final(out->b, &c);
	c = h->sha256.outer;
	SHA256_Update(&c, out->b, sizeof(out->b));
	SHA256_Final(out->b, &c);
}

static void sha256_batch(const struct hasher *h, struct hash_scratch *s,
			 const struct hash_item *items, size_t n,
			 struct fp *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		sha256_one(h, items[i].data, items[i].len, &out[i]);
}

const struct hash_ops hash_ops_sha256 = {
	.name = "sha256",
	.id = HASH_SHA256,
	.init = sha256_init,
	.expand = sha256_expand,
	.kernel = sha256_kernel,
	.one = sha256_one,
	.batch = sha256_batch,
};
