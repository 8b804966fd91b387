/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dropfix.h"
#include "store/store.h"

#define KEPT_BYTES 60000
#define GONE_BYTES 20000

static void must(int err, const struct akin_diag *d)
{
	if (err)
		fail_msg("%s: %s", akin_error_name(err), d->text);
}

static void make_tree(struct treefix *fx)
{
	u8 *data = malloc(KEPT_BYTES);

	simpool_fill(1, data, KEPT_BYTES);
	ok(mkdirat(fx->s, "kept", 0755));
	ok(mkdirat(fx->s, "gone", 0755));
	put_bytes(fx->s, "kept/big", data, KEPT_BYTES, 0);
	put_text(fx->s, "kept/small", "text");
	simpool_fill(2, data, GONE_BYTES);
	put_bytes(fx->s, "gone/secret", data, GONE_BYTES, 0);
	ok(linkat(fx->s, "kept/small", fx->s, "gone/link", 0));
	free(data);
}

static int find_one(void *ctx, const struct akin_snapshot *s)
{
	struct dropfix *x = ctx;

	x->number = s->number;
	memcpy(x->id, s->id, sizeof(x->id));
	return 0;
}

static void back_up(struct dropfix *x)
{
	const char *path = x->fx->src;
	struct akin_backup_options opt = { .host = "test", .paths = &path,
					   .nr_paths = 1 };
	struct akin_backup_result r;
	struct akin_diag d = { 0 };
	struct akin_pool *p;

	must(simpool_open(&x->base, false, &p, &d), &d);
	must(akin_backup_tree(p, &opt, &r, &d), &d);
	must(akin_snapshot_each(p, NULL, find_one, x, &d), &d);
	akin_pool_close(p);
}

int dropfix_setup(void **state)
{
	struct dropfix *x = calloc(1, sizeof(*x));
	struct akin_diag d = { 0 };
	void *fx = NULL;
	int err;

	err = treefix_setup(&fx);
	if (err)
		return err;
	x->fx = fx;
	make_tree(x->fx);
	snprintf(x->drop, sizeof(x->drop), "%s/gone", x->fx->src);
	must(simpool_init(&x->base, &d), &d);
	back_up(x);
	*state = x;
	return 0;
}

int dropfix_teardown(void **state)
{
	struct dropfix *x = *state;
	void *fx = x->fx;
	int err;

	simpool_free(&x->base);
	err = treefix_teardown(&fx);
	free(x);
	return err;
}

static int rewrite_one(struct dropfix *x, struct simpool *sp, u64 number,
		       struct akin_diag *d)
{
	const char *drop = x->drop;
	struct akin_rewrite_options opt = { .snapshot = number, .drop = &drop,
					    .nr_drop = 1 };
	struct akin_rewrite_result r;
	struct akin_pool *p;
	int err;

	memset(d, 0, sizeof(*d));
	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_rewrite(p, &opt, &r, d);
	akin_pool_close(p);
	return err;
}

int dropfix_rewrite(struct dropfix *x, struct simpool *sp,
		    struct akin_diag *d)
{
	return rewrite_one(x, sp, x->number, d);
}

int dropfix_compare(struct dropfix *x, struct simpool *sp,
		    struct akin_diag *d)
{
	struct akin_compare_options opt = { .snapshot = x->number };
	struct akin_compare_result r;
	struct akin_pool *p;
	int err;

	memset(d, 0, sizeof(*d));
	err = simpool_open(sp, true, &p, d);
	if (err)
		return err;
	err = akin_compare(p, &opt, &r, d);
	akin_pool_close(p);
	if (r.added || r.removed || r.content || r.metadata || r.type)
		fail_msg("a difference where there is none: %llu %llu %llu "
			 "%llu %llu", (unsigned long long)r.added,
			 (unsigned long long)r.removed,
			 (unsigned long long)r.content,
			 (unsigned long long)r.metadata,
			 (unsigned long long)r.type);
	return err;
}

int dropfix_check(struct simpool *sp, struct akin_check_result *r,
		  struct akin_diag *d)
{
	struct akin_check_options opt = { .read_data = true };
	struct akin_pool *p;
	int err;

	memset(d, 0, sizeof(*d));
	memset(r, 0, sizeof(*r));
	err = simpool_open(sp, false, &p, d);
	if (err)
		return err;
	err = akin_check(p, &opt, r, d);
	akin_pool_close(p);
	return err;
}

/* Looking ------------------------------------------------------------------*/

struct looking {
	struct dropfix *x;
	struct akin_pool *p;
	struct dropfix_view view;
	const char *where;
};

static int no_data(void *ctx, const void *data, size_t n)
{
	*(u64 *)ctx += n;
	return 0;
}

static int size_of(struct looking *l, u64 number, const char *name, u64 *out)
{
	struct akin_diag d = { 0 };
	char path[160];

	*out = 0;
	snprintf(path, sizeof(path), "%s/%s", l->x->fx->src, name);
	return akin_snapshot_read(l->p, number, path, no_data, NULL, out, &d);
}

/* Reading compares every chunk with its fingerprint, so lengths will do. */
static int look_at(void *ctx, const struct akin_snapshot *s)
{
	struct looking *l = ctx;
	u64 n;
	int err;

	if (size_of(l, s->number, "kept/big", &n) || n != KEPT_BYTES ||
	    size_of(l, s->number, "kept/small", &n) || n != 4)
		fail_msg("%s: what stays is not whole in %s", l->where, s->id);
	err = size_of(l, s->number, "gone/secret", &n);
	if (!strcmp(s->id, l->x->id)) {
		if (err || n != GONE_BYTES)
			fail_msg("%s: the old one is not whole", l->where);
		l->view.nr_old++;
		l->view.old = s->number;
	} else {
		if (err != -AKIN_E_path_unknown)
			fail_msg("%s: it is in the new one", l->where);
		l->view.nr_new++;
	}
	return 0;
}

struct dropfix_view dropfix_look(struct dropfix *x, struct simpool *sp,
				 const char *where)
{
	struct looking l = { .x = x, .where = where };
	struct akin_diag d = { 0 };

	if (simpool_open(sp, false, &l.p, &d))
		fail_msg("%s: %s", where, d.text);
	if (akin_snapshot_each(l.p, NULL, look_at, &l, &d))
		fail_msg("%s: %s", where, d.text);
	akin_pool_close(l.p);
	simpool_expect_sound(sp, where);
	if (l.view.nr_old + l.view.nr_new == 0)
		fail_msg("%s: nothing is listed", where);
	return l.view;
}

void dropfix_finish(struct dropfix *x, struct simpool *sp, const char *where)
{
	struct dropfix_view v = dropfix_look(x, sp, where);
	struct akin_diag d;

	assert_true(v.nr_old <= 1 && v.nr_new <= 1);
	if (!v.nr_old)
		return;
	if (rewrite_one(x, sp, v.old, &d))
		fail_msg("%s: again: %s", where, d.text);
	v = dropfix_look(x, sp, where);
	assert_int_equal(v.nr_old, 0);
}
