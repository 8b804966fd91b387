/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may change about a snapshot that is listed: its tags, its protection.
 *
 * The catalog has the truth and the data pool a copy, written first: so a
 * catalog made anew from the data pool knows of every change that was
 * acknowledged, and perhaps of one that was not.
 */
#include "base/mem.h"
#include "record/record.h"
#include "store/store.h"

struct change {
	struct akin_pool *p;
	const struct akin_tag_change *tags;
	bool protect, until;
	s64 until_sec;
};

static int write_label(void *ctx, u64 number, const struct buf *bytes,
		       struct akin_diag *diag)
{
	struct change *ch = ctx;

	return record_write_label(ch->p->data, number, bytes, diag);
}

static int change(struct change *ch, u64 number,
		  int (*how)(void *ctx, const struct catalog_now *now,
			     struct label *l, struct akin_diag *diag),
		  struct akin_diag *diag)
{
	struct catalog_label_ops ops = { how, write_label, ch };
	int err;

	if (ch->p->read_only)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	err = catalog_change_label(ch->p->catalog, number,
				   store_clock(ch->p), &ops, diag);
	return diag_said(diag, err);
}

/* Protection ----------------------------------------------------------------*/

static int check_until(const struct change *ch, const struct catalog_now *now,
		       const struct label *l, struct akin_diag *diag)
{
	if (ch->until_sec <= now->wall_sec)
		return diag_set(diag, -AKIN_E_usage,
				"that date has passed already");
	if (!catalog_is_protected(l, now) ||
	    (l->flags & LABEL_UNTIL && l->until_sec <= ch->until_sec))
		return 0;
	diag_set(diag, -AKIN_E_usage,
		 "the snapshot is protected longer than that already");
	diag_hint(diag, "To shorten it, lift it with 'akin unprotect' first.");
	return -AKIN_E_usage;
}

static void set_until(struct label *l, s64 until_sec,
		      const struct catalog_now *now)
{
	u64 wait = (u64)until_sec - (u64)now->wall_sec, age;

	if (__builtin_add_overflow(now->age_sec, wait, &age))
		age = UINT64_MAX;
	/* An earlier protection, begun under another clock, still counts. */
	if (l->flags & LABEL_UNTIL)
		age = max_u64(age, l->until_age_sec);
	l->flags |= LABEL_PROTECTED | LABEL_UNTIL;
	l->until_sec = until_sec;
	l->until_age_sec = age;
}

static int change_protection(void *ctx, const struct catalog_now *now,
			     struct label *l, struct akin_diag *diag)
{
	const struct change *ch = ctx;
	bool is_protected = catalog_is_protected(l, now);
	int err = 0;

	if (!ch->protect && !(l->flags & LABEL_PROTECTED))
		return 1;
	if (ch->protect && ch->until)
		err = check_until(ch, now, l, diag);
	if (err)
		return err;
	if (!ch->protect || !ch->until || !is_protected) {
		l->flags &= ~(u32)(LABEL_PROTECTED | LABEL_UNTIL);
		l->until_sec = 0;
		l->until_age_sec = 0;
	}
	if (ch->protect && ch->until)
		set_until(l, ch->until_sec, now);
	else if (ch->protect)
		l->flags |= LABEL_PROTECTED;
	return 0;
}

int akin_snapshot_protect(struct akin_pool *p, uint64_t number, bool until,
			  int64_t until_sec, struct akin_diag *diag)
{
	struct change ch = { .p = p, .protect = true, .until = until,
			     .until_sec = until_sec };

	return change(&ch, number, change_protection, diag);
}

int akin_snapshot_unprotect(struct akin_pool *p, uint64_t number,
			    struct akin_diag *diag)
{
	struct change ch = { .p = p };

	return change(&ch, number, change_protection, diag);
}

/* Tags ----------------------------------------------------------------------*/

static bool has(const char *const *v, u32 nr, const char *tag)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (strcmp(v[i], tag) == 0)
			return true;
	return false;
}

/* In the order in which they came: first what stays, then what is added. */
static int new_tags(const struct akin_tag_change *c, const struct label *l,
		    char **out, u32 *nr_ret)
{
	const char *const *old = (const char *const *)l->tags;
	const char *const *sofar = (const char *const *)out;
	u32 i, nr_old = c->set ? 0 : l->nr_tags;
	const char *tag;

	*nr_ret = 0;
	for (i = 0; i < nr_old + c->nr_add; i++) {
		tag = i < nr_old ? old[i] : c->add[i - nr_old];
		if (has(sofar, *nr_ret, tag) ||
		    has(c->remove, c->nr_remove, tag))
			continue;
		out[*nr_ret] = mem_strdup(tag);
		if (!out[*nr_ret])
			return -AKIN_E_nomem;
		(*nr_ret)++;
	}
	return 0;
}

static void free_tags(char **tags, u32 nr)
{
	u32 i;

	for (i = 0; tags && i < nr; i++)
		mem_free(tags[i]);
	mem_free(tags);
}

static bool same_tags(const struct label *l, char *const *tags, u32 nr)
{
	u32 i;

	for (i = 0; i < nr && i < l->nr_tags; i++)
		if (strcmp(l->tags[i], tags[i]))
			return false;
	return nr == l->nr_tags;
}

static int change_tags(void *ctx, const struct catalog_now *now,
		       struct label *l, struct akin_diag *diag)
{
	const struct akin_tag_change *c = ((struct change *)ctx)->tags;
	char **tags = mem_calloc((size_t)l->nr_tags + c->nr_add + 1,
				 sizeof(*tags));
	u32 nr = 0;
	int err = tags ? new_tags(c, l, tags, &nr) : -AKIN_E_nomem;

	if (!err && same_tags(l, tags, nr))
		err = 1;
	if (err) {
		free_tags(tags, nr);
		return err;
	}
	free_tags(l->tags, l->nr_tags);
	l->tags = TAKE(tags);
	l->nr_tags = nr;
	return 0;
}

int akin_snapshot_tag(struct akin_pool *p, uint64_t number,
		      const struct akin_tag_change *tags,
		      struct akin_diag *diag)
{
	struct change ch = { .p = p, .tags = tags };
	u32 i;

	for (i = 0; i < tags->nr_add; i++)
		if (!tags->add[i][0] || strchr(tags->add[i], ':'))
			return diag_set(diag, -AKIN_E_usage, "tag '%s': is "
					"empty or holds a ':'", tags->add[i]);
	if ((u64)tags->nr_add + tags->nr_remove > SNAPSHOT_STRINGS_MAX)
		return diag_set(diag, -AKIN_E_too_large, "too many tags");
	return change(&ch, number, change_tags, diag);
}
