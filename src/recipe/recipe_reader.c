/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipe reader: a stack of pieces, the root at the bottom.
 */
#include "base/mem.h"
#include "recipe/recipe_reader.h"

struct frame {
	struct recipe_piece piece;
	struct buf bytes;		/* INLINE entries point into it */
	struct hint hint;
	u32 next;			/* child or entry to go on with */
};

struct recipe_reader {
	struct depot *depot;
	struct decoder *dec;
	struct content ct;
	struct hint hint;		/* of whoever holds ct */
	u8 inline_data[RECIPE_INLINE_MAX];
	struct frame *frames;		/* [ct.level] is the root's */
	int depth;			/* lowest level loaded; ct.level + 1: none */
	bool done;
	recipe_piece_fn *on_piece;
	void *on_piece_ctx;
};

static int copy_content(struct recipe_reader *r, const struct content *ct)
{
	u32 i;

	r->ct = *ct;
	for (i = 0; ct->kind == CONTENT_ENTRIES && i < ct->nr; i++) {
		if (ct->entries[i].type != RECIPE_INLINE)
			continue;
		/* One inline entry is all an object can have room for. */
		if (ct->nr != 1 || ct->entries[i].len > RECIPE_INLINE_MAX)
			return -AKIN_E_bad_field;
		memcpy(r->inline_data, ct->entries[i].data,
		       ct->entries[i].len);
		r->ct.entries[i].data = r->inline_data;
	}
	return 0;
}

int recipe_reader_open(struct depot *d, struct decoder *dec,
		       const struct content *ct, const struct hint *hint,
		       struct recipe_reader **out, struct akin_diag *diag)
{
	struct recipe_reader *r;
	int err;

	r = mem_zalloc(sizeof(*r));
	if (!r)
		return diag_set(diag, -AKIN_E_nomem, "recipe");
	r->depot = d;
	r->dec = dec;
	err = copy_content(r, ct);
	if (!err && hint && hint->nr) {
		r->hint.containers = mem_dup(hint->containers, hint->nr *
					     sizeof(*hint->containers));
		err = r->hint.containers ? 0 : -AKIN_E_nomem;
		r->hint.nr = hint->nr;
	}
	if (!err && ct->kind == CONTENT_ROOT) {
		r->frames = mem_calloc(ct->level + 1u, sizeof(*r->frames));
		err = r->frames ? 0 : -AKIN_E_nomem;
	}
	r->depth = ct->level + 1;
	if (err) {
		recipe_reader_close(r);
		return diag_set(diag, err, "recipe: %s", akin_strerror(err));
	}
	*out = r;
	return 0;
}

static void frame_release(struct frame *f)
{
	recipe_piece_release(&f->piece);
	buf_release(&f->bytes);
	mem_free(f->hint.containers);
	memset(f, 0, sizeof(*f));
}

void recipe_reader_close(struct recipe_reader *r)
{
	int i;

	if (!r)
		return;
	for (i = 0; r->frames && i <= r->ct.level; i++)
		frame_release(&r->frames[i]);
	mem_free(r->frames);
	mem_free(r->hint.containers);
	mem_free(r);
}

void recipe_reader_on_piece(struct recipe_reader *r, recipe_piece_fn *fn,
			    void *ctx)
{
	r->on_piece = fn;
	r->on_piece_ctx = ctx;
}

/* Load the piece at @level that the frame above (or the content) names. */
static int load(struct recipe_reader *r, int level, const struct fp *fp,
		const struct hint *hint, u64 bytes, struct akin_diag *diag)
{
	struct frame *f = &r->frames[level];
	int err = 0;

	recipe_piece_release(&f->piece);
	memset(&f->piece, 0, sizeof(f->piece));
	if (r->on_piece)
		err = r->on_piece(r->on_piece_ctx, fp, diag);
	if (!err)
		err = depot_read_piece(r->depot, r->dec, fp, hint, &f->bytes,
				       &f->hint, diag);
	if (err)
		return err;
	err = recipe_piece_decode(f->bytes.data, f->bytes.len, &f->piece);
	if (!err && (f->piece.level != level || f->piece.bytes != bytes))
		err = -AKIN_E_bad_field;
	if (err)
		return diag_set(diag, err, "recipe piece %02x%02x%02x%02x: %s",
				fp->b[0], fp->b[1], fp->b[2], fp->b[3],
				akin_strerror(err));
	f->next = 0;
	r->depth = level;
	return 0;
}

