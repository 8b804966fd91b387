/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the predecessor, leaf by leaf, into the window: a recipe's leaves, or
 * a container's entries in portions of the same size.
 *
 * The bytes of a container are those of its chunks one behind the other: not
 * those of the stream, which had duplicates in between, but drifts are
 * corrected all the time.
 */
#include "base/mem.h"
#include "follow/follow_internal.h"

/* Entries of a container that go together. */
#define PORTION 64

void follow_rewind(struct follow *f)
{
	recipe_reader_close(f->reader);
	f->reader = NULL;
	window_reset(&f->win, 0);
	memset(f->asked, 0, sizeof(f->asked));
	f->next_entry = 0;
	f->all_read = false;
	f->stretched = false;
	f->piece_open = false;
	f->nr_nodes = 0;
}

bool follow_need_decoder(struct follow *f)
{
	struct codec_choice choice = depot_codec(f->depot);

	if (!f->have_dec)
		f->have_dec = !decoder_init(&f->dec, &choice, NULL);
	return f->have_dec;
}

/* Leaves come last; what is followed by another piece was a node. */
static int on_piece(void *ctx, const struct fp *fp, struct akin_diag *diag)
{
	struct follow *f = ctx;

	if (f->piece_open) {
		f->nodes[1] = f->nodes[0];
		f->nodes[0] = f->piece;
		f->nr_nodes = (u32)min_u64(f->nr_nodes + 1,
					   ARRAY_SIZE(f->nodes));
	}
	f->piece = *fp;
	f->piece_open = true;
	return 0;
}

static bool need_reader(struct follow *f)
{
	if (f->reader)
		return true;
	if (!follow_need_decoder(f) ||
	    recipe_reader_open(f->depot, &f->dec, &f->pred->ct,
			       &f->pred->hint, &f->reader, NULL))
		return false;
	recipe_reader_on_piece(f->reader, on_piece, f);
	return true;
}

static bool read_leaf(struct follow *f)
{
	bool is_root = f->pred->ct.kind == CONTENT_ROOT;
	const struct recipe_entry *e;
	const struct hint *hint;
	u32 nr, first = f->win.nr;
	int more;

	if (!need_reader(f))
		return false;
	more = recipe_reader_next(f->reader, &e, &nr, &hint, NULL);
	if (more <= 0) {
		f->all_read = true;
		return more == 0;
	}
	f->piece_open = false;
	f->stats.leaves++;
	if (window_add_leaf(&f->win, is_root ? &f->piece : NULL, e, nr, hint))
		return false;
	/* What is in memory now may be gone when the cursor gets there. */
	follow_resolve(f, first, f->win.nr);
	return true;
}

u64 follow_entry_off(const struct directory *d, u32 index)
{
	u64 off = 0;
	u32 i;

	for (i = 0; i < index; i++)
		off += d->entries[i].len;
	return off;
}

static bool read_portion(struct follow *f)
{
	u64 container = f->pred->container;
	struct container_reader *r;
	const struct directory *d;
	u32 nr;
	int err;

	if (dircache_get(f->depot->dirs, container, &r, NULL))
		return false;
	d = container_directory(r);
	nr = d->nr_entries - (u32)min_u64(f->next_entry, d->nr_entries);
	nr = (u32)min_u64(nr, PORTION);
	f->all_read = nr == 0;
	err = nr ? window_add_entries(&f->win, d->entries + f->next_entry, nr,
				      container) : 0;
	f->next_entry += nr;
	dircache_put(f->depot->dirs, container);
	return !err;
}

bool follow_read(struct follow *f)
{
	return f->pred->container ? read_portion(f) : read_leaf(f);
}

static bool jump_in_container(struct follow *f, u64 off)
{
	u64 container = f->pred->container, at = 0;
	struct container_reader *r;
	const struct directory *d;
	u32 i;

	if (dircache_get(f->depot->dirs, container, &r, NULL))
		return false;
	d = container_directory(r);
	for (i = 0; i < d->nr_entries && at + d->entries[i].len <= off; i++)
		at += d->entries[i].len;
	dircache_put(f->depot->dirs, container);
	f->next_entry = i;
	window_reset(&f->win, at);
	return true;
}

bool follow_jump(struct follow *f, u64 off)
{
	u64 skip = 0;

	f->all_read = false;
	if (f->pred->container)
		return jump_in_container(f, off);
	if (!need_reader(f))
		return false;
	/* The few entries of a short content are read but once. */
	if (f->pred->ct.kind != CONTENT_ROOT)
		return true;
	if (recipe_reader_seek(f->reader, off, &skip, NULL))
		return false;
	window_reset(&f->win, off - skip);
	memset(f->asked, 0, sizeof(f->asked));
	return true;
}
