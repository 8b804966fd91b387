/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy of the policy in the data pool (docs/format/policy.md), in pools
 * that have the feature.
 *
 * It is written inside the catalog's transaction and before its commit, so that
 * changes of the policy and the switching on of the feature are in one order
 * with each other. Whether the pool has the feature is read from the disks each
 * time: it may have been switched on since this handle was opened.
 */
#include "base/mem.h"
#include "store/store.h"

static_assert(CATALOG_RULES_MAX <= RULEBOOK_MAX_RULES, "each finds a place");
static_assert(CATALOG_RULE_MAX - 1 <= RULEBOOK_RULE_MAX, "and fits");

int store_rulebook_write(struct disk *data, const struct rulebook *book,
			 struct akin_diag *diag)
{
	struct buf bytes = { 0 };
	int err = rulebook_encode(book, &bytes);

	if (err)
		err = diag_set(diag, err, "policy: %s", akin_strerror(err));
	else
		err = disk_write_file(data, FILE_POLICY, bytes.data, bytes.len,
				      diag);
	buf_release(&bytes);
	return err;
}

int store_rulebook_read(struct akin_pool *p, struct rulebook *out,
			struct akin_diag *diag)
{
	size_t len;
	u8 *data;
	int err;

	memset(out, 0, sizeof(*out));
	err = disk_read_file(p->data, FILE_POLICY, RULEBOOK_FILE_MAX, &data,
			     &len, diag);
	if (err)
		return err;
	err = rulebook_decode(data, len, out);
	mem_free(data);
	if (!err && memcmp(out->pool.b, p->super.pool.b, POOL_ID_BYTES)) {
		rulebook_release(out);
		err = -AKIN_E_bad_identity;
	}
	return err ? diag_set(diag, err, "policy: %s", akin_strerror(err)) : 0;
}

int store_rulebook_copy(void *pool, const struct rulebook *book,
			struct akin_diag *diag)
{
	struct akin_pool *p = pool;
	struct super meta, data;
	int err;

	err = store_super_read(p->meta, &meta, diag);
	if (!err)
		err = store_super_read(p->data, &data, diag);
	if (err || !((meta.feat_ro_compat | data.feat_ro_compat) &
		     SUPER_FEAT_RO_POLICY))
		return err;
	return store_rulebook_write(p->data, book, diag);
}
