/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the model: writers, the optimizer, readers.
 *
 *   writer     begin -> match -> store -> sync -> [checkpoint] -> record
 *              -> commit -> acknowledge
 *   optimizer  begin -> store a copy -> sync -> commit (moves the hint)
 *   reader     read a number -> lock it -> read the catalog -> read data
 *
 * Everything that touches the catalog is one step: a transaction under its
 * write lock. A writer takes its lock bytes inside the transaction that begins
 * its session; a reader, which may have no write access, must lock first and
 * look after.
 */
#include "model_state.h"

static void emit(struct mstep *st, const struct mstate *next,
		 const char *label)
{
	st->emit(st->ctx, next, st->who, label);
}

static unsigned own_snapshot(const struct mstate *s, unsigned who)
{
	return s->actor[who].kind == MK_WRITER2 ? 2 : 1;
}

/* What the writer's source consists of: 1, 4 and (mixed) 16 may be stored
 * already, 8 is new; see model_init_state(). */
static u8 wanted(const struct mstep *st)
{
	if (st->s->actor[st->who].kind == MK_WRITER2)
		return 4 | 8;
	return st->m->setup == MODEL_MIXED ? 4 | 8 : 1 | 8;
}

/* What a session may match or stand on: see model_visible(). */
static u8 may_use(const struct mstep *st)
{
	return model_visible(st->s, st->s->actor[st->who].lock,
			     model_off(st->m, MODEL_MATCH_CONDEMNED));
}

static void session_begin(struct mstep *st, enum mpc pc)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	n.seq++;
	a->lock = n.seq;
	a->pc = (u8)pc;
	emit(st, &n, "begin: lock the session's bytes");
	if (pc != MP_W_MATCH || !st->m->pins || !(n.snap[0].flags & MS_LIVE))
		return;
	n.pin[a->sess] = 1;
	emit(st, &n, "begin: lock the session's bytes, pin snapshot 0");
}

/* Every way to find each wanted chunk: any visible copy, taken with a whole
 * tree of the pinned snapshot, or stored anew. */
static void match_from(struct mstep *st, unsigned i, u8 places, u8 store)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	u8 chunk = (u8)(1u << i);
	u8 vis = may_use(st);
	unsigned p;

	if (i == 8) {
		a->places = places;
		a->set = store;
		a->pc = store ? MP_W_STORE : MP_W_RECORD;
		emit(st, &n, store ? "match some, will store the rest" :
				     "match everything");
		return;
	}
	if (!(wanted(st) & chunk)) {
		match_from(st, i + 1, places, store);
		return;
	}
	if (n.pin[a->sess] && n.snap[0].need & chunk) {
		match_from(st, i + 1, places, store);
		return;
	}
	for (p = 0; p < M_PLACES; p++)
		if (vis & 1u << p && n.fp[p] == chunk)
			match_from(st, i + 1, (u8)(places | 1u << p), store);
	match_from(st, i + 1, places, store | chunk);
}

static void put_container(struct mstate *n, unsigned who, u8 chunks, u8 base)
{
	struct mactor *a = model_me(n, who);
	unsigned c = n->next_container++;
	struct mfile *f = &n->file[2 * c];
	unsigned p = 2 * c, i;

	f->has = 0;
	for (i = 0; i < 8 && p < 2 * c + 2; i++) {
		if (!(chunks & 1u << i))
			continue;
		n->fp[p] = (u8)(1u << i);
		f->has |= (u8)(1u << p++);
	}
	f->base = base;
	f->flags = MF_EXISTS;
	f->cond = 0;
	f->sess = a->sess;
	a->aux = (u8)(c + 1);
	a->places |= base;
}

/* A container with or without a reference to any visible place. */
static void store_step(struct mstep *st, u8 chunks, enum mpc pc)
{
	u8 vis = may_use(st);
	struct mstate n;
	unsigned p;

	for (p = 0; p <= M_PLACES; p++) {
		n = *st->s;
		if (n.next_container == M_CONTAINERS)
			break;
		if (p < M_PLACES && !(vis & 1u << p))
			continue;
		if (p < M_PLACES && p / 2 >= n.next_container)
			continue;
		put_container(&n, st->who, chunks,
			      p < M_PLACES ? (u8)(1u << p) : 0);
		model_me(&n, st->who)->set = 0;
		model_me(&n, st->who)->pc = (u8)pc;
		emit(st, &n, p < M_PLACES ? "store, against a reference" :
					    "store, without reference");
	}
	if (st->s->next_container < M_CONTAINERS)
		return;
	n = *st->s;
	model_end_actor(&n, st->who);
	emit(st, &n, "no room in the model, give up");
}

