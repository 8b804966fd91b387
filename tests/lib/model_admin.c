/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forget, undelete and the faults of the model.
 *
 * A tombstone is written and voided only under the catalog's write lock, after
 * a look at what the catalog says: otherwise the late tombstone of a forget
 * could bury a snapshot that has been undeleted since.
 */
#include "model_state.h"

static void emit(struct mstep *st, const struct mstate *next,
		 const char *label)
{
	st->emit(st->ctx, next, st->who, label);
}

static void forget_catalog(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	u8 *flags = &n.snap[0].flags;

	if (!(*flags & MS_LIVE)) {
		model_end_actor(&n, st->who);
		emit(st, &n, "nothing to forget");
		return;
	}
	n.seq++;
	*flags &= (u8)~(MS_LIVE | MS_ACK | MS_LOST);
	*flags |= MS_GONE;
	a->pc = model_off(st->m, MODEL_FORGET_TOMB_FIRST) ? MP_F_ACK :
							     MP_F_TOMB;
	emit(st, &n, "forget in the catalog");
}

static void forget_tombstone(struct mstep *st)
{
	struct mstate n = *st->s;
	u8 *flags = &n.snap[0].flags;

	if (*flags & MS_GONE || model_off(st->m, MODEL_TOMB_UNCHECKED))
		*flags |= MS_TOMB;
	model_me(&n, st->who)->pc = MP_F_ACK;
	emit(st, &n, "tombstone, if it is still forgotten");
}

static void forget_early_tombstone(struct mstep *st)
{
	struct mstate n = *st->s;

	if (n.snap[0].flags & MS_LIVE)
		n.snap[0].flags |= MS_TOMB;
	model_me(&n, st->who)->pc = MP_F_CATALOG;
	emit(st, &n, "tombstone before the catalog");
}

static void forget_finish(struct mstep *st)
{
	struct mstate n = *st->s;
	u8 *flags = &n.snap[0].flags;

	if ((*flags & (MS_GONE | MS_TOMB)) == (MS_GONE | MS_TOMB))
		*flags |= MS_ACK_GONE;
	model_end_actor(&n, st->who);
	emit(st, &n, "acknowledge the forget");
}

void model_step_forget(struct mstep *st)
{
	u8 pc = st->s->actor[st->who].pc;

	if (!model_may_write(st) && pc != MP_F_ACK)
		return;
	switch (pc) {
	case MP_START:
		if (model_off(st->m, MODEL_FORGET_TOMB_FIRST))
			forget_early_tombstone(st);
		else
			forget_catalog(st);
		break;
	case MP_F_CATALOG:
		forget_catalog(st);
		break;
	case MP_F_TOMB:
		forget_tombstone(st);
		break;
	case MP_F_ACK:
		forget_finish(st);
		break;
	}
}

static bool may_undelete(const struct mstep *st)
{
	const struct msnap *snap = &st->s->snap[0];
	u8 usable = model_readable(st->s, MF_EXISTS, false);

	if (!(snap->flags & MS_GONE))
		return false;
	if (model_off(st->m, MODEL_UNDELETE_SINCE))
		return !(snap->flags & MS_LOST);
	return !(snap->need & ~model_chunks(st->s, usable)) ||
	       model_off(st->m, MODEL_UNDELETE_UNCHECKED);
}

static void undelete_check(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	if (!may_undelete(st)) {
		model_end_actor(&n, st->who);
		emit(st, &n, "refused: not forgotten, or condemned");
		return;
	}
	a->pc = MP_U_COMMIT;
	if (!model_off(st->m, MODEL_UNDELETE_NO_WLOCK))
		n.wlock = (u8)(st->who + 1);
	n.snap[0].flags &= (u8)~MS_ACK_GONE;
	if (!model_off(st->m, MODEL_VOID_LATE))
		n.snap[0].flags &= (u8)~MS_TOMB;
	emit(st, &n, "take the write lock, void the tombstone");
}

