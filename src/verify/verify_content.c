/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content checker: down the tree of pieces with one frame a level. A piece is
 * noted as whole when everything below it was; one bad chunk leaves the pieces
 * on the way to it unnoted, and only those are walked again.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "verify/verify_content.h"
#include "verify/verify_seen.h"

struct frame {
	struct recipe_piece piece;
	struct buf bytes;
	struct hint hint;
	struct dir_hit at;
	u32 next;		/* child to go on with */
	bool bad;		/* something below is */
};

struct content_checker {
	struct depot *depot;
	struct decoder *dec;
	struct verify_seen *seen;
	bool doubt_bases;
	struct content_checker_stats stats;
	struct fp fps[RECIPE_LEAF_MAX];
	u32 lens[RECIPE_LEAF_MAX];
	struct dir_hit hits[RECIPE_LEAF_MAX];
	struct frame frames[RECIPE_MAX_LEVEL + 1];
};

bool verify_is_damage(int code)
{
	switch (akin_error_class(code)) {
	case AKIN_CLASS_CORRUPT:
	case AKIN_CLASS_IO:
	case AKIN_CLASS_ABSENT:
	case AKIN_CLASS_UNSUPPORTED:
		return true;
	default:
		return false;
	}
}

int content_checker_new(struct depot *d, struct decoder *dec,
			size_t seen_bytes, struct content_checker **out,
			struct akin_diag *diag)
{
	struct content_checker *c = mem_zalloc(sizeof(*c));

	if (c)
		c->seen = verify_seen_new(seen_bytes);
	if (!c || !c->seen) {
		content_checker_free(c);
		return diag_set(diag, -AKIN_E_nomem, "check");
	}
	c->depot = d;
	c->dec = dec;
	*out = c;
	return 0;
}

/* Empty a frame but keep its buffer. */
static void frame_reset(struct frame *f)
{
	recipe_piece_release(&f->piece);
	memset(&f->piece, 0, sizeof(f->piece));
	f->next = 0;
	f->bad = false;
}

void content_checker_free(struct content_checker *c)
{
	u32 i;

	if (!c)
		return;
	for (i = 0; i < ARRAY_SIZE(c->frames); i++) {
		frame_reset(&c->frames[i]);
		buf_release(&c->frames[i].bytes);
		mem_free(c->frames[i].hint.containers);
	}
	verify_seen_free(c->seen);
	mem_free(c);
}

void content_checker_get_stats(const struct content_checker *c,
			       struct content_checker_stats *out)
{
	*out = c->stats;
}

void content_checker_doubt_bases(struct content_checker *c)
{
	c->doubt_bases = true;
}

static void __printf(3, 4) bad(struct content_verdict *v, int code,
			       const char *fmt, ...)
{
	va_list ap;

	if (v->nr_bad++)
		return;
	v->code = code;
	va_start(ap, fmt);
	vsnprintf(v->text, sizeof(v->text), fmt, ap);
	va_end(ap);
}

static bool is_damaged(struct content_checker *c, const struct dir_hit *at)
{
	if (c->doubt_bases)
		return depot_is_damaged(c->depot, at->container, at->entry);
	return depot_damage_has(&c->depot->damage, at->container, at->entry);
}

/* c->fps[i] was looked for and c->hits[i] came out. */
static void judge_hit(struct content_checker *c, u32 i, const char *what,
		      const struct akin_diag *why, struct content_verdict *v)
{
	const struct dir_hit *hit = &c->hits[i];
	const u8 *b = c->fps[i].b;

	if (!hit->container) {
		/* The first one missing is the one the message is about. */
		bad(v, -AKIN_E_fp_unknown, "%s", why->code ? why->text :
		    akin_strerror(-AKIN_E_fp_unknown));
	} else if (is_damaged(c, hit)) {
		bad(v, -AKIN_E_bad_data,
		    "%s %02x%02x%02x%02x, entry %u of container %llu, is "
		    "damaged", what, b[0], b[1], b[2], b[3], hit->entry,
		    (unsigned long long)hit->container);
	} else if (c->lens[i] && hit->len != c->lens[i]) {
		bad(v, -AKIN_E_bad_length,
		    "chunk %02x%02x%02x%02x, entry %u of container %llu, has "
		    "%u bytes and not %u", b[0], b[1], b[2], b[3], hit->entry,
		    (unsigned long long)hit->container, hit->len, c->lens[i]);
	}
}

/* Where are c->fps[0 .. n)? */
static int locate(struct content_checker *c, u32 n, const struct hint *hint,
		  struct akin_diag *why, struct akin_diag *diag)
{
	int err;

	err = depot_locate(c->depot, hint, c->fps, n, c->hits, why);
	if (err && !verify_is_damage(err))
		return diag_pass(diag, err, why);
	return 0;
}

static int check_entries(struct content_checker *c,
			 const struct recipe_entry *e, u32 nr,
			 const struct hint *hint, struct content_verdict *v,
			 struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	u32 i, n = 0;
	int err;

	for (i = 0; i < nr; i++) {
		if (e[i].type != RECIPE_CHUNK && e[i].type != RECIPE_REPEAT)
			continue;
		c->lens[n] = (u32)min_u64(e[i].len, UINT32_MAX);
		c->fps[n++] = e[i].fp;
	}
	err = n ? locate(c, n, hint, &why, diag) : 0;
	for (i = 0; !err && i < n; i++)
		judge_hit(c, i, "chunk", &why, v);
	c->stats.chunks += n;
	return err;
}

