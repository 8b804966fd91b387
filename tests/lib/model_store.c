/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of the model: what can be read, marked, revived, rebuilt.
 *
 * Bases have smaller container numbers than what stands on them, so every
 * closure is one pass: upwards to see what decodes, downwards to see what is
 * needed.
 */
#include "model_state.h"

int model_current(const struct mstate *s, unsigned c)
{
	unsigned f;

	for (f = 2 * c; f < 2 * c + 2; f++) {
		u8 both = MF_NAMED | MF_CURRENT;

		if ((s->file[f].flags & both) == both)
			return (int)f;
	}
	return -1;
}

bool model_alive(const struct mstate *s, u8 sess)
{
	unsigned i;

	for (i = 0; i < M_ACTORS; i++) {
		const struct mactor *a = &s->actor[i];

		if (a->sess == sess && a->pc != MP_START && a->pc != MP_DONE)
			return true;
	}
	return false;
}

u8 model_chunks(const struct mstate *s, u8 places)
{
	unsigned p;
	u8 chunks = 0;

	for (p = 0; p < M_PLACES; p++)
		if (places & 1u << p)
			chunks |= s->fp[p];
	return chunks;
}

u8 model_readable(const struct mstate *s, u8 flags, bool condemned_too)
{
	unsigned c;
	u8 ok = 0;

	for (c = 0; c < M_CONTAINERS; c++) {
		int f = model_current(s, c);

		if (f < 0 || (s->file[f].flags & flags) != flags)
			continue;
		if (s->file[f].cond && !condemned_too)
			continue;
		if (!(s->file[f].base & ~ok))
			ok |= s->file[f].has;
	}
	return ok;
}

/*
 * A generation holds a subset of what older ones of its container hold, so
 * the oldest that decodes is the best, and greedily so from the lowest number
 * up.
 */
u8 model_found(const struct mstate *s, u8 flags, u8 *files_ret)
{
	unsigned f;
	u8 ok = 0;

	*files_ret = 0;
	for (f = 0; f < M_FILES; f++) {
		const struct mfile *file = &s->file[f];

		if ((f & 1) && (*files_ret & 1u << (f - 1)))
			continue;
		if ((file->flags & flags) != flags || file->base & ~ok)
			continue;
		ok |= file->has;
		*files_ret |= (u8)(1u << f);
	}
	return ok;
}

u8 model_reach(const struct mstate *s)
{
	const u8 flags = MF_NAMED | MF_EXISTS;
	unsigned f;
	u8 ok = 0;

	for (f = 0; f < M_FILES; f++) {
		const struct mfile *file = &s->file[f];

		if ((file->flags & flags) == flags && !(file->base & ~ok))
			ok |= file->has;
	}
	return ok;
}

u8 model_visible(const struct mstate *s, u8 lock, bool condemned_too)
{
	unsigned f;
	u8 places = 0;

	for (f = 0; f < M_FILES; f++) {
		const struct mfile *file = &s->file[f];

		if (!(file->flags & MF_NAMED))
			continue;
		if (!file->cond || file->cond > lock || condemned_too)
			places |= file->has;
	}
	return places;
}

u8 model_closure(const struct mstate *s, u8 places)
{
	int c;

	for (c = M_CONTAINERS - 1; c >= 0; c--) {
		int f = model_current(s, (unsigned)c);

		if (f >= 0 && s->file[f].has & places)
			places |= s->file[f].base;
	}
	return places;
}

u8 model_current_files(const struct mstate *s, u8 places)
{
	unsigned c;
	u8 files = 0;

	for (c = 0; c < M_CONTAINERS; c++) {
		int f = model_current(s, c);

		if (f >= 0 && s->file[f].has & places)
			files |= (u8)(1u << f);
	}
	return files;
}

static u8 pick_one(const struct mstate *s, u8 chunk, u8 hints, u8 usable,
		   enum mpick how)
{
	int p, found = -1;

	for (p = M_PLACES - 1; p >= 0; p--) {
		if (s->fp[p] != chunk || !(usable & 1u << p))
			continue;
		if (found < 0 || how == PICK_OLDEST)
			found = p;
		if (how == PICK_HINT && hints & 1u << (p >> 1))
			return (u8)(1u << p);
	}
	return found < 0 ? 0 : (u8)(1u << found);
}

u8 model_pick(const struct mstate *s, u8 need, u8 hints, u8 usable,
	      enum mpick how)
{
	unsigned i;
	u8 places = 0;

	for (i = 0; i < 8; i++)
		if (need & 1u << i)
			places |= pick_one(s, (u8)(1u << i), hints, usable,
					   how);
	return places;
}

/* Listed, or taken from by a session that lives. */
static bool is_root(const struct model *m, const struct mstate *s, unsigned i)
{
	unsigned k;

	if (s->snap[i].flags & MS_LIVE)
		return true;
	if (model_off(m, MODEL_NO_PIN))
		return false;
	for (k = 0; k < M_SESSIONS; k++)
		if (s->pin[k] & 1u << i && model_alive(s, (u8)k))
			return true;
	return false;
}

