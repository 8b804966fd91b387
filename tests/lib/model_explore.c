/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Breadth-first walk over all states of a model.
 *
 * States are kept whole (no hash is trusted) in one growing array, in the
 * order they were found; an open-addressed table of indexes tells what is
 * known. The first violation found has, by the order, a shortest trace.
 */
#include <xxhash.h>

#include "akin/error.h"
#include "base/mem.h"
#include "model_state.h"

/* 128 bytes each: stop before a mistake in a model takes the machine. */
#define MAX_STATES (4u << 20)

struct node {
	const char *label;	/* the step that led here */
	u32 parent;
	u16 depth;
	u8 actor;
	u8 kind;		/* of the actor when it took the step */
};

struct explorer {
	const struct model *m;
	struct mstate *states;
	struct node *nodes;
	u32 *table;		/* index + 1, 0 = free */
	u32 n, room, table_size;
	u32 at;			/* being expanded */
	u32 steps;		/* by actors, from this state */
	int err;
};

static u32 slot_of(const struct explorer *x, const struct mstate *s)
{
	u32 i = (u32)XXH3_64bits(s, sizeof(*s)) & (x->table_size - 1);

	while (x->table[i] &&
	       memcmp(&x->states[x->table[i] - 1], s, sizeof(*s)) != 0)
		i = (i + 1) & (x->table_size - 1);
	return i;
}

static int grow(struct explorer *x)
{
	u32 room = x->room ? 2 * x->room : 4096, i;
	struct mstate *states;
	struct node *nodes;
	u32 *table;

	states = mem_realloc(x->states, room * sizeof(*states));
	if (!states)
		return -AKIN_E_nomem;
	x->states = states;
	nodes = mem_realloc(x->nodes, room * sizeof(*nodes));
	if (!nodes)
		return -AKIN_E_nomem;
	x->nodes = nodes;
	table = mem_calloc(2 * (size_t)room, sizeof(*table));
	if (!table)
		return -AKIN_E_nomem;
	mem_free(x->table);
	x->table = table;
	x->table_size = 2 * room;
	x->room = room;
	for (i = 0; i < x->n; i++)
		x->table[slot_of(x, &x->states[i])] = i + 1;
	return 0;
}

static void add_state(struct explorer *x, const struct mstate *s,
		      struct node node)
{
	u32 slot;

	if (x->err)
		return;
	if (x->n == x->room)
		x->err = grow(x);
	if (x->err)
		return;
	slot = slot_of(x, s);
	if (x->table[slot])
		return;
	x->states[x->n] = *s;
	x->nodes[x->n] = node;
	x->table[slot] = ++x->n;
}

static void on_step(void *ctx, const struct mstate *next, u8 actor,
		    const char *label)
{
	struct explorer *x = ctx;
	struct mstate s = *next;
	struct node node = {
		.label = label, .parent = x->at, .actor = actor,
		.depth = (u16)(x->nodes[x->at].depth + 1),
	};

	if (actor < M_ACTORS)
		node.kind = x->states[x->at].actor[actor].kind;
	x->steps++;
	model_normalise(&s);
	add_state(x, &s, node);
}

void model_step_actor(struct mstep *st)
{
	switch (st->s->actor[st->who].kind) {
	case MK_WRITER:
	case MK_WRITER2:
	case MK_OPTIMIZE:
		model_step_session(st);
		break;
	case MK_READER:
		model_step_reader(st);
		break;
	case MK_GC:
	case MK_GC2:
		model_step_gc(st);
		break;
	case MK_FORGET:
		model_step_forget(st);
		break;
	case MK_UNDELETE:
		model_step_undelete(st);
		break;
	}
}

/* Judge state x->at and find its successors. */
static enum mbad expand(struct explorer *x, struct model_result *out)
{
	const struct mstate s = x->states[x->at];
	struct mstep st = { x->m, &s, 0, on_step, x };
	enum mbad bad = model_check(x->m, &s);
	bool done = true;

	if (bad)
		return bad;
	x->steps = 0;
	for (st.who = 0; st.who < M_ACTORS; st.who++) {
		done = done && s.actor[st.who].pc == MP_DONE;
		model_step_actor(&st);
	}
	if (!x->steps && !done)
		return MB_STUCK;
	if (done) {
		out->nr_ends++;
		bad = model_check_end(x->m, &s);
	}
	st.who = M_ENV;
	model_step_faults(&st);
	return bad;
}

