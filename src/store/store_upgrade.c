/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switching on features of the format.
 *
 *	1. nobody reclaims, repairs or sets the parity: they write superblocks
 *	2. the catalog's write lock: nobody changes the policy
 *	3. what the features need: the copy of the policy
 *	4. the data disk's superblock: from here on the pool has them
 *	5. the metadata disk's
 *
 * Whoever dies before 4 leaves a file that nobody looks at; between 4 and 5 the
 * pool has the features, since either disk's bit stands for both, and the next
 * upgrade does the rest. The data disk comes first because a repair that makes
 * the metadata anew has only its superblock.
 */
#include "akin/upgrade.h"
#include "base/mem.h"
#include "store/store.h"

static const struct {
	const char *name, *text;
	enum akin_feature_kind kind;
	unsigned bit;
} features[] = {
	{ "policy-copy", "a copy of the policy lies in the data directory, for "
	  "when the metadata is lost", AKIN_FEATURE_READ_ONLY, 0 },
};
static_assert(SUPER_FEAT_RO_POLICY == 1 << 0, "the bit above");
static_assert(SUPER_FEAT_RO_COMPAT_KNOWN == SUPER_FEAT_RO_POLICY &&
	      !SUPER_FEAT_INCOMPAT_KNOWN, "the table above has all");

static u64 *word(struct super *s, enum akin_feature_kind kind)
{
	switch (kind) {
	case AKIN_FEATURE_IGNORED:
		return &s->feat_compat;
	case AKIN_FEATURE_READ_ONLY:
		return &s->feat_ro_compat;
	default:
		return &s->feat_incompat;
	}
}

struct upgrade {
	struct akin_pool *p;
	const struct akin_upgrade_options *opt;
	struct akin_upgrade_result *out;
	struct super meta, data;
};

static int read_supers(struct upgrade *u, struct akin_diag *diag)
{
	int err = store_super_read(u->p->meta, &u->meta, diag);

	return err ? err : store_super_read(u->p->data, &u->data, diag);
}

static void tell(struct upgrade *u, const struct akin_feature *f)
{
	u->out->known += f->known;
	u->out->unknown += !f->known;
	u->out->switched_on += f->known && !f->on;
	if (u->opt->feature)
		u->opt->feature(u->opt->ctx, f);
}

static void tell_known(struct upgrade *u)
{
	struct akin_feature f = { .known = true };
	size_t i;
	u64 both;

	for (i = 0; i < ARRAY_SIZE(features); i++) {
		f.name = features[i].name;
		f.text = features[i].text;
		f.kind = features[i].kind;
		f.bit = features[i].bit;
		both = *word(&u->meta, f.kind) & *word(&u->data, f.kind);
		f.on = both >> f.bit & 1;
		tell(u, &f);
	}
}

/* Bits that a later version has set. Of the third kind there are none here:
 * such a pool is not opened. */
static void tell_unknown(struct upgrade *u, enum akin_feature_kind kind,
			 u64 known)
{
	struct akin_feature f = { .name = "", .text = "", .kind = kind,
				  .on = true };
	u64 bits = (*word(&u->meta, kind) | *word(&u->data, kind)) & ~known;

	for (; f.bit < 64; f.bit++)
		if (bits >> f.bit & 1)
			tell(u, &f);
}

static void switch_on(struct super *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(features); i++)
		*word(s, features[i].kind) |= (u64)1 << features[i].bit;
}

/* Steps 3 to 5, inside a transaction of the catalog. */
static int apply(void *ctx, const struct rulebook *book, struct akin_diag *diag)
{
	struct upgrade *u = ctx;
	int err;

	err = read_supers(u, diag);
	if (!err)
		err = store_rulebook_write(u->p->data, book, diag);
	if (err)
		return err;
	switch_on(&u->meta);
	switch_on(&u->data);
	u->meta.sequence = u->data.sequence = max_u64(u->meta.sequence,
						      u->data.sequence) + 1;
	err = store_super_write(u->p->data, &u->data, SUPER_DATA, diag);
	return err ? err : store_super_write(u->p->meta, &u->meta,
					     SUPER_METADATA, diag);
}

static int apply_locked(struct upgrade *u, struct akin_diag *diag)
{
	struct akin_pool *p = u->p;
	int err;

	if (p->read_only)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	err = store_lock_gc(p, true, diag);
	if (err)
		return err;
	err = catalog_copy_policy(p->catalog, apply, u, diag);
	ignore_result(store_lock_gc(p, false, NULL));
	if (!err) {
		switch_on(&p->super);
		p->super.sequence = u->meta.sequence;
	}
	return err;
}

int akin_upgrade(struct akin_pool *p, const struct akin_upgrade_options *opt,
		 struct akin_upgrade_result *out, struct akin_diag *diag)
{
	struct upgrade u = { .p = p, .opt = opt, .out = out };
	int err;

	memset(out, 0, sizeof(*out));
	err = read_supers(&u, diag);
	if (err)
		return diag_said(diag, err);
	out->version_major = u.meta.version >> 16;
	out->version_minor = u.meta.version & 0xffff;
	tell_known(&u);
	tell_unknown(&u, AKIN_FEATURE_IGNORED, 0);
	tell_unknown(&u, AKIN_FEATURE_READ_ONLY, SUPER_FEAT_RO_COMPAT_KNOWN);
	if (!opt->dry_run && out->switched_on)
		err = apply_locked(&u, diag);
	return diag_said(diag, err);
}
