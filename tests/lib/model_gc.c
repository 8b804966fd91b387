/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reclaim in the model.
 *
 *   begin -> MARK -> [COPY -> SYNC] -> CONDEMN -> MOVE -> TEST -> TOMB
 *             ^ ^                         |                       |
 *             | '------ roots grew -------'                       v
 *             '--------------------------- UNLINK <----------- UNNAME
 *
 * One round condemns what its mark found unused (or, in batches, the highest
 * such container) and puts at most one container into a new generation. A last
 * round, with nothing to condemn, only sweeps up files that nobody names.
 */
#include "model_state.h"

static void emit(struct mstep *st, const struct mstate *next,
		 const char *label)
{
	st->emit(st->ctx, next, st->who, label);
}

/* The two collectors disagree about which copy is sound. */
static enum mpick policy(const struct mstep *st)
{
	return st->s->actor[st->who].kind == MK_GC2 ? PICK_OLDEST : PICK_HINT;
}

static void gc_begin(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	unsigned i;

	if (!model_may_write(st))
		return;
	for (i = 0; i < M_ACTORS; i++)
		if (model_off(st->m, MODEL_ONE_GC) && i != st->who &&
		    n.actor[i].pc >= MP_G_MARK && n.actor[i].pc <= MP_G_UNLINK)
			return;
	n.seq++;
	if (!model_off(st->m, MODEL_NO_GC_LOCK))
		a->lock = n.seq;
	a->pc = MP_G_MARK;
	emit(st, &n, "begin: lock the session's bytes");
}

/* Containers wholly unused as a set of files; one partly used and never
 * copied as *@copy_ret = container + 1. */
static u8 plan(const struct mstep *st, u8 keep, u8 *copy_ret)
{
	const struct mstate *s = st->s;
	u8 files = 0;
	unsigned c;

	*copy_ret = 0;
	for (c = 0; c < M_CONTAINERS; c++) {
		int f = model_current(s, c);

		if (f < 0 || s->file[f].cond)
			continue;
		if (!(s->file[f].has & keep))
			files |= (u8)(1u << f);
		else if (s->file[f].has & ~keep && !s->file[2 * c + 1].has)
			*copy_ret = (u8)(c + 1);
	}
	if (!st->m->copy)
		*copy_ret = 0;
	return files;
}

/*
 * One container a round: the highest, so that nothing uncondemned ever stands
 * on something condemned.
 */
static void one_batch(const struct mstep *st, u8 *files, u8 *copy)
{
	unsigned f, first = M_FILES, last = 0;

	for (f = 0; f < M_FILES; f++) {
		if (!(*files & 1u << f))
			continue;
		first = first == M_FILES ? f : first;
		last = f;
	}
	if (model_off(st->m, MODEL_BASES_FIRST))
		last = first;
	if (*files && (!*copy || last / 2 + 1u > *copy)) {
		*copy = 0;
		*files = (u8)(1u << last);
	} else {
		*files = 0;
	}
}

static bool any_condemned(const struct mstate *s)
{
	unsigned f;

	for (f = 0; f < M_FILES; f++)
		if (s->file[f].cond)
			return true;
	return false;
}

static void gc_mark(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	u8 copy;

	a->places = model_mark(st->m, &n, policy(st));
	a->files = plan(st, a->places, &copy);
	a->num = n.seq;
	if (st->m->batches)
		one_batch(st, &a->files, &copy);
	a->aux = copy;
	if (copy) {
		a->pc = MP_G_COPY;
		emit(st, &n, "mark; will copy forward");
		return;
	}
	if (a->files || any_condemned(&n)) {
		a->pc = model_off(st->m, MODEL_TEST_BEFORE_CONDEMN) ?
				MP_G_EARLY : MP_G_CONDEMN;
		emit(st, &n, "mark");
		return;
	}
	a->num = 0;
	a->places = 0;
	a->pc = MP_G_TOMB;
	emit(st, &n, "mark: nothing to condemn, sweep");
}

/* The new generation holds what is kept, encoded without reference. */
static void gc_copy(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	unsigned old = 2u * (a->aux - 1u);
	struct mfile *f = &n.file[old + 1];

	a->pc = MP_G_SYNC;
	if (f->has) {
		/* Another gc was given the number. */
		a->aux = 0;
		a->pc = MP_G_CONDEMN;
	} else {
		f->has = n.file[old].has & a->places;
		f->flags = MF_EXISTS;
		f->sess = a->sess;
	}
	emit(st, &n, "write the new generation");
}