/* Make level 0 the next leaf; r->done at the end. */
static int next_leaf(struct recipe_reader *r, struct akin_diag *diag)
{
	const struct recipe_child *c;
	struct frame *f;
	int level, err;

	if (r->depth > r->ct.level) {
		err = load(r, r->ct.level, &r->ct.root, &r->hint, r->ct.bytes,
			   diag);
		if (err)
			return err;
	}
	level = r->depth;
	while (level <= r->ct.level &&
	       r->frames[level].next >= r->frames[level].piece.nr)
		level++;
	if (level > r->ct.level) {
		r->done = true;
		return 0;
	}
	while (level > 0) {
		f = &r->frames[level];
		c = &f->piece.children[f->next++];
		level--;
		err = load(r, level, &c->fp, &f->hint, c->bytes, diag);
		if (err)
			return err;
	}
	return 0;
}

int recipe_reader_next(struct recipe_reader *r,
		       const struct recipe_entry **entries_ret, u32 *nr_ret,
		       const struct hint **hint_ret, struct akin_diag *diag)
{
	struct frame *f;
	int err;

	if (r->done || r->ct.kind == CONTENT_NONE)
		return 0;
	if (r->ct.kind == CONTENT_ENTRIES) {
		*entries_ret = r->ct.entries;
		*nr_ret = r->ct.nr;
		*hint_ret = &r->hint;
		r->done = true;
		return 1;
	}
	err = next_leaf(r, diag);
	if (err || r->done)
		return err;
	f = &r->frames[0];
	*entries_ret = f->piece.entries + f->next;
	*nr_ret = f->piece.nr - f->next;
	*hint_ret = &f->hint;
	f->next = f->piece.nr;
	return 1;
}

/* Down from the root along the children that hold @off. */
static int seek_leaf(struct recipe_reader *r, u64 *off, struct akin_diag *diag)
{
	const struct recipe_child *c;
	struct frame *f;
	int level, err;

	err = load(r, r->ct.level, &r->ct.root, &r->hint, r->ct.bytes, diag);
	for (level = r->ct.level; !err && level > 0; level--) {
		f = &r->frames[level];
		c = f->piece.children;
		while (*off >= c->bytes) {
			*off -= c->bytes;
			c++;
			f->next++;
		}
		f->next++;
		err = load(r, level - 1, &c->fp, &f->hint, c->bytes, diag);
	}
	return err;
}

int recipe_reader_seek(struct recipe_reader *r, u64 off, u64 *skip_ret,
		       struct akin_diag *diag)
{
	const struct recipe_entry *e;
	u32 nr, i = 0;
	int err;

	*skip_ret = 0;
	r->done = off >= r->ct.bytes;
	if (r->done)
		return 0;
	if (r->ct.kind == CONTENT_ROOT) {
		err = seek_leaf(r, &off, diag);
		if (err)
			return err;
		e = r->frames[0].piece.entries;
		nr = r->frames[0].piece.nr;
	} else {
		e = r->ct.entries;
		nr = r->ct.nr;
	}
	while (i < nr && off >= recipe_entry_bytes(&e[i]))
		off -= recipe_entry_bytes(&e[i++]);
	*skip_ret = off;
	if (r->ct.kind == CONTENT_ROOT) {
		r->frames[0].next = i;
	} else {
		/* The few that a content holds: drop those before. */
		r->ct.nr -= i;
		memmove(r->ct.entries, r->ct.entries + i,
			r->ct.nr * sizeof(*r->ct.entries));
	}
	return 0;
}