static void sync_own(struct mstate *n, unsigned who)
{
	struct mactor *a = model_me(n, who);

	if (a->aux)
		n->file[2 * (a->aux - 1)].flags |= MF_DURABLE;
}

static void sync_step(struct mstep *st, enum mpc pc)
{
	struct mstate n = *st->s;

	if (!model_off(st->m, MODEL_NO_SYNC))
		sync_own(&n, st->who);
	model_me(&n, st->who)->pc = (u8)pc;
	emit(st, &n, "containers durable");
}

/* The part of a transaction that gives the session's container a row. */
static void name_own(struct mstate *n, unsigned who)
{
	struct mactor *a = model_me(n, who);

	if (a->aux)
		n->file[2 * (a->aux - 1)].flags |= MF_NAMED | MF_CURRENT;
}

static void checkpoint_step(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	a->pc = MP_W_RECORD;
	emit(st, &n, "no checkpoint");
	if (!st->m->checkpoints || !model_may_write(st))
		return;
	n.seq++;
	name_own(&n, st->who);
	if (!model_off(st->m, MODEL_NO_CHECKPOINT_REVIVE))
		model_revive(st->m, &n, a->places);
	/* From now on its own containers can be condemned like any other. */
	a->places |= n.file[2 * (a->aux - 1)].has;
	n.checkpoint[a->sess] = a->places;
	if (!model_off(st->m, MODEL_CHECKPOINT_UNSEEN))
		n.grown = n.seq;
	a->lock = n.seq;
	emit(st, &n, "checkpoint, move the lock to it");
}

/* Also computes, outside any lock, what the commit will have to revive. */
static void record_step(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	struct msnap *snap = &n.snap[own_snapshot(&n, st->who)];
	unsigned p;

	snap->need = wanted(st);
	snap->sess = a->sess;
	snap->hints = a->aux ? (u8)(1u << (a->aux - 1)) : 0;
	for (p = 0; p < M_PLACES; p++)
		if (a->places & 1u << p)
			snap->hints |= (u8)(1u << (p / 2));
	if (!model_off(st->m, MODEL_RECORD_LATE))
		snap->flags |= MS_RECORD;
	if (model_off(st->m, MODEL_NO_COMMIT_RECHECK))
		a->set = model_would_revive(st->m, &n, a->places);
	a->pc = MP_W_COMMIT;
	emit(st, &n, "snapshot record durable");
}

static void revive_stale(struct mstate *n, u8 files)
{
	unsigned f;

	for (f = 0; f < M_FILES; f++)
		if (files & 1u << f && n->file[f].flags & MF_CURRENT)
			n->file[f].cond = 0;
}

static void commit_revive(struct mstep *st, struct mstate *n)
{
	struct mactor *a = model_me(n, st->who);

	if (model_off(st->m, MODEL_NO_COMMIT_RECHECK))
		revive_stale(n, a->set);
	else if (!model_off(st->m, MODEL_NO_REVIVE))
		model_revive(st->m, n, a->places);
}

static void commit_step(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);
	unsigned i;

	if (!model_may_write(st))
		return;
	n.seq++;
	name_own(&n, st->who);
	commit_revive(st, &n);
	n.snap[own_snapshot(&n, st->who)].flags |= MS_LIVE;
	n.grown = n.seq;
	/* What this session and interrupted ones before it left is now the
	 * snapshot's, or nobody's. */
	for (i = 0; i < M_SESSIONS; i++)
		if (i == a->sess || !model_alive(&n, (u8)i))
			n.checkpoint[i] = 0;
	a->pc = model_off(st->m, MODEL_RECORD_LATE) ? MP_W_LATE : MP_W_ACK;
	a->places = 0;
	a->set = 0;
	emit(st, &n, "commit");
}

static void writer_finish(struct mstep *st)
{
	struct mstate n = *st->s;
	struct msnap *snap = &n.snap[own_snapshot(&n, st->who)];

	if (st->s->actor[st->who].pc == MP_W_LATE) {
		snap->flags |= MS_RECORD;
		model_me(&n, st->who)->pc = MP_W_ACK;
		emit(st, &n, "snapshot record durable, late");
		return;
	}
	snap->flags |= MS_ACK;
	model_end_actor(&n, st->who);
	emit(st, &n, "acknowledge, session ends");
}

