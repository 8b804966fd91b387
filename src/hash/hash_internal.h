/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the hash module share.
 */
#ifndef HASH_HASH_INTERNAL_H
#define HASH_HASH_INTERNAL_H

#include <openssl/sha.h>

#include "hash/hash.h"
#include "hash/hash_blake3.h"

struct hasher {
	const struct hash_ops *ops;
	u8 key[HASH_KEY_BYTES];
	union {
		struct {
			u32 words[8];	/* the key as numbers */
			const struct blake3_kernel *kernel;
		} blake3;
		struct {
			/* States after the padded key block of HMAC. */
			SHA256_CTX inner, outer;
		} sha256;
	};
};

extern const struct hash_ops hash_ops_blake3;
extern const struct hash_ops hash_ops_sha256;

#endif