static void undelete_commit(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	n.seq++;
	n.wlock = 0;
	n.snap[0].flags |= MS_LIVE;
	n.snap[0].flags &= (u8)~MS_GONE;
	if (!model_off(st->m, MODEL_UNDELETE_NOT_ROOT))
		n.grown = n.seq;
	a->pc = model_off(st->m, MODEL_VOID_LATE) ? MP_U_VOID : MP_U_ACK;
	emit(st, &n, "undelete in the catalog");
}

void model_step_undelete(struct mstep *st)
{
	u8 pc = st->s->actor[st->who].pc;
	struct mstate n = *st->s;

	if (!model_may_write(st) && pc != MP_U_ACK)
		return;
	switch (pc) {
	case MP_START:
		undelete_check(st);
		break;
	case MP_U_COMMIT:
		undelete_commit(st);
		break;
	case MP_U_VOID:
		n.snap[0].flags &= (u8)~MS_TOMB;
		model_me(&n, st->who)->pc = MP_U_ACK;
		emit(st, &n, "void the tombstone, late");
		break;
	case MP_U_ACK:
		/* Unless somebody has forgotten it again. */
		if (n.snap[0].flags & MS_LIVE)
			n.snap[0].flags |= MS_ACK;
		model_end_actor(&n, st->who);
		emit(st, &n, "acknowledge the undelete");
		break;
	}
}

static void kill_actors(struct mstep *st)
{
	struct mstate n;
	unsigned i;

	for (i = 0; i < M_ACTORS; i++) {
		u8 pc = st->s->actor[i].pc;

		if (pc == MP_START || pc == MP_DONE)
			continue;
		n = *st->s;
		n.kills--;
		model_end_actor(&n, i);
		st->emit(st->ctx, &n, (u8)i, "KILLED");
	}
}

/* After the crash somebody collects; somebody may go on writing. */
static void reboot(const struct model *m, struct mstate *n)
{
	static const enum mkind kinds[M_ACTORS] = { MK_GC, MK_WRITER2,
						    MK_NONE };
	unsigned i;

	n->wlock = 0;
	n->crashes--;
	n->kills = 0;
	n->epoch = 1;
	memset(n->pin, 0, sizeof(n->pin));
	for (i = 0; i < M_ACTORS; i++) {
		enum mkind kind = kinds[i];
		struct mactor a = { .sess = (u8)(4 + i) };

		if (kind == MK_WRITER2 && (!m->resume || n->snap[2].flags))
			kind = MK_NONE;
		a.kind = (u8)kind;
		a.pc = kind == MK_NONE ? MP_DONE : MP_START;
		n->actor[i] = a;
	}
}

/* What was not synced is there or not, each file for itself. */
static void settle(struct mstate *n, u8 unsynced, u8 there)
{
	unsigned f;

	for (f = 0; f < M_FILES; f++) {
		if (!(unsynced & 1u << f))
			continue;
		n->file[f].flags &= (u8)~(MF_EXISTS | MF_DURABLE);
		if (there & 1u << f)
			n->file[f].flags |= MF_EXISTS | MF_DURABLE;
	}
}

static void crash(struct mstep *st)
{
	u8 unsynced = 0, there = 0;
	struct mstate n;
	unsigned f;

	for (f = 0; f < M_FILES; f++) {
		u8 both = MF_EXISTS | MF_DURABLE;
		u8 is = st->s->file[f].flags & both;

		if (is && is != both)
			unsynced |= (u8)(1u << f);
	}
	do {
		n = *st->s;
		reboot(st->m, &n);
		settle(&n, unsynced, there);
		st->emit(st->ctx, &n, M_ENV, "the machine crashes");
		if (st->m->loss) {
			model_rebuild(&n);
			st->emit(st->ctx, &n, M_ENV,
				 "the machine crashes, catalog rebuilt");
		}
		/* The next subset of unsynced. */
		there = (u8)((there - unsynced) & unsynced);
	} while (there);
}

void model_step_faults(struct mstep *st)
{
	if (st->s->kills)
		kill_actors(st);
	if (st->s->crashes)
		crash(st);
}