/* Store a copy of the first chunk of snapshot 0 in a new container. */
static void optimize_store(struct mstep *st)
{
	struct mstate n = *st->s;

	if (n.snap[0].flags & MS_LIVE) {
		store_step(st, 1, MP_O_SYNC);
		return;
	}
	model_end_actor(&n, st->who);
	emit(st, &n, "nothing to optimize");
}

static void optimize_commit(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	if (!model_may_write(st))
		return;
	if (n.snap[0].flags & MS_LIVE) {
		n.seq++;
		name_own(&n, st->who);
		model_revive(st->m, &n, a->places);
		n.snap[0].hints &= (u8)~1u;
		n.snap[0].hints |= (u8)(1u << (a->aux - 1));
		if (!model_off(st->m, MODEL_HINTS_NOT_ROOT))
			n.grown = n.seq;
	}
	model_end_actor(&n, st->who);
	emit(st, &n, "commit the new hint, session ends");
}

void model_step_session(struct mstep *st)
{
	const struct mactor *a = &st->s->actor[st->who];

	switch (a->pc) {
	case MP_START:
		if (model_may_write(st))
			session_begin(st, a->kind == MK_OPTIMIZE ? MP_O_STORE :
								   MP_W_MATCH);
		break;
	case MP_W_MATCH:
		match_from(st, 0, 0, 0);
		break;
	case MP_W_STORE:
		store_step(st, a->set, MP_W_SYNC);
		break;
	case MP_W_SYNC:
		sync_step(st, MP_W_CHECKPOINT);
		break;
	case MP_W_CHECKPOINT:
		checkpoint_step(st);
		break;
	case MP_W_RECORD:
		record_step(st);
		break;
	case MP_W_COMMIT:
		commit_step(st);
		break;
	case MP_W_LATE:
	case MP_W_ACK:
		writer_finish(st);
		break;
	case MP_O_STORE:
		optimize_store(st);
		break;
	case MP_O_SYNC:
		sync_step(st, MP_O_COMMIT);
		break;
	case MP_O_COMMIT:
		optimize_commit(st);
		break;
	}
}

/* The files of snapshot 0 in the catalog as it is now. */
static u8 view_files(const struct mstep *st)
{
	const struct mstate *s = st->s;
	bool any = model_off(st->m, MODEL_READ_CONDEMNED);
	u8 usable = model_readable(s, MF_EXISTS, any);
	u8 places = model_pick(s, s->snap[0].need, s->snap[0].hints, usable,
			       PICK_HINT);

	return model_current_files(s, model_closure(s, places));
}

static void reader_look(struct mstep *st, struct mstate *n)
{
	struct mactor *a = model_me(n, st->who);

	if (!(n->snap[0].flags & MS_LIVE)) {
		model_end_actor(n, st->who);
		emit(st, n, "no such snapshot");
		return;
	}
	a->files = view_files(st);
	a->pc = MP_R_READ;
	emit(st, n, "read the catalog");
}

static bool condemned_above(const struct mstate *s, u8 num)
{
	unsigned f;

	for (f = 0; f < M_FILES; f++)
		if (s->file[f].cond > num)
			return true;
	return false;
}

static void reader_start(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	a->num = n.seq;
	a->pc = MP_R_LOCK;
	if (model_off(st->m, MODEL_NO_READER_RECHECK))
		a->files = view_files(st);
	emit(st, &n, "read the last number");
}

void model_step_reader(struct mstep *st)
{
	struct mstate n = *st->s;
	struct mactor *a = model_me(&n, st->who);

	switch (a->pc) {
	case MP_START:
		reader_start(st);
		break;
	case MP_R_LOCK:
		a->lock = a->num;
		a->pc = MP_R_VIEW;
		if (model_off(st->m, MODEL_NO_READER_RECHECK))
			a->pc = MP_R_READ;
		emit(st, &n, "lock the byte of that number");
		break;
	case MP_R_VIEW:
		if (!model_off(st->m, MODEL_READER_RESTARTS) ||
		    !condemned_above(&n, a->lock)) {
			reader_look(st, &n);
			break;
		}
		a->lock = 0;
		a->num = n.seq;
		a->pc = MP_R_LOCK;
		emit(st, &n, "condemned since, start over");
		break;
	case MP_R_READ:
		model_end_actor(&n, st->who);
		emit(st, &n, "read the data, drop the lock");
		break;
	}
}
