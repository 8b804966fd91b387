/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The invariants of the model, and its initial states.
 *
 * They are promises about what a crash would leave, checked in every state,
 * so that the crash need not happen to be judged: "durable" below means both
 * visible now and synced.
 */
#include "model_state.h"

#define DURABLY (MF_EXISTS | MF_DURABLE)

static enum mbad check_snapshots(const struct mstate *s)
{
	u8 listed = model_chunks(s, model_readable(s, DURABLY, true));
	u8 files;
	u8 found = model_chunks(s, model_found(s, DURABLY, &files));
	unsigned i;

	for (i = 0; i < M_SNAPS; i++) {
		const struct msnap *n = &s->snap[i];
		bool record = n->flags & MS_RECORD, tomb = n->flags & MS_TOMB;
		bool live = n->flags & MS_LIVE;

		if (live && n->need & ~listed)
			return MB_I1_SNAPSHOT;
		if (n->flags & MS_ACK && !live)
			return MB_I4_LOST;
		if (live && (!record || tomb))
			return MB_I4_RECORD;
		if (record && !tomb && n->need & ~found)
			return MB_I4_PARTIAL;
		if (n->flags & MS_ACK_GONE && (live || !tomb))
			return MB_I4_GHOST;
	}
	return MB_NONE;
}

/* Who begins now may match whatever is not condemned. */
static enum mbad check_bases(const struct mstate *s)
{
	u8 usable = model_readable(s, MF_EXISTS, false);
	unsigned c;

	for (c = 0; c < M_CONTAINERS; c++) {
		int f = model_current(s, c);

		if (f >= 0 && !s->file[f].cond && s->file[f].has & ~usable)
			return MB_I1_BASE;
	}
	return MB_NONE;
}

static bool files_exist(const struct mstate *s, u8 files)
{
	unsigned f;

	for (f = 0; f < M_FILES; f++)
		if (files & 1u << f && !(s->file[f].flags & MF_EXISTS))
			return false;
	return true;
}

static enum mbad check_actors(const struct mstate *s)
{
	u8 reach = model_reach(s);
	unsigned i;

	for (i = 0; i < M_ACTORS; i++) {
		const struct mactor *a = &s->actor[i];
		bool session = (a->pc >= MP_W_STORE && a->pc <= MP_W_COMMIT) ||
			       a->pc == MP_O_SYNC || a->pc == MP_O_COMMIT;

		if (session && a->places & ~reach)
			return MB_I2_SESSION;
		if (a->pc == MP_R_READ && !files_exist(s, a->files))
			return MB_I2_READER;
		if (a->pc == MP_G_COPY &&
		    !files_exist(s, (u8)(1u << 2 * (a->aux - 1))))
			return MB_I2_READER;
	}
	return MB_NONE;
}

static enum mbad check_checkpoints(const struct mstate *s)
{
	u8 readable = model_readable(s, DURABLY, true);
	unsigned i;

	for (i = 0; i < M_SESSIONS; i++)
		if (s->checkpoint[i] & ~readable)
			return MB_I2_CHECKPOINT;
	return MB_NONE;
}

enum mbad model_check(const struct model *m, const struct mstate *s)
{
	enum mbad bad = (enum mbad)s->bad;

	if (!bad)
		bad = check_snapshots(s);
	if (!bad)
		bad = check_actors(s);
	if (!bad)
		bad = check_checkpoints(s);
	if (!bad && !m->lenient)
		bad = check_bases(s);
	return bad;
}

/* The only successor of a gc that is alone, if there is one. */
static void keep_last(void *ctx, const struct mstate *next, u8 actor,
		      const char *label)
{
	*(struct mstate *)ctx = *next;
}

static enum mbad run_gc(const struct model *m, struct mstate *s)
{
	struct mactor a = { .kind = MK_GC, .pc = MP_START, .sess = 6 };
	enum mbad bad = MB_NONE;

	s->actor[0] = a;
	while (s->actor[0].pc != MP_DONE && !bad) {
		struct mstate from = *s;
		struct mstep st = { m, &from, 0, keep_last, s };

		model_step_gc(&st);
		model_normalise(s);
		bad = model_check(m, s);
		if (memcmp(&from, s, sizeof(from)) == 0)
			bad = MB_STUCK;
	}
	return bad;
}

/* Every file is kept for something, and all that it keeps is. */
static enum mbad check_tight(const struct model *m, const struct mstate *s)
{
	u8 keep = model_mark(m, s, PICK_HINT);
	unsigned f;

	for (f = 0; f < M_FILES; f++) {
		const struct mfile *file = &s->file[f];

		if (!(file->flags & (MF_EXISTS | MF_NAMED)))
			continue;
		if (!(file->flags & MF_CURRENT) || file->cond)
			return MB_LEAK;
		if (!(file->has & keep))
			return MB_LEAK;
		if (file->has & ~keep && m->copy && !(f & 1) &&
		    !s->file[f + 1].has)
			return MB_LEAK;
	}
	return MB_NONE;
}

enum mbad model_check_end(const struct model *m, const struct mstate *s)
{
	struct mstate end = *s;
	enum mbad bad;

	/* What `gc --interrupted` does. */
	memset(end.checkpoint, 0, sizeof(end.checkpoint));
	bad = run_gc(m, &end);
	return bad ? bad : check_tight(m, &end);
}

static void put_file(struct mstate *s, unsigned c, u8 first, u8 second,
		     u8 base)
{
	struct mfile *f = &s->file[2 * c];

	f->has = (u8)(1u << 2 * c | (second ? 2u << 2 * c : 0));
	f->base = base;
	f->flags = MF_EXISTS | MF_DURABLE | MF_NAMED | MF_CURRENT;
	s->fp[2 * c] = first;
	s->fp[2 * c + 1] = second;
	s->next_container = (u8)(c + 1);
}

static void put_snapshot(struct mstate *s, unsigned i, u8 need, u8 hints,
			 bool forgotten)
{
	struct msnap *n = &s->snap[i];

	n->need = need;
	n->hints = hints;
	n->flags = MS_RECORD | MS_LIVE | MS_ACK;
	if (forgotten)
		n->flags = MS_RECORD | MS_TOMB | MS_GONE | MS_ACK_GONE;
}

/*
 * Chunks 1, 2, 4 (and 16) are stored, 8 is new. Snapshot 0 is {1, 4}; chunk
 * 4 stands on a place of the container below.
 */
void model_init_state(const struct model *m, struct mstate *s)
{
	unsigned i;

	memset(s, 0, sizeof(*s));
	if (m->setup == MODEL_MIXED) {
		put_file(s, 0, 1, 2, 0);
		put_file(s, 1, 16, 4, 0x1);
		put_snapshot(s, 2, 16, 0x2, false);
	} else {
		put_file(s, 0, 1, 2, 0);
		put_file(s, 1, 4, 0, 0x2);
	}
	if (m->setup == MODEL_COPIES)
		put_file(s, 2, 1, 0, 0);
	put_snapshot(s, 0, 1 | 4, 0x3,
		     m->setup == MODEL_FORGOTTEN || m->setup == MODEL_MIXED);
	s->seq = 1;
	s->grown = 1;
	s->kills = m->kills;
	s->crashes = m->crash;
	for (i = 0; i < M_ACTORS; i++) {
		s->actor[i].kind = (u8)m->kinds[i];
		s->actor[i].pc = m->kinds[i] == MK_NONE ? MP_DONE : MP_START;
		s->actor[i].sess = (u8)(1 + i);
	}
}
