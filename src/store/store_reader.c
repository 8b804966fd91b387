/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading objects back.
 *
 * A reader keeps the object's content and a decoder. Each call reads through
 * the pool's caches with a look-ahead of its own, so that neighbours that are
 * read one after the other are decoded once.
 */
#include "base/mem.h"
#include "os/clock.h"
#include "restore/fetcher.h"
#include "store/store_session.h"

struct akin_reader {
	struct akin_session *s;
	struct akin_reader *next, **link;	/* of the session's */
	struct decoder dec;
	struct node node;
	struct hint hint;
	u64 transaction;
	struct counters_stream *shown;	/* to others; may be NULL */
};

/* Look-ahead of one call, at least. */
#define WINDOW_MIN (512 * KiB)

static int add_reader(struct akin_session *s, struct akin_reader *r,
		      struct akin_diag *diag)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (s->nr_readers == s->limits.max_readers) {
		err = diag_set(diag, -AKIN_E_too_large, "no more than %u "
			       "objects can be read at once",
			       s->limits.max_readers);
	} else {
		s->nr_readers++;
		r->s = s;
		r->next = s->readers;
		r->link = &s->readers;
		if (r->next)
			r->next->link = &r->next;
		s->readers = r;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

void akin_object_close(struct akin_reader *r)
{
	struct akin_session *s;

	if (!r)
		return;
	s = r->s;
	if (s) {
		pthread_mutex_lock(&s->lock);
		*r->link = r->next;
		if (r->next)
			r->next->link = r->link;
		s->nr_readers--;
		pthread_mutex_unlock(&s->lock);
	}
	counters_stream_end(r->shown);
	decoder_release(&r->dec);
	node_release(&r->node);
	mem_free(r->hint.containers);
	mem_free(r);
}

void reader_release_all(struct akin_session *s)
{
	while (s->readers)
		akin_object_close(s->readers);
}

static int find_in(struct akin_reader *r, u64 number, const char *path,
		   struct akin_diag *diag)
{
	struct akin_pool *p = r->s->pool;
	struct snapshot snap = { 0 };
	int err;

	err = catalog_snapshot(p->catalog, number, &snap, diag);
	if (err)
		return err;
	err = store_lookup_with(p, &r->dec, &snap, path, &r->node, &r->hint,
				diag);
	snapshot_release(&snap);
	if (!err && r->node.type != NODE_STREAM && r->node.type != NODE_FILE)
		err = diag_set(diag, -AKIN_E_usage, "'%s' has no data", path);
	r->transaction = number;
	return err;
}

struct number_list {
	const char *space, *path;
	u64 *numbers;
	u32 nr, cap;
};

static int note_number(void *ctx, const struct snapshot *s,
		       const struct catalog_status *st)
{
	struct number_list *l = ctx;
	u32 cap = l->cap ? l->cap * 2 : 64, i;
	const char *name = *l->space ? l->space : l->path;
	bool found = false;
	u64 *p;

	for (i = 0; i < s->nr_paths; i++)
		found |= strcmp(s->paths[i], name) == 0;
	if (!(s->flags & SNAPSHOT_OBJECTS) || !found)
		return 0;
	if (l->nr == l->cap) {
		p = mem_realloc(l->numbers, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		l->numbers = p;
		l->cap = cap;
	}
	l->numbers[l->nr++] = s->number;
	return 0;
}

/* The newest transaction that has it. */
static int find_newest(struct akin_reader *r, const char *path, u32 space_len,
		       struct akin_diag *diag)
{
	struct number_list l = { .path = path };
	struct akin_diag why = { 0 };
	char *space;
	int err;

	space = mem_dup(path, strlen(path) + 1);
	if (!space)
		return diag_set(diag, -AKIN_E_nomem, "path");
	space[space_len] = 0;
	l.space = space;
	err = catalog_each_status(r->s->pool->catalog, CATALOG_LISTED,
				  note_number, &l, diag);
	if (!err)
		err = -AKIN_E_path_unknown;
	while (err == -AKIN_E_path_unknown && l.nr > 0) {
		diag_clear(&why);
		err = find_in(r, l.numbers[--l.nr], path, &why);
		if (err == -AKIN_E_snap_unknown)
			err = -AKIN_E_path_unknown;
	}
	if (err == -AKIN_E_path_unknown)
		diag_set(diag, err, "'%s': there is no such object", path);
	else if (err)
		diag_pass(diag, err, &why);
	mem_free(l.numbers);
	mem_free(space);
	return err;
}

int akin_object_open(struct akin_session *s, uint64_t transaction,
		     const struct akin_object_name *name,
		     struct akin_reader **out, struct akin_diag *diag)
{
	struct codec_choice codec = depot_codec(&s->pool->depot);
	struct akin_reader *r;
	u32 space_len = 0;
	char *path;
	int err;

	err = object_path(name, &path, &space_len, diag);
	if (err)
		return err;
	r = mem_zalloc(sizeof(*r));
	if (!r)
		err = diag_set(diag, -AKIN_E_nomem, "reader");
	if (!err)
		err = session_refresh(s, diag);
	if (!err)
		err = add_reader(s, r, diag);
	if (!err) {
		pthread_rwlock_rdlock(&s->index_lock);
		err = decoder_init(&r->dec, &codec, diag);
		if (!err && transaction)
			err = find_in(r, transaction, path, diag);
		else if (!err)
			err = find_newest(r, path, space_len, diag);
		pthread_rwlock_unlock(&s->index_lock);
	}
	if (!err)
		r->shown = counters_stream_begin(s->pool->streams,
						 AKIN_STREAM_OUT, path,
						 clock_ns());
	mem_free(path);
	if (err) {
		akin_object_close(r);
		return diag_said(diag, err);
	}
	*out = r;
	return 0;
}

uint64_t akin_reader_size(const struct akin_reader *r)
{
	return r->node.content.bytes;
}

uint64_t akin_reader_transaction(const struct akin_reader *r)
{
	return r->transaction;
}

struct copy {
	struct akin_pool *p;
	int (*data)(void *ctx, const void *data, size_t n);
	int (*hole)(void *ctx, uint64_t len);
	void *ctx;
};

static int copy_data(void *ctx, const u8 *data, u64 len, int err,
		     const struct akin_diag *why, struct akin_diag *diag)
{
	struct copy *c = ctx;

	if (err)
		return diag_pass(diag, err, why);
	err = store_check_stop(c->p, diag);
	return err ? err : c->data(c->ctx, data, (size_t)len);
}

static int copy_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	static const u8 zeros[64 * KiB];
	struct copy *c = ctx;
	u64 n;
	int err;

	if (c->hole)
		return c->hole(c->ctx, len);
	for (; len; len -= n) {
		n = min_u64(len, sizeof(zeros));
		err = copy_data(ctx, zeros, n, 0, NULL, diag);
		if (err)
			return err;
	}
	return 0;
}

/* Readers share what there is for looking ahead. */
static size_t window(struct akin_session *s)
{
	size_t all = s->pool->budget.window;
	u32 nr;

	pthread_mutex_lock(&s->lock);
	nr = s->nr_readers;
	pthread_mutex_unlock(&s->lock);
	return max_u64(all / (nr ? nr : 1), WINDOW_MIN);
}

int akin_reader_copy(struct akin_reader *r, uint64_t off, uint64_t len,
		     int (*data)(void *ctx, const void *data, size_t n),
		     int (*hole)(void *ctx, uint64_t len), void *ctx,
		     struct akin_diag *diag)
{
	struct copy c = { .p = r->s->pool, .data = data, .hole = hole,
			  .ctx = ctx };
	struct fetcher_options opt = { .data = copy_data, .hole = copy_hole,
				       .ctx = &c };
	struct fetcher *f;
	int err;

	if (off >= akin_reader_size(r))
		return 0;
	len = min_u64(len, akin_reader_size(r) - off);
	opt.window_bytes = window(r->s);
	opt.shown = r->shown;
	counters_add(r->s->pool->counters, objects_read, 1);
	pthread_rwlock_rdlock(&r->s->index_lock);
	err = fetcher_new(&r->s->pool->depot, &r->dec, &opt, &f, diag);
	if (!err) {
		err = fetcher_content(f, &r->node.content, &r->hint, off, len,
				      diag);
		if (!err)
			err = fetcher_drain(f, diag);
		fetcher_free(f);
	}
	pthread_rwlock_unlock(&r->s->index_lock);
	return err < 0 ? diag_said(diag, err) : err;
}

struct into {
	u8 *at;
	size_t left;
};

static int into_data(void *ctx, const void *data, size_t n)
{
	struct into *to = ctx;

	if (n > to->left)
		return -AKIN_E_internal;
	memcpy(to->at, data, n);
	to->at += n;
	to->left -= n;
	return 0;
}

static int into_hole(void *ctx, uint64_t len)
{
	struct into *to = ctx;

	if (len > to->left)
		return -AKIN_E_internal;
	memset(to->at, 0, len);
	to->at += len;
	to->left -= len;
	return 0;
}

int akin_reader_read(struct akin_reader *r, uint64_t off, void *buf, size_t n,
		     size_t *n_ret, struct akin_diag *diag)
{
	struct into to = { .at = buf, .left = n };
	int err;

	err = akin_reader_copy(r, off, n, into_data, into_hole, &to, diag);
	*n_ret = n - to.left;
	return err;
}
