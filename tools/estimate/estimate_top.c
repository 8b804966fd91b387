/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists by insertion: they are short, and little gets in.
 */
#include "base/mem.h"
#include "estimate_top.h"

/* A directory that is told by one of its own: so much of it, in percent. */
#define NEARLY_ALL 90

struct list {
	struct estimate_place v[ESTIMATE_PLACES];
	u32 nr;
};

struct level {
	char *path;
	u64 bytes, stored;
	/* The most that one directory in it saves, and takes. */
	u64 best[2];
};

struct estimate_top {
	struct list lists[2][2];	/* by order, and of directories */
	struct level *levels;
	u32 nr_levels, room;
	char *file;		/* that has begun */
	size_t file_room;
	/* Of all groups compressed so far, for files without any. */
	double raw, out;
};

int estimate_top_new(struct estimate_top **out, struct akin_diag *diag)
{
	*out = mem_zalloc(sizeof(**out));
	return *out ? 0 : diag_set(diag, -AKIN_E_nomem, "out of memory");
}

void estimate_top_free(struct estimate_top *t)
{
	struct list *l;
	u32 i, k;

	if (!t)
		return;
	for (i = 0; i < 4; i++) {
		l = &t->lists[i / 2][i % 2];
		for (k = 0; k < l->nr; k++)
			mem_free(l->v[k].path);
	}
	for (i = 0; i < t->nr_levels; i++)
		mem_free(t->levels[i].path);
	mem_free(t->levels);
	mem_free(t->file);
	mem_free(t);
}

static u64 key_of(enum estimate_order by, u64 bytes, u64 stored)
{
	return by == ESTIMATE_TAKES ? stored : bytes - min_u64(bytes, stored);
}

static int insert(struct list *l, enum estimate_order by, const char *path,
		  u64 bytes, u64 stored, bool is_dir)
{
	u64 key = key_of(by, bytes, stored);
	char *copy;
	u32 i;

	for (i = l->nr; i; i--) {
		if (key_of(by, l->v[i - 1].bytes, l->v[i - 1].stored) >= key)
			break;
	}
	if (!key || i == ESTIMATE_PLACES)
		return 0;
	copy = mem_strdup(path);
	if (!copy)
		return -AKIN_E_nomem;
	if (l->nr == ESTIMATE_PLACES)
		mem_free(l->v[--l->nr].path);
	memmove(&l->v[i + 1], &l->v[i], (l->nr - i) * sizeof(l->v[0]));
	l->v[i] = (struct estimate_place){ copy, bytes, stored, is_dir };
	l->nr++;
	return 0;
}

static int place(struct estimate_top *t, const char *path, u64 bytes,
		 u64 stored, const u64 *best)
{
	enum estimate_order by;
	int err = 0;

	for (by = ESTIMATE_SAVES; by <= ESTIMATE_TAKES && !err; by++) {
		if (best && (double)best[by] * 100 >= NEARLY_ALL *
				    (double)key_of(by, bytes, stored))
			continue;
		err = insert(&t->lists[by][!!best], by, path, bytes, stored,
			     !!best);
	}
	return err;
}

static int enter(struct estimate_top *t, const char *path)
{
	struct level *more;
	char *copy;

	if (t->nr_levels == t->room) {
		more = mem_realloc(t->levels, (t->room + 64) * sizeof(*more));
		if (!more)
			return -AKIN_E_nomem;
		t->levels = more;
		t->room += 64;
	}
	copy = mem_strdup(path);
	if (!copy)
		return -AKIN_E_nomem;
	t->levels[t->nr_levels++] = (struct level){ .path = copy };
	return 0;
}

static int leave(struct estimate_top *t)
{
	struct level *l, *up;
	enum estimate_order by;
	int err;

	if (!t->nr_levels)
		return 0;
	l = &t->levels[--t->nr_levels];
	err = place(t, l->path, l->bytes, l->stored, l->best);
	if (t->nr_levels) {
		up = l - 1;
		up->bytes += l->bytes;
		up->stored += l->stored;
		for (by = ESTIMATE_SAVES; by <= ESTIMATE_TAKES; by++)
			up->best[by] = max_u64(up->best[by],
					       key_of(by, l->bytes,
						      l->stored));
	}
	mem_free(l->path);
	return err;
}

static int begin(struct estimate_top *t, const char *path)
{
	size_t n = strlen(path) + 1;
	char *more;

	if (n > t->file_room) {
		more = mem_realloc(t->file, n);
		if (!more)
			return -AKIN_E_nomem;
		t->file = more;
		t->file_room = n;
	}
	memcpy(t->file, path, n);
	return 0;
}

static int end(struct estimate_top *t, const struct event *v)
{
	double raw = (double)v->raw, out = (double)v->out;
	u64 stored;

	if (raw <= 0) {
		raw = t->raw;
		out = t->out;
	}
	stored = min_u64(v->fresh, v->bytes);
	if (raw > 0)
		stored = estimate_u64((double)stored * (out / raw));
	if (t->nr_levels) {
		t->levels[t->nr_levels - 1].bytes += v->bytes;
		t->levels[t->nr_levels - 1].stored += stored;
	}
	return place(t, t->file, v->bytes, stored, NULL);
}

int estimate_top_take(struct estimate_top *t, const struct batch *b,
		      struct akin_diag *diag)
{
	const struct event *v;
	int err = 0;
	u32 i;

	for (i = 0; i < b->nr; i++) {
		t->raw += (double)b->events[i].raw;
		t->out += (double)b->events[i].out;
	}
	for (i = 0; i < b->nr && !err; i++) {
		v = &b->events[i];
		if (v->type == EVENT_ENTER)
			err = enter(t, event_name(b, v->path));
		else if (v->type == EVENT_LEAVE)
			err = leave(t);
		else if (v->type == EVENT_BEGIN)
			err = begin(t, event_name(b, v->path));
		else if (v->type == EVENT_END && v->bytes)
			err = end(t, v);
	}
	return err ? diag_set(diag, err, "out of memory") : 0;
}

const struct estimate_place *estimate_top_list(const struct estimate_top *t,
					       enum estimate_order by,
					       bool dirs, u32 *nr_ret)
{
	const struct list *l = &t->lists[by][dirs];

	*nr_ret = l->nr;
	return l->v;
}