static void print_trace(FILE *f, const struct explorer *x, enum mbad bad)
{
	u32 path[256];
	u32 i = x->at, n = 0;

	while (i && n < ARRAY_SIZE(path)) {
		path[n++] = i;
		i = x->nodes[i].parent;
	}
	fprintf(f, "    ");
	model_print_state(f, &x->states[0]);
	while (n--) {
		const struct node *node = &x->nodes[path[n]];

		fprintf(f, "%3u %-10s %s\n    ", node->depth,
			node->actor < M_ACTORS ?
				model_kind_name((enum mkind)node->kind) :
				"world",
			node->label);
		model_print_state(f, &x->states[path[n]]);
	}
	fprintf(f, "    => %s\n", model_bad_name(bad));
}

int model_explore(const struct model *m, FILE *trace, struct model_result *out)
{
	struct explorer x = { .m = m };
	struct mstate first;

	memset(out, 0, sizeof(*out));
	model_init_state(m, &first);
	model_normalise(&first);
	add_state(&x, &first, (struct node){ .label = "" });
	for (x.at = 0; x.at < x.n && !x.err && !out->bad; x.at++) {
		out->bad = expand(&x, out);
		out->depth = x.nodes[x.at].depth;
		if (!out->bad && x.n > MAX_STATES)
			out->bad = MB_TOO_BIG;
		if (out->bad && trace)
			print_trace(trace, &x, out->bad);
	}
	out->nr_states = x.n;
	mem_free(x.states);
	mem_free(x.nodes);
	mem_free(x.table);
	return x.err;
}

const char *model_kind_name(enum mkind kind)
{
	static const char *const names[MK_NR] = {
		"-", "writer", "writer2", "reader", "gc", "gc2", "forgetter",
		"undeleter", "optimizer",
	};

	return names[kind];
}

const char *model_bad_name(enum mbad bad)
{
	static const char *const names[MB_NR] = {
		"no violation",
		"I1: a listed snapshot cannot be restored",
		"I1: a container stands on one that may be deleted",
		"I2: data of a living session is gone",
		"I2: data of a checkpoint is gone",
		"I2: data of a reader is gone",
		"I4: an acknowledged snapshot is not listed",
		"I4: a listed snapshot would not survive a rebuild",
		"I4: a record without tombstone is not whole",
		"I4: a forgotten snapshot would come back in a rebuild",
		"progress: nobody can take a step",
		"progress: space is not reclaimed",
		"too many states",
	};

	return names[bad];
}

/*
 * One line: files as container.generation, then what is durable, named and
 * current, its chunks' places and bases; snapshots; numbers.
 */
void model_print_state(FILE *out, const struct mstate *s)
{
	unsigned i;

	for (i = 0; i < M_FILES; i++) {
		const struct mfile *f = &s->file[i];

		if (!f->flags)
			continue;
		fprintf(out, "%u.%u[%s%s%s%s %02x", i / 2, i & 1,
			f->flags & MF_EXISTS ? "e" : "",
			f->flags & MF_DURABLE ? "d" : "",
			f->flags & MF_NAMED ? "n" : "",
			f->flags & MF_CURRENT ? "c" : "", f->has);
		if (f->base)
			fprintf(out, " on %02x", f->base);
		if (f->cond)
			fprintf(out, " condemned %u", f->cond);
		fprintf(out, "] ");
	}
	for (i = 0; i < M_SNAPS; i++) {
		u8 flags = s->snap[i].flags;

		if (flags)
			fprintf(out, "S%u{%s%s%s%s%s%s} ", i,
				flags & MS_RECORD ? "record " : "",
				flags & MS_TOMB ? "tomb " : "",
				flags & MS_LIVE ? "live" : "",
				flags & MS_GONE ? "gone" : "",
				flags & MS_ACK ? " acked" : "",
				flags & MS_ACK_GONE ? " acked" : "");
	}
	fprintf(out, "seq %u grown %u locks", s->seq, s->grown);
	for (i = 0; i < M_ACTORS; i++)
		fprintf(out, " %u", s->actor[i].lock);
	fprintf(out, "\n");
}
