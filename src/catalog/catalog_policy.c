/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy's rules, as text; see catalog_retention.h.
 */
#include "base/mem.h"
#include "catalog/catalog_internal.h"

static int add_rule(struct catalog *c, const struct catalog_rule *rule,
		    struct akin_diag *diag)
{
	sqlite3_stmt *st;
	int err;

	if (strlen(rule->rule) >= CATALOG_RULE_MAX ||
	    strlen(rule->value) > SNAPSHOT_STRING_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"a rule of the policy is too long");
	err = catalog_stmt(c, STMT_POLICY_ADD, &st, diag);
	if (err)
		return err;
	(void)sqlite3_bind_text(st, 1, rule->rule, -1, SQLITE_STATIC);
	/* Bytes, as tags are. */
	(void)sqlite3_bind_text(st, 2, rule->value, -1, SQLITE_STATIC);
	return catalog_run(c, STMT_POLICY_ADD, NULL, diag);
}

static int call_rule(struct catalog_row *r, char *value,
		     int (*fn)(void *ctx, const struct catalog_rule *rule),
		     void *ctx, struct akin_diag *diag)
{
	char rule[CATALOG_RULE_MAX];
	struct catalog_rule out = { rule, value };

	row_text(r, 0, rule, sizeof(rule));
	row_text(r, 1, value, SNAPSHOT_STRING_MAX + 1);
	return r->bad ? catalog_bad_row("policy", diag) : fn(ctx, &out);
}

/* Inside a transaction. */
static int each_rule(struct catalog *c,
		     int (*fn)(void *ctx, const struct catalog_rule *rule),
		     void *ctx, struct akin_diag *diag)
{
	struct catalog_row r = { 0 };
	char *value = mem_alloc(SNAPSHOT_STRING_MAX + 1);
	bool row;
	int err;

	if (!value)
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	err = catalog_stmt(c, STMT_POLICY_EACH, &r.stmt, diag);
	while (!err) {
		err = catalog_step(c, STMT_POLICY_EACH, &row, diag);
		if (err || !row)
			break;
		err = call_rule(&r, value, fn, ctx, diag);
	}
	catalog_reset(c, STMT_POLICY_EACH);
	mem_free(value);
	return err;
}

int catalog_each_rule(struct catalog *c,
		      int (*fn)(void *ctx, const struct catalog_rule *rule),
		      void *ctx, struct akin_diag *diag)
{
	int err = catalog_read_begin(c, diag);

	if (err)
		return err;
	err = each_rule(c, fn, ctx, diag);
	catalog_read_end(c);
	return err;
}

static int add_to_book(void *ctx, const struct catalog_rule *rule)
{
	struct rulebook *b = ctx;
	u32 i = b->nr;

	if (i == CATALOG_RULES_MAX)
		return -AKIN_E_catalog;
	b->nr++;
	b->names[i] = mem_strdup(rule->rule);
	b->values[i] = mem_strdup(rule->value);
	return b->names[i] && b->values[i] ? 0 : -AKIN_E_nomem;
}

/* What the open transaction sees; for rulebook_release(), also after errors. */
static int fill_book(struct catalog *c, struct rulebook *b,
		     struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err;

	memset(b, 0, sizeof(*b));
	b->pool = c->pool;
	b->txn = c->meta.txn;
	b->names = mem_calloc(CATALOG_RULES_MAX, sizeof(*b->names));
	b->values = mem_calloc(CATALOG_RULES_MAX, sizeof(*b->values));
	if (!b->names || !b->values)
		return diag_set(diag, -AKIN_E_nomem, "catalog: out of memory");
	err = each_rule(c, add_to_book, b, &why);
	if (err && !why.code)
		ignore_result(diag_set(&why, err, "policy: %s",
				       akin_strerror(err)));
	return diag_pass(diag, err, &why);
}

static int call_with_book(struct catalog *c, catalog_book_fn fn, void *ctx,
			  struct akin_diag *diag)
{
	struct rulebook book;
	int err;

	err = fill_book(c, &book, diag);
	if (!err)
		err = fn(ctx, &book, diag);
	rulebook_release(&book);
	return err;
}

int catalog_set_policy(struct catalog *c, const struct catalog_rule *rules,
		       u32 nr, catalog_book_fn write, void *ctx,
		       struct akin_diag *diag)
{
	u32 i;
	int err;

	if (nr > CATALOG_RULES_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"a policy has at most %d rules",
				CATALOG_RULES_MAX);
	err = catalog_txn_begin(c, diag);
	if (err)
		return err;
	err = catalog_run(c, STMT_POLICY_DROP, NULL, diag);
	for (i = 0; !err && i < nr; i++)
		err = add_rule(c, &rules[i], diag);
	if (!err && write)
		err = call_with_book(c, write, ctx, diag);
	return catalog_txn_end(c, err, diag);
}

int catalog_copy_policy(struct catalog *c, catalog_book_fn write, void *ctx,
			struct akin_diag *diag)
{
	int err = catalog_txn_begin(c, diag);

	if (err)
		return err;
	err = call_with_book(c, write, ctx, diag);
	return catalog_txn_end(c, err, diag);
}

int catalog_look_policy(struct catalog *c, catalog_book_fn look, void *ctx,
			struct akin_diag *diag)
{
	int err = catalog_read_begin(c, diag);

	if (err)
		return err;
	err = call_with_book(c, look, ctx, diag);
	catalog_read_end(c);
	return err;
}