static void gc_sync(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	if (!model_off(st->m, MODEL_NO_SYNC))
		n.file[2 * (a->aux - 1) + 1].flags |= MF_DURABLE;
	a->pc = model_off(st->m, MODEL_TEST_BEFORE_CONDEMN) ? MP_G_EARLY :
							       MP_G_CONDEMN;
	emit(st, &n, "new generation durable");
}

static void gc_remark(struct mstep *st, struct mstate *n, const char *why)
{
	struct mactor *a = model_me(n, st->who);

	if (a->aux)
		n->file[2 * (a->aux - 1) + 1].flags &= (u8)~MF_EXISTS;
	a->aux = 0;
	a->places = 0;
	a->files = 0;
	a->num = 0;
	a->pc = MP_G_MARK;
	emit(st, n, why);
}

static void switch_generation(struct mstate *n, struct mactor *a)
{
	unsigned old = 2u * (a->aux - 1u);

	if (model_current(n, old / 2) != (int)old || n->file[old].cond)
		return;
	n->file[old].flags &= (u8)~MF_CURRENT;
	n->file[old].cond = n->seq;
	n->file[old + 1].flags |= MF_NAMED | MF_CURRENT;
}

static void gc_condemn(struct mstep *st)
{
	const struct model *m = st->m;
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	unsigned f;

	if (!model_may_write(st))
		return;
	if (n.grown > a->num && !model_off(m, MODEL_NO_ROOT_COMPARE)) {
		gc_remark(st, &n, "condemn: roots grew, mark again");
		return;
	}
	if (a->places & ~model_readable(&n, MF_EXISTS, false) &&
	    !model_off(m, MODEL_TWO_GC_NO_CHECK)) {
		gc_remark(st, &n, "condemn: a kept copy went, mark again");
		return;
	}
	n.seq++;
	for (f = 0; f < M_FILES; f++)
		if (a->files & 1u << f && n.file[f].flags & MF_CURRENT &&
		    !n.file[f].cond)
			n.file[f].cond = n.seq;
	if (a->aux)
		switch_generation(&n, a);
	if (model_off(m, MODEL_UNDELETE_SINCE) && n.snap[0].flags & MS_GONE)
		n.snap[0].flags |= MS_LOST;
	if (model_off(m, MODEL_ANY_CHANGE_REMARKS))
		n.grown = n.seq;
	a->num = n.seq;
	a->aux = 0;
	a->places = 0;
	if (!model_off(m, MODEL_UNNAME_REVIVED))
		a->files = 0;
	a->pc = MP_G_MOVE;
	if (model_off(m, MODEL_TEST_BEFORE_CONDEMN))
		a->pc = MP_G_TOMB;
	emit(st, &n, "condemn");
}

/* Does anybody hold a lock below @num? */
static bool locked_below(const struct mstep *st, u8 num)
{
	unsigned i;

	for (i = 0; i < M_ACTORS; i++) {
		u8 lock = st->s->actor[i].lock;

		if (i != st->who && lock && lock < num)
			return true;
	}
	return false;
}

static void gc_test(struct mstep *st, enum mpc pc)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	if (locked_below(st, pc == MP_G_CONDEMN ? n.seq : a->num) &&
	    !model_off(st->m, MODEL_NO_LOCK_TEST))
		return;
	a->pc = (u8)pc;
	emit(st, &n, "test the locks: none below");
}

/* Files that the catalog does not name and whose writer is no more. */
static u8 orphans(const struct mstep *st)
{
	const struct mstate *s = st->s;
	unsigned f;
	u8 files = 0;

	for (f = 0; f < M_FILES; f++) {
		const struct mfile *file = &s->file[f];

		if ((file->flags & (MF_EXISTS | MF_NAMED)) != MF_EXISTS)
			continue;
		if (!model_alive(s, file->sess) ||
		    file->sess == s->actor[st->who].sess ||
		    model_off(st->m, MODEL_ORPHANS_LIVING))
			files |= (u8)(1u << f);
	}
	return files;
}

static bool wants_tombstone(const struct mstep *st, const struct msnap *snap)
{
	if (!(snap->flags & MS_RECORD) || snap->flags & (MS_TOMB | MS_LIVE))
		return false;
	if (snap->flags & MS_GONE)
		return !model_off(st->m, MODEL_NO_TOMBSTONE_FIRST);
	if (model_off(st->m, MODEL_NO_RECORD_TOMBSTONE))
		return false;
	return !model_alive(st->s, snap->sess) ||
	       model_off(st->m, MODEL_TOMBSTONE_LIVING);
}

