/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree reader. Records may run over the end of a piece (very large ones do);
 * what is left of a piece then moves to the front and the next one follows.
 */
#include "base/mem.h"
#include "recipe/hintset.h"
#include "tree/tree_reader.h"

struct tree_reader {
	struct depot *depot;
	struct decoder *dec;
	struct recipe_reader *recipe;
	const struct recipe_entry *entries;	/* borrowed from @recipe */
	u32 nr, next;
	const struct hint *leaf_hint;
	struct buf bytes;			/* undecoded records from @off */
	size_t off;
	struct buf piece;
	struct hintset hint;			/* of what is in @bytes */
	struct hint piece_hint;
	struct node node;
	bool have_node;
	char last_name[NODE_NAME_MAX + 1];
	recipe_piece_fn *on_piece;
	void *on_piece_ctx;
};

int tree_reader_open(struct depot *d, struct decoder *dec,
		     const struct content *listing, const struct hint *hint,
		     struct tree_reader **out, struct akin_diag *diag)
{
	struct tree_reader *r = mem_zalloc(sizeof(*r));
	int err;

	if (!r)
		return diag_set(diag, -AKIN_E_nomem, "tree");
	r->depot = d;
	r->dec = dec;
	err = recipe_reader_open(d, dec, listing, hint, &r->recipe, diag);
	if (err) {
		tree_reader_close(r);
		return err;
	}
	*out = r;
	return 0;
}

void tree_reader_close(struct tree_reader *r)
{
	if (!r)
		return;
	if (r->have_node)
		node_release(&r->node);
	recipe_reader_close(r->recipe);
	buf_release(&r->bytes);
	buf_release(&r->piece);
	hintset_release(&r->hint);
	mem_free(r->piece_hint.containers);
	mem_free(r);
}

void tree_reader_on_piece(struct tree_reader *r, recipe_piece_fn *fn,
			  void *ctx)
{
	r->on_piece = fn;
	r->on_piece_ctx = ctx;
	recipe_reader_on_piece(r->recipe, fn, ctx);
}

/* Append the bytes of the next piece: 1, 0 at the end, or an error. */
static int more_bytes(struct tree_reader *r, struct akin_diag *diag)
{
	const struct recipe_entry *e;
	int err;

	while (r->next >= r->nr) {
		err = recipe_reader_next(r->recipe, &r->entries, &r->nr,
					 &r->leaf_hint, diag);
		if (err <= 0)
			return err;
		r->next = 0;
	}
	e = &r->entries[r->next++];
	/* Names ascend, so no two pieces of a listing are equal. */
	if (e->type != RECIPE_CHUNK)
		return diag_set(diag, -AKIN_E_bad_field,
				"listing: not made of pieces");
	err = r->on_piece ? r->on_piece(r->on_piece_ctx, &e->fp, diag) : 0;
	if (!err)
		err = depot_read_piece(r->depot, r->dec, &e->fp, r->leaf_hint,
				       &r->piece, &r->piece_hint, diag);
	if (err)
		return err;
	if (r->piece.len != e->len)
		return diag_set(diag, -AKIN_E_bad_length,
				"listing: a piece of another length");
	if (r->off < r->bytes.len)
		memmove(r->bytes.data, r->bytes.data + r->off,
			r->bytes.len - r->off);
	r->bytes.len -= r->off;
	r->off = 0;
	if (r->bytes.len == 0)
		hintset_reset(&r->hint);
	buf_put(&r->bytes, r->piece.data, r->piece.len);
	hintset_add_all(&r->hint, &r->piece_hint);
	if (buf_error(&r->bytes) || r->hint.failed)
		return diag_set(diag, -AKIN_E_nomem, "listing");
	return 1;
}

static int check_order(struct tree_reader *r, struct akin_diag *diag)
{
	if (r->last_name[0] &&
	    node_name_compare(r->last_name, r->node.name) >= 0)
		return diag_set(diag, -AKIN_E_bad_order,
				"listing: names out of order");
	memcpy(r->last_name, r->node.name, strlen(r->node.name) + 1);
	return 0;
}

int tree_reader_next(struct tree_reader *r, const struct node **node_ret,
		     const struct hint **hint_ret, struct akin_diag *diag)
{
	size_t total;
	int err, more;

	if (r->have_node) {
		node_release(&r->node);
		r->have_node = false;
	}
	for (;;) {
		err = -AKIN_E_short_read;
		if (r->off < r->bytes.len)
			err = node_decode(r->bytes.data + r->off,
					  r->bytes.len - r->off, &r->node,
					  &total);
		if (err != -AKIN_E_short_read)
			break;
		more = more_bytes(r, diag);
		if (more < 0)
			return more;
		if (more == 0 && r->off == r->bytes.len)
			return 0;
		if (more == 0)
			return diag_set(diag, err, "listing: ends within a "
					"record");
	}
	if (err)
		return diag_set(diag, err, "listing: %s", akin_strerror(err));
	r->have_node = true;
	r->off += total;
	err = check_order(r, diag);
	if (err)
		return err;
	*node_ret = &r->node;
	*hint_ret = &r->hint.hint;
	return 1;
}
