/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fingerprints: keyed, 256 bits, of many items at a time.
 *
 * Two hashes stand behind one ops table: BLAKE3 in its keyed mode ("BLAKE3:
 * one function, fast everywhere", O'Connor, Aumasson, Neves, Wilcox-O'Hearn,
 * 2020) and HMAC-SHA-256 (RFC 2104). Digests are exact and the same on every
 * processor; only the speed differs. A batch is faster than its items one by
 * one, because the leaves of all items fill the vector lanes together.
 *
 * Also here: key derivation (BLAKE3 derive_key) and the 64-bit checksum of
 * stored structures (XXH3), which detects damage but no intent.
 *
 * Threads: a hasher is immutable and may be shared; a scratch belongs to one
 * thread at a time. Lengths are in bytes.
 */
#ifndef HASH_HASH_H
#define HASH_HASH_H

#include "base/types.h"

struct akin_diag;
struct hasher;
struct hash_scratch;

/* On disk; never renumbered. 0 is no hash. */
enum hash_id {
	HASH_BLAKE3 = 1,
	HASH_SHA256 = 2,
};

#define HASH_KEY_BYTES 32

/* The bytes are borrowed during the call. @data may be NULL if @len is 0. */
struct hash_item {
	const u8 *data;
	u32 len;
};

/* One hash function. Callers use the hasher_* functions below. */
struct hash_ops {
	const char *name;	/* "blake3", "sha256" */
	u8 id;
	/* Choose a kernel; @s is free for self-tests. The key comes after. */
	void (*init)(struct hasher *h, struct hash_scratch *s);
	/* Expand h->key, in whatever state another key has left @h. */
	void (*expand)(struct hasher *h);
	/* What computes: "blake3/avx2". Static. */
	const char *(*kernel)(const struct hasher *h);
	void (*one)(const struct hasher *h, const void *data, size_t n,
		    struct fp *out);
	/* @n may be 0, items may be empty, equal or overlapping. */
	void (*batch)(const struct hasher *h, struct hash_scratch *s,
		      const struct hash_item *items, size_t n, struct fp *out);
};

/*
 * Returns owned in @out (hasher_free); the key is copied. The kernel follows
 * cpu_level() at this moment. Errors: nomem, feature (unknown @id).
 */
int hasher_new(u8 id, const u8 key[HASH_KEY_BYTES], struct hasher **out,
	       struct akin_diag *d) __must_check;
/*
 * The same with a hash that is in no table, for tests: one that collides. @ops
 * outlives the hasher.
 */
int hasher_new_of(const struct hash_ops *ops, const u8 key[HASH_KEY_BYTES],
		  struct hasher **out, struct akin_diag *d) __must_check;
/* Wipes the key. Accepts NULL. */
void hasher_free(struct hasher *h);
u8 hasher_id(const struct hasher *h);
/* "blake3" or "sha256". */
const char *hasher_name(const struct hasher *h);
/* With what computes: "blake3/avx512", "blake3/avx2", "blake3/library". */
const char *hasher_kernel(const struct hasher *h);

/*
 * Working memory of hasher_batch, for any hasher. Returns owned in @out
 * (hash_scratch_free, which accepts NULL). Errors: nomem.
 */
int hash_scratch_new(struct hash_scratch **out,
		     struct akin_diag *d) __must_check;
void hash_scratch_free(struct hash_scratch *s);
/* What one scratch takes, for memory budgets. */
size_t hash_scratch_bytes(void);

/*
 * Fingerprints of items[0 .. n) into out[0 .. n). Any number, any lengths;
 * some hundred KiB in all is enough to fill the lanes. Allocates nothing, and
 * fails only if @s is NULL (usage).
 */
int hasher_batch(const struct hasher *h, struct hash_scratch *s,
		 const struct hash_item *items, size_t n,
		 struct fp *out) __must_check;
/* The same for one item of any length. Cannot fail. */
void hasher_one(const struct hasher *h, const void *data, size_t n,
		struct fp *out);
/*
 * Another fingerprint of the same item, for one whose usual fingerprint belongs
 * to other bytes already: hashed with a key that derives from this one and
 * @salt. 0: the usual one.
 */
void hasher_salted(const struct hasher *h, u8 salt, const void *data, size_t n,
		   struct fp *out);

/*
 * A key for the purpose @context (a constant, globally unique string) from key
 * material: BLAKE3 derive_key.
 */
void hash_derive_key(const char *context, const void *material, size_t n,
		     u8 out[HASH_KEY_BYTES]);

/* NULL if unknown. Static. */
const char *hash_name_of(u8 id);
/* 0 if unknown. */
u8 hash_id_of(const char *name);

/* XXH3-64 of a stored structure, not keyed: no protection against intent. */
u64 checksum64(const void *p, size_t n, u64 seed);

#endif