u8 model_mark(const struct model *m, const struct mstate *s, enum mpick how)
{
	u8 usable = model_readable(s, MF_EXISTS, false);
	unsigned i;
	u8 keep = 0;

	for (i = 0; i < M_SNAPS; i++)
		if (is_root(m, s, i))
			keep |= model_pick(s, s->snap[i].need,
					   s->snap[i].hints, usable, how);
	for (i = 0; i < M_SESSIONS; i++)
		if (!model_off(m, MODEL_NO_CHECKPOINT_ROOT))
			keep |= s->checkpoint[i];
	return model_closure(s, keep);
}

/* The named generation of @c to stand on for @want, current or older. */
static int generation_for(const struct model *m, const struct mstate *s,
			  unsigned c, u8 want)
{
	int f = model_current(s, c);
	unsigned g;

	if (f >= 0 && !(want & ~s->file[f].has))
		return f;
	if (model_off(m, MODEL_NO_OLD_GENERATION))
		return f;
	for (g = 2 * c; g < 2 * c + 2; g++)
		if (s->file[g].flags & MF_NAMED && !(want & ~s->file[g].has))
			return (int)g;
	return -1;
}

void model_revive(const struct model *m, struct mstate *s, u8 places)
{
	int c;

	for (c = M_CONTAINERS - 1; c >= 0; c--) {
		u8 want = places & model_container_places((unsigned)c);
		int cur = model_current(s, (unsigned)c);
		int f;

		if (!want)
			continue;
		f = generation_for(m, s, (unsigned)c, want);
		if (f < 0) {
			s->bad = MB_I2_SESSION;
			continue;
		}
		if (f != cur && cur >= 0) {
			s->file[cur].flags &= (u8)~MF_CURRENT;
			s->file[cur].cond = s->seq;
		}
		s->file[f].flags |= MF_CURRENT;
		s->file[f].cond = 0;
		if (!model_off(m, MODEL_NO_BASE_CLOSURE))
			places |= s->file[f].base;
	}
}

u8 model_would_revive(const struct model *m, const struct mstate *s, u8 places)
{
	struct mstate after = *s;
	unsigned f;
	u8 files = 0;

	model_revive(m, &after, places);
	for (f = 0; f < M_FILES; f++)
		if (s->file[f].cond && !after.file[f].cond)
			files |= (u8)(1u << f);
	return files;
}

/*
 * A new catalog from the data pool alone, nobody else there: the records
 * without tombstone whose whole tree is found, numbers above every number
 * found.
 */
void model_rebuild(struct mstate *s)
{
	u8 files, found, chunks;
	unsigned i;

	found = model_found(s, MF_EXISTS, &files);
	chunks = model_chunks(s, found);
	s->next_container = 0;
	for (i = 0; i < M_FILES; i++) {
		struct mfile *f = &s->file[i];

		f->cond = 0;
		f->flags &= MF_EXISTS | MF_DURABLE;
		if (files & 1u << i)
			f->flags |= MF_NAMED | MF_CURRENT;
		if (f->flags & MF_EXISTS)
			s->next_container = (u8)(i / 2 + 1);
	}
	for (i = 0; i < M_SNAPS; i++) {
		struct msnap *n = &s->snap[i];
		bool live = (n->flags & (MS_RECORD | MS_TOMB)) == MS_RECORD &&
			    !(n->need & ~chunks);

		n->flags &= (u8)~(MS_LIVE | MS_GONE | MS_LOST);
		if (n->flags & MS_RECORD)
			n->flags |= live ? MS_LIVE : MS_GONE | MS_LOST;
	}
	memset(s->checkpoint, 0, sizeof(s->checkpoint));
	s->seq++;
	s->grown = s->seq;
}

/* The kernel drops the locks; what it held in memory is gone. */
void model_end_actor(struct mstate *s, unsigned who)
{
	struct mactor *a = model_me(s, who);
	struct mactor done = { .kind = a->kind, .pc = MP_DONE };

	if (s->wlock == who + 1)
		s->wlock = 0;
	s->pin[a->sess] = 0;
	*a = done;
}

static u64 numbers_used(const struct mstate *s)
{
	u64 used = 1ull << s->seq | 1ull << s->grown | 1;
	unsigned i;

	for (i = 0; i < M_FILES; i++)
		used |= 1ull << s->file[i].cond;
	for (i = 0; i < M_ACTORS; i++)
		used |= 1ull << s->actor[i].lock | 1ull << s->actor[i].num;
	return used;
}

static u8 rank(u64 used, u8 n)
{
	return (u8)__builtin_popcountll(used & ((1ull << n) - 1));
}

void model_normalise(struct mstate *s)
{
	u64 used = numbers_used(s);
	unsigned i;

	for (i = 0; i < M_FILES; i++)
		s->file[i].cond = rank(used, s->file[i].cond);
	for (i = 0; i < M_ACTORS; i++) {
		s->actor[i].lock = rank(used, s->actor[i].lock);
		s->actor[i].num = rank(used, s->actor[i].num);
	}
	s->grown = rank(used, s->grown);
	s->seq = rank(used, s->seq);
}