/* Condemned files whose number has passed the test. */
static u8 condemned_upto(const struct mstate *s, u8 num)
{
	unsigned f;
	u8 files = 0;

	for (f = 0; f < M_FILES; f++)
		if (s->file[f].cond && s->file[f].cond <= num)
			files |= (u8)(1u << f);
	return files;
}

static void gc_tombstones(struct mstep *st)
{
	bool unlink_first = model_off(st->m, MODEL_UNLINK_FIRST);
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	unsigned i;

	if (!model_may_write(st))
		return;
	/* First the list, then the tombstones: whoever ends in between has
	 * its record buried or its files left for the next gc. */
	if (!model_off(st->m, MODEL_LATE_ORPHANS))
		a->files |= orphans(st);
	if (unlink_first)
		a->files |= condemned_upto(&n, a->num);
	for (i = 0; i < M_SNAPS; i++)
		if (wants_tombstone(st, &st->s->snap[i]))
			n.snap[i].flags |= MS_TOMB;
	a->pc = a->num && !unlink_first ? MP_G_UNNAME : MP_G_UNLINK;
	emit(st, &n, "list orphans, write missing tombstones");
}

static void gc_unname(struct mstep *st)
{
	bool unlink_first = model_off(st->m, MODEL_UNLINK_FIRST);
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	u8 files = condemned_upto(&n, a->num);
	unsigned f;

	if (!model_may_write(st))
		return;
	if (model_off(st->m, MODEL_UNNAME_REVIVED))
		files |= a->files;
	n.seq++;
	for (f = 0; f < M_FILES; f++) {
		struct mfile *file = &n.file[f];

		if (!(files & 1u << f) || !(file->flags & MF_NAMED))
			continue;
		file->flags &= (u8)~(MF_NAMED | MF_CURRENT);
		if (unlink_first)
			file->flags = 0;
		file->cond = 0;
	}
	if (unlink_first) {
		a->num = 0;
		a->pc = MP_G_MARK;
	} else {
		a->files |= files;
		a->pc = MP_G_UNLINK;
	}
	emit(st, &n, "un-name what is still condemned");
}

static void forget_file(struct mstate *n, unsigned f)
{
	struct mfile *file = &n->file[f];

	file->flags &= (u8)~MF_EXISTS;
	if (file->flags)
		return;
	file->base = 0;
	file->sess = 0;
}

static void gc_unlink(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	unsigned f;

	if (model_off(st->m, MODEL_LATE_ORPHANS))
		a->files |= orphans(st);
	for (f = 0; f < M_FILES; f++) {
		if (!(a->files & 1u << f))
			continue;
		a->files &= (u8)~(1u << f);
		forget_file(&n, f);
		emit(st, &n, "unlink a file");
		return;
	}
	if (a->num && model_off(st->m, MODEL_UNLINK_FIRST)) {
		a->pc = MP_G_UNNAME;
		emit(st, &n, "unlinked all");
		return;
	}
	if (a->num) {
		a->num = 0;
		a->pc = MP_G_MARK;
		emit(st, &n, "next round");
		return;
	}
	model_end_actor(&n, st->who);
	emit(st, &n, "session ends");
}

static void gc_move(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	if (!model_off(st->m, MODEL_NO_GC_LOCK | MODEL_GC_KEEPS_LOCK))
		a->lock = a->num;
	a->pc = MP_G_TEST;
	emit(st, &n, "move the own lock to the condemning number");
}

void model_step_gc(struct mstep *st)
{
	switch (st->s->actor[st->who].pc) {
	case MP_START:
		gc_begin(st);
		break;
	case MP_G_MARK:
		gc_mark(st);
		break;
	case MP_G_COPY:
		gc_copy(st);
		break;
	case MP_G_SYNC:
		gc_sync(st);
		break;
	case MP_G_EARLY:
		gc_test(st, MP_G_CONDEMN);
		break;
	case MP_G_CONDEMN:
		gc_condemn(st);
		break;
	case MP_G_MOVE:
		gc_move(st);
		break;
	case MP_G_TEST:
		gc_test(st, MP_G_TOMB);
		break;
	case MP_G_TOMB:
		gc_tombstones(st);
		break;
	case MP_G_UNNAME:
		gc_unname(st);
		break;
	case MP_G_UNLINK:
		gc_unlink(st);
		break;
	}
}
