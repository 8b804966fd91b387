/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of hashes, and the small functions that need no batch.
 */
#include <blake3.h>
#include <xxhash.h>

#include "base/diag.h"
#include "base/mem.h"
#include "hash/hash_internal.h"

static const struct hash_ops *const all_ops[] = {
	&hash_ops_blake3,
	&hash_ops_sha256,
};

static const struct hash_ops *ops_lookup(u8 id)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++) {
		if (all_ops[i]->id == id)
			return all_ops[i];
	}
	return NULL;
}

int hasher_new_of(const struct hash_ops *ops, const u8 key[HASH_KEY_BYTES],
		  struct hasher **out, struct akin_diag *d)
{
	struct hash_scratch *s;
	struct hasher *h;
	int err;

	*out = NULL;
	err = hash_scratch_new(&s, d);
	if (err)
		return err;
	h = mem_zalloc(sizeof(*h));
	if (h) {
		h->ops = ops;
		ops->init(h, s);
		memcpy(h->key, key, sizeof(h->key));
		ops->expand(h);
		*out = h;
	} else {
		err = diag_set(d, -AKIN_E_nomem, "no memory for a hasher");
	}
	hash_scratch_free(s);
	return err;
}

int hasher_new(u8 id, const u8 key[HASH_KEY_BYTES], struct hasher **out,
	       struct akin_diag *d)
{
	const struct hash_ops *ops = ops_lookup(id);

	*out = NULL;
	if (!ops)
		return diag_set(d, -AKIN_E_feature, "unknown hash number %u",
				id);
	return hasher_new_of(ops, key, out, d);
}

void hasher_free(struct hasher *h)
{
	if (h)
		explicit_bzero(h, sizeof(*h));
	mem_free(h);
}

u8 hasher_id(const struct hasher *h)
{
	return h->ops->id;
}

const char *hasher_name(const struct hasher *h)
{
	return h->ops->name;
}

const char *hasher_kernel(const struct hasher *h)
{
	return h->ops->kernel(h);
}

int hasher_batch(const struct hasher *h, struct hash_scratch *s,
		 const struct hash_item *items, size_t n, struct fp *out)
{
	if (!s)
		return -AKIN_E_usage;
	h->ops->batch(h, s, items, n, out);
	return 0;
}

void hasher_one(const struct hasher *h, const void *data, size_t n,
		struct fp *out)
{
	h->ops->one(h, data, n, out);
}

void hasher_salted(const struct hasher *h, u8 salt, const void *data, size_t n,
		   struct fp *out)
{
	u8 material[HASH_KEY_BYTES + 1];
	struct hasher salted;

	if (!salt) {
		hasher_one(h, data, n, out);
		return;
	}
	memcpy(material, h->key, HASH_KEY_BYTES);
	material[HASH_KEY_BYTES] = salt;
	salted = *h;
	hash_derive_key("akin 2026 salted fingerprint", material,
			sizeof(material), salted.key);
	h->ops->expand(&salted);
	h->ops->one(&salted, data, n, out);
	explicit_bzero(&salted, sizeof(salted));
	explicit_bzero(material, sizeof(material));
}

void hash_derive_key(const char *context, const void *material, size_t n,
		     u8 out[HASH_KEY_BYTES])
{
	blake3_hasher b;

	blake3_hasher_init_derive_key(&b, context);
	blake3_hasher_update(&b, material, n);
	blake3_hasher_finalize(&b, out, HASH_KEY_BYTES);
	explicit_bzero(&b, sizeof(b));
}

const char *hash_name_of(u8 id)
{
	const struct hash_ops *ops = ops_lookup(id);

	return ops ? ops->name : NULL;
}

u8 hash_id_of(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++) {
		if (strcmp(all_ops[i]->name, name) == 0)
			return all_ops[i]->id;
	}
	return 0;
}

u64 checksum64(const void *p, size_t n, u64 seed)
{
	return XXH3_64bits_withSeed(p, n, seed);
}