static int decode_piece(struct frame *f, u32 level, const struct fp *fp,
			u64 bytes, struct content_verdict *v)
{
	int err;

	err = recipe_piece_decode(f->bytes.data, f->bytes.len, &f->piece);
	if (!err && (f->piece.level != level || f->piece.bytes != bytes))
		err = -AKIN_E_bad_field;
	if (err && verify_is_damage(err)) {
		bad(v, err, "recipe piece %02x%02x%02x%02x: %s", fp->b[0],
		    fp->b[1], fp->b[2], fp->b[3], akin_strerror(err));
		return 0;
	}
	return err ? err : 1;
}

/*
 * Load the piece @fp into frame @level: 1, or 0 if it need not (seen before)
 * or cannot (the verdict says so) be gone into.
 */
static int load(struct content_checker *c, u32 level, const struct fp *fp,
		u64 bytes, const struct hint *hint, struct content_verdict *v,
		struct akin_diag *diag)
{
	struct frame *f = &c->frames[level];
	struct akin_diag why = { 0 };
	u64 before = v->nr_bad;
	int err;

	frame_reset(f);
	c->fps[0] = *fp;
	c->lens[0] = 0;
	err = locate(c, 1, hint, &why, diag);
	if (err)
		return err;
	judge_hit(c, 0, "recipe piece", &why, v);
	f->at = c->hits[0];
	if (v->nr_bad != before ||
	    verify_seen_has(c->seen, f->at.container, f->at.entry))
		return 0;
	err = depot_read_piece(c->depot, c->dec, fp, hint, &f->bytes, &f->hint,
			       &why);
	if (err && verify_is_damage(err)) {
		bad(v, err, "%s", why.text);
		return 0;
	}
	if (err)
		return diag_pass(diag, err, &why);
	c->stats.pieces++;
	err = decode_piece(f, level, fp, bytes, v);
	return err < 0 ? diag_set(diag, err, "recipe piece") : err;
}

/* Frame @level is done: note it, or spoil the one above. */
static void finish_frame(struct content_checker *c, u32 level, u32 top)
{
	struct frame *f = &c->frames[level];

	if (!f->bad)
		verify_seen_add(c->seen, f->at.container, f->at.entry);
	else if (level < top)
		c->frames[level + 1].bad = true;
}

static int check_tree(struct content_checker *c, const struct content *ct,
		      const struct hint *hint, struct content_verdict *v,
		      struct akin_diag *diag)
{
	const struct recipe_child *child;
	u32 level = ct->level;
	struct frame *f;
	u64 before;
	int more;

	more = load(c, level, &ct->root, ct->bytes, hint, v, diag);
	while (more > 0) {
		f = &c->frames[level];
		before = v->nr_bad;
		if (level > 0 && f->next < f->piece.nr) {
			child = &f->piece.children[f->next++];
			more = load(c, level - 1, &child->fp, child->bytes,
				    &f->hint, v, diag);
			if (more > 0)
				level--;
			f->bad = f->bad || v->nr_bad != before;
			more = more < 0 ? more : 1;
			continue;
		}
		if (level == 0)
			more = check_entries(c, f->piece.entries, f->piece.nr,
					     &f->hint, v, diag);
		if (more < 0)
			break;
		f->bad = f->bad || v->nr_bad != before;
		finish_frame(c, level, ct->level);
		more = level++ < ct->level;
	}
	return more < 0 ? more : 0;
}

int content_checker_check(struct content_checker *c, const struct content *ct,
			  const struct hint *hint, struct content_verdict *out,
			  struct akin_diag *diag)
{
	memset(out, 0, sizeof(*out));
	if (ct->kind == CONTENT_ENTRIES)
		return check_entries(c, ct->entries, ct->nr, hint, out, diag);
	if (ct->kind == CONTENT_ROOT && ct->level <= RECIPE_MAX_LEVEL)
		return check_tree(c, ct, hint, out, diag);
	return 0;
}

/* Places of a listing's pieces, or of the root of its recipe, in c->hits; how
 * many, 0 if not all are known. */
static u32 listing_places(struct content_checker *c, const struct content *ct,
			  const struct hint *hint)
{
	u32 i, n = 0;

	if (ct->kind == CONTENT_ROOT)
		c->fps[n++] = ct->root;
	for (i = 0; ct->kind == CONTENT_ENTRIES && i < ct->nr; i++) {
		if (ct->entries[i].type != RECIPE_CHUNK)
			return 0;
		c->fps[n++] = ct->entries[i].fp;
	}
	if (n && depot_locate(c->depot, hint, c->fps, n, c->hits, NULL))
		return 0;
	return n;
}

bool content_checker_seen(struct content_checker *c, const struct content *ct,
			  const struct hint *hint)
{
	u32 i, n = listing_places(c, ct, hint);

	for (i = 0; i < n; i++) {
		if (!verify_seen_has(c->seen, c->hits[i].container,
				     c->hits[i].entry))
			return false;
	}
	return n > 0;
}

void content_checker_note(struct content_checker *c, const struct content *ct,
			  const struct hint *hint)
{
	u32 i, n = listing_places(c, ct, hint);

	for (i = 0; i < n; i++)
		verify_seen_add(c->seen, c->hits[i].container,
				c->hits[i].entry);
}
