/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One object being sent.
 *
 * Every call is enter(), the work without a lock held, leave(): between the two
 * the object's slot is busy, and belongs to the calling thread.
 *
 * An object gets a stream for itself while it is sent, one of an earlier object
 * if there is one: so what follows one another shares groups and containers as
 * the files of a tree do. The first stream has a thread of its own; further
 * ones are worked on by whoever sends, for then there are several senders.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "os/clock.h"
#include "store/store_session.h"

/* Below, looking for the last version costs more than it brings. */
#define FOLLOW_MIN (64 * KiB)
/* Sent between two looks at whether to stop. */
#define PIECE_BYTES (8 * MiB)

/* Names -------------------------------------------------------------------- */

static bool is_bad_component(const char *p, size_t len)
{
	return len == 0 || len > NODE_NAME_MAX ||
	       (p[0] == '.' && (len == 1 || (len == 2 && p[1] == '.')));
}

int object_clean(const char *text, size_t max, const char *what, char **out,
		 struct akin_diag *diag)
{
	const char *at = text ? text : "";
	size_t len = 0, n;
	char *p;

	if (strlen(at) > max)
		return diag_set(diag, -AKIN_E_usage, "a %s has at most %zu "
				"bytes", what, max);
	p = mem_alloc(strlen(at) + 1);
	if (!p)
		return diag_set(diag, -AKIN_E_nomem, "%s", what);
	for (at += strspn(at, "/"); *at; at += strspn(at, "/")) {
		n = strcspn(at, "/");
		if (is_bad_component(at, n)) {
			mem_free(p);
			return diag_set(diag, -AKIN_E_usage, "'%s': a %s is "
					"made of names of 1 to %d bytes, not "
					"'.' nor '..'", text, what,
					NODE_NAME_MAX);
		}
		if (len)
			p[len++] = '/';
		memcpy(p + len, at, n);
		len += n;
		at += n;
	}
	p[len] = 0;
	*out = p;
	return 0;
}

static int check_name(const struct akin_object_name *name,
		      struct akin_diag *diag)
{
	if (name->type > AKIN_OBJECT_DIRECTORY)
		return diag_set(diag, -AKIN_E_usage, "no such type of object");
	if (!name->name || strchr(name->name, '/') ||
	    is_bad_component(name->name, strlen(name->name)))
		return diag_set(diag, -AKIN_E_usage, "'%s': an object's name "
				"is 1 to %d bytes without '/', not '.' nor "
				"'..'", name->name ? name->name : "",
				NODE_NAME_MAX);
	return 0;
}

int object_path(const struct akin_object_name *name, char **out,
		u32 *space_len_ret, struct akin_diag *diag)
{
	char *space = NULL, *path = NULL, *all = NULL;
	size_t n;
	int err;

	err = check_name(name, diag);
	if (!err)
		err = object_clean(name->space, OBJECT_SPACE_MAX, "space",
				   &space, diag);
	if (!err)
		err = object_clean(name->path, OBJECT_PATH_MAX, "path", &path,
				   diag);
	if (!err) {
		n = strlen(space) + strlen(path) + strlen(name->name) + 3;
		all = mem_alloc(n);
		if (all)
			snprintf(all, n, "%s%s%s%s%s", space, *space ? "/" : "",
				 path, *path ? "/" : "", name->name);
		else
			err = diag_set(diag, -AKIN_E_nomem, "name");
	}
	if (!err && space_len_ret)
		*space_len_ret = (u32)strlen(space);
	mem_free(space);
	mem_free(path);
	*out = all;
	return err;
}

/* Beginning ---------------------------------------------------------------- */

static int compare_xattrs(const void *pa, const void *pb)
{
	const struct node_xattr *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

static int add_xattr(struct node *n, const char *prefix, const char *name,
		     const void *value, u32 len)
{
	struct node_xattr *x = &n->xattrs[n->nr_xattrs];
	size_t size = strlen(prefix) + strlen(name) + 1;
	char *copy = mem_alloc(size);

	if (!copy)
		return -AKIN_E_nomem;
	snprintf(copy, size, "%s%s", prefix, name);
	x->name = copy;
	x->value = value;
	x->len = len;
	n->nr_xattrs++;
	return 0;
}

static int check_attributes(const struct akin_object_options *opt,
			    struct akin_diag *diag)
{
	size_t total = 0, len;
	u32 i;

	if (opt->nr_attributes > OBJECT_XATTRS_MAX)
		return diag_set(diag, -AKIN_E_usage, "at most %d attributes",
				OBJECT_XATTRS_MAX);
	for (i = 0; i < opt->nr_attributes; i++) {
		len = strlen(opt->attributes[i].name);
		if (len == 0 || len > NODE_XATTR_NAME_MAX - strlen(OBJECT_XATTR))
			return diag_set(diag, -AKIN_E_usage, "an attribute's "
					"name has 1 to 250 bytes");
		if (strncmp(opt->attributes[i].name, "akin.", 5) == 0)
			return diag_set(diag, -AKIN_E_usage, "'%s': names of "
					"attributes do not begin with 'akin.'",
					opt->attributes[i].name);
		total += len + opt->attributes[i].len;
	}
	if (total > OBJECT_XATTR_BYTES_MAX)
		return diag_set(diag, -AKIN_E_usage, "at most %d bytes of "
				"attributes", OBJECT_XATTR_BYTES_MAX);
	if (opt->mtime_nsec >= 1000000000)
		return diag_set(diag, -AKIN_E_usage, "a time of more than "
				"999,999,999 nanoseconds");
	return 0;
}

static int fill_xattrs(struct node *n, const struct akin_object_options *opt,
		       bool is_dir)
{
	static const char dir[] = "directory";
	int err = 0;
	u32 i;

	n->xattrs = mem_calloc(opt->nr_attributes + 1, sizeof(*n->xattrs));
	if (!n->xattrs)
		return -AKIN_E_nomem;
	if (is_dir)
		err = add_xattr(n, "", OBJECT_XATTR_TYPE, dir, sizeof(dir) - 1);
	for (i = 0; !err && i < opt->nr_attributes; i++)
		err = add_xattr(n, OBJECT_XATTR, opt->attributes[i].name,
				opt->attributes[i].value,
				opt->attributes[i].len);
	qsort(n->xattrs, n->nr_xattrs, sizeof(*n->xattrs), compare_xattrs);
	return err;
}

static int make_record(struct txn_object *o,
		       const struct akin_object_options *opt,
		       struct akin_diag *diag)
{
	const char *slash = strrchr(o->path, '/');
	struct node n = { 0 };
	int err;
	u32 i;

	n.name = slash ? slash + 1 : o->path;
	n.type = o->is_dir ? NODE_DIR : NODE_STREAM;
	n.mode = o->is_dir ? 0700 : 0600;
	clock_wall(&n.ctime_sec, &n.ctime_nsec);
	n.mtime_sec = n.ctime_sec;
	n.mtime_nsec = n.ctime_nsec;
	if (opt->mtime_sec || opt->mtime_nsec) {
		n.mtime_sec = opt->mtime_sec;
		n.mtime_nsec = opt->mtime_nsec;
	}
	err = fill_xattrs(&n, opt, o->is_dir);
	if (!err)
		err = object_set_record(o, &n);
	for (i = 0; i < n.nr_xattrs; i++)
		mem_free((char *)(uintptr_t)n.xattrs[i].name);
	mem_free(n.xattrs);
	/* All else has been checked before. */
	if (err == -AKIN_E_bad_order)
		return diag_set(diag, -AKIN_E_usage, "two attributes have the "
				"same name");
	return err ? diag_set(diag, err, "object") : 0;
}

static int new_object(const struct akin_object_name *name,
		      const struct akin_object_options *opt,
		      struct txn_object **out, u32 *space_len_ret,
		      struct akin_diag *diag)
{
	struct txn_object *o;
	int err;

	err = check_attributes(opt, diag);
	if (err)
		return err;
	o = mem_zalloc(sizeof(*o));
	if (!o)
		return diag_set(diag, -AKIN_E_nomem, "object");
	err = object_path(name, &o->path, space_len_ret, diag);
	if (!err && *space_len_ret == 0)
		err = diag_set(diag, -AKIN_E_usage, "an object needs a space");
	o->is_dir = name->type == AKIN_OBJECT_DIRECTORY;
	o->done = o->is_dir;
	if (!err)
		err = make_record(o, opt, diag);
	if (err) {
		txn_object_free(o);
		return err;
	}
	*out = o;
	return 0;
}

static bool is_prefix(const char *a, size_t len_a, const char *b, size_t len_b)
{
	return len_a <= len_b && memcmp(a, b, len_a) == 0 &&
	       (len_a == len_b || b[len_a] == '/');
}

/* A space that the transaction has not met yet. */
static int add_space(struct akin_session *s, struct txn *t, const char *path,
		     size_t len, struct akin_diag *diag)
{
	struct txn_space *sp;
	u64 number = 0;

	sp = mem_realloc(t->spaces, (t->nr_spaces + 1) * sizeof(*sp));
	if (!sp)
		return diag_set(diag, -AKIN_E_nomem, "space");
	t->spaces = sp;
	sp += t->nr_spaces;
	memset(sp, 0, sizeof(*sp));
	sp->name = mem_zalloc(len + 1);
	if (!sp->name)
		return diag_set(diag, -AKIN_E_nomem, "space");
	memcpy(sp->name, path, len);
	t->nr_spaces++;
	/* Without a parent, only less is followed. */
	if (objects_newest(s->pool, t->b.snap.host, sp->name, &number, NULL) ||
	    !number ||
	    catalog_snapshot(s->pool->catalog, number, &sp->parent, NULL))
		memset(&sp->parent, 0, sizeof(sp->parent));
	return 0;
}

/* The space [path, path + len) among those of the transaction; with
 * lookup_lock held. */
static int find_space(struct akin_session *s, struct txn *t, const char *path,
		      size_t len, u32 *at_ret, struct akin_diag *diag)
{
	const struct txn_space *sp;
	size_t n;

	for (*at_ret = 0; *at_ret < t->nr_spaces; (*at_ret)++) {
		sp = &t->spaces[*at_ret];
		n = strlen(sp->name);
		if (n == len && memcmp(sp->name, path, len) == 0)
			return 0;
		if (is_prefix(sp->name, n, path, len) ||
		    is_prefix(path, len, sp->name, n))
			return diag_set(diag, -AKIN_E_usage, "'%.*s': the "
					"transaction has objects of '%s', and "
					"one space cannot lie in another",
					(int)len, path, sp->name);
	}
	return add_space(s, t, path, len, diag);
}

/* What the last transaction of the space has of that name; NULL: nothing. */
static struct predecessor *find_predecessor(struct akin_session *s,
					    const struct txn_space *sp,
					    const char *path)
{
	struct predecessor *p = NULL;
	struct hint hint;
	struct node node;

	if (!sp->parent.number ||
	    store_lookup(s->pool, &sp->parent, path, &node, &hint, NULL))
		return NULL;
	if (node.type == NODE_STREAM || node.type == NODE_FILE)
		p = predecessor_new(&node.content, &hint);
	node_release(&node);
	mem_free(hint.containers);
	return p;
}

static struct txn_stream *choose_stream_locked(struct txn *t)
{
	struct txn_stream *ts;
	u32 i;

	for (i = 0; i < t->nr_streams; i++) {
		ts = &t->streams[i];
		if (ts->idle) {
			ts->idle = false;
			return ts;
		}
	}
	ts = &t->streams[t->nr_streams++];
	memset(ts, 0, sizeof(*ts));
	return ts;
}

static struct object_slot *free_slot_locked(struct akin_session *s)
{
	u32 i;

	for (i = 0; i < s->limits.max_open; i++) {
		if (!s->slots[i].id)
			return &s->slots[i];
	}
	return NULL;
}

static int check_open_locked(struct akin_session *s, const char *what,
			     struct akin_diag *diag)
{
	if (s->state != API_OPEN)
		return diag_set(diag, -AKIN_E_sequence, "%s: no transaction is "
				"open", what);
	return session_doomed_locked(s, diag);
}

/* A busy slot for @o, which is the transaction's if this succeeds. */
static int take_slot(struct akin_session *s, struct txn_object *o,
		     struct object_slot **out, struct akin_diag *diag)
{
	struct object_slot *slot = NULL;
	int err;

	pthread_mutex_lock(&s->lock);
	err = check_open_locked(s, "begin an object", diag);
	if (!err) {
		slot = free_slot_locked(s);
		if (!slot)
			err = diag_set(diag, -AKIN_E_too_large, "no more than "
				       "%u objects can be sent at once",
				       s->limits.max_open);
	}
	if (!err)
		err = txn_add_locked(s, s->txn, o, diag);
	if (!err) {
		memset(slot, 0, sizeof(*slot));
		slot->id = ++s->next_object;
		slot->busy = true;
		slot->object = o;
		slot->begun_ns = clock_ns();
		if (!o->is_dir)
			slot->stream = choose_stream_locked(s->txn);
		s->nr_busy++;
		*out = slot;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* Ends a call; an error dooms the transaction. @ended: the object has. */
static void leave(struct akin_session *s, struct object_slot *slot, int err,
		  const struct akin_diag *diag, bool ended)
{
	if (err)
		session_doom(s, err, diag);
	pthread_mutex_lock(&s->lock);
	slot->busy = false;
	if (ended) {
		if (slot->stream)
			slot->stream->idle = slot->stream->stream != NULL;
		memset(slot, 0, sizeof(*slot));
	}
	if (--s->nr_busy == 0)
		pthread_cond_broadcast(&s->quiet);
	pthread_mutex_unlock(&s->lock);
}

static int start(struct akin_session *s, struct object_slot *slot,
		 struct predecessor *p, struct akin_diag *diag)
{
	struct txn_stream *ts = slot->stream;
	int err = 0;

	if (!ts->stream)
		err = backup_open_stream(&s->txn->b, false, &ts->stream, diag);
	if (err) {
		predecessor_free(p);
		return err;
	}
	ingest_rename(ts->stream, slot->object->path);
	slot->object->stream = ts->stream;
	ingest_get_tally(ts->stream, &slot->tally);
	return ingest_object_begin_after(ts->stream, TAKE(p), diag);
}

/* @spare_ret: it is only this object that cannot be. */
static int begin(struct akin_session *s, struct object_slot *slot,
		 u32 space_len, u64 size_hint, bool *spare_ret,
		 struct akin_diag *diag)
{
	bool follow = !size_hint || size_hint >= FOLLOW_MIN;
	struct txn_object *o = slot->object;
	struct predecessor *p = NULL;
	struct txn *t = s->txn;
	u32 at;
	int err;

	pthread_mutex_lock(&s->lookup_lock);
	err = find_space(s, t, o->path, space_len, &at, diag);
	*spare_ret = err == -AKIN_E_usage;
	if (!err && slot->stream && follow)
		p = find_predecessor(s, &t->spaces[at], o->path);
	pthread_mutex_unlock(&s->lookup_lock);
	o->dropped = *spare_ret;
	return err || !slot->stream ? err : start(s, slot, TAKE(p), diag);
}

int akin_object_begin(struct akin_session *s,
		      const struct akin_object_name *name,
		      const struct akin_object_options *opt,
		      struct akin_object *out, struct akin_diag *diag)
{
	static const struct akin_object_options none;
	struct akin_diag mine = { 0 };
	struct object_slot *slot;
	struct txn_object *o = NULL;
	bool spare = false;
	u32 space_len;
	int err;

	out->v = 0;
	if (!opt)
		opt = &none;
	err = new_object(name, opt, &o, &space_len, diag);
	if (err)
		return err;
	err = take_slot(s, o, &slot, diag);
	if (err) {
		txn_object_free(o);
		return err;
	}
	err = begin(s, slot, space_len, opt->size_hint, &spare, &mine);
	if (!err)
		out->v = slot->id;
	leave(s, slot, spare ? 0 : err, &mine, err != 0);
	return err ? diag_set(diag, err, "%s", mine.text) : 0;
}

/* Sending ------------------------------------------------------------------ */

/* The object's slot, busy. @lent: it must have been lent room, or must not. */
static int enter(struct akin_session *s, struct akin_object obj,
		 const char *what, bool lent, struct object_slot **out,
		 struct akin_diag *diag)
{
	struct object_slot *slot = NULL;
	u32 i;
	int err;

	pthread_mutex_lock(&s->lock);
	err = check_open_locked(s, what, diag);
	for (i = 0; !err && obj.v && i < s->limits.max_open; i++) {
		if (s->slots[i].id == obj.v)
			slot = &s->slots[i];
	}
	if (!err && !slot)
		err = diag_set(diag, -AKIN_E_sequence, "%s: no such object is "
			       "being sent", what);
	else if (!err && slot->busy)
		err = diag_set(diag, -AKIN_E_sequence, "%s: another thread is "
			       "at work on the object", what);
	else if (!err && slot->lent != lent)
		err = diag_set(diag, -AKIN_E_sequence, "%s: %s", what, lent ?
			       "no room was lent" :
			       "the room that was lent has not come back");
	if (!err) {
		slot->busy = true;
		s->nr_busy++;
		*out = slot;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

static int refuse_dir(const struct object_slot *slot, struct akin_diag *diag)
{
	return slot->stream ? 0 :
	       diag_set(diag, -AKIN_E_sequence, "a directory has no data");
}

/* Ends a call whose error, if any, is in @mine. */
static int leave_with(struct akin_session *s, struct object_slot *slot, int err,
		      const struct akin_diag *mine, struct akin_diag *diag)
{
	leave(s, slot, err, mine, false);
	return err ? diag_set(diag, err, "%s", mine->code ? mine->text :
			      akin_strerror(err)) : 0;
}

int akin_object_send(struct akin_session *s, struct akin_object obj,
		     const void *data, size_t n, struct akin_diag *diag)
{
	struct akin_diag mine = { 0 };
	struct object_slot *slot;
	const u8 *p = data;
	size_t piece;
	int err;

	err = enter(s, obj, "send", false, &slot, diag);
	if (err)
		return err;
	err = refuse_dir(slot, diag);
	if (err) {
		leave(s, slot, 0, NULL, false);
		return err;
	}
	do {
		piece = min_u64(n, PIECE_BYTES);
		err = store_check_stop(s->pool, &mine);
		if (!err)
			err = ingest_write(slot->stream->stream, p, piece,
					   &mine);
		p += piece;
		n -= piece;
	} while (!err && n);
	return leave_with(s, slot, err, &mine, diag);
}

int akin_object_room(struct akin_session *s, struct akin_object obj,
		     void **room_ret, size_t *n_ret, struct akin_diag *diag)
{
	struct akin_diag mine = { 0 };
	struct object_slot *slot;
	u8 *room;
	int err;

	err = enter(s, obj, "room", false, &slot, diag);
	if (err)
		return err;
	err = refuse_dir(slot, diag);
	if (err) {
		leave(s, slot, 0, NULL, false);
		return err;
	}
	err = store_check_stop(s->pool, &mine);
	if (!err)
		err = ingest_room(slot->stream->stream, &room, &slot->room,
				  &mine);
	if (!err) {
		slot->lent = true;
		*room_ret = room;
		*n_ret = slot->room;
	}
	return leave_with(s, slot, err, &mine, diag);
}

int akin_object_filled(struct akin_session *s, struct akin_object obj,
		       size_t n, struct akin_diag *diag)
{
	struct object_slot *slot;
	int err;

	err = enter(s, obj, "filled", true, &slot, diag);
	if (err)
		return err;
	if (n > slot->room) {
		err = diag_set(diag, -AKIN_E_usage, "filled: %zu bytes, but "
			       "%zu were lent", n, slot->room);
	} else {
		ingest_filled(slot->stream->stream, n);
		slot->lent = false;
	}
	leave(s, slot, 0, NULL, false);
	return err;
}

int akin_object_hole(struct akin_session *s, struct akin_object obj,
		     uint64_t len, struct akin_diag *diag)
{
	struct akin_diag mine = { 0 };
	struct object_slot *slot;
	int err;

	err = enter(s, obj, "hole", false, &slot, diag);
	if (err)
		return err;
	err = refuse_dir(slot, diag);
	if (err) {
		leave(s, slot, 0, NULL, false);
		return err;
	}
	err = store_check_stop(s->pool, &mine);
	if (!err)
		err = ingest_hole(slot->stream->stream, len, &mine);
	return leave_with(s, slot, err, &mine, diag);
}

/* @raw bytes at the rate at which @from bytes became @to. */
static u64 scale(u64 raw, u64 from, u64 to)
{
	return from ? (u64)((double)raw * (double)to / (double)from) : raw;
}

static void fill_stats(const struct object_slot *slot,
		       struct akin_object_stats *out)
{
	const struct txn_object *o = slot->object;
	struct refgate_tally now = { 0 }, t;

	memset(out, 0, sizeof(*out));
	out->elapsed_ns = clock_ns() - slot->begun_ns;
	if (!slot->stream)
		return;
	ingest_get_tally(slot->stream->stream, &now);
	t.raw_bytes = now.raw_bytes - slot->tally.raw_bytes;
	t.plain_bytes = now.plain_bytes - slot->tally.plain_bytes;
	t.stored_bytes = now.stored_bytes - slot->tally.stored_bytes;
	/* Less than a group: what came before is the best guess. */
	if (!t.raw_bytes)
		t = now;
	out->bytes = o->bytes;
	out->bytes_new = o->counts.bytes_new;
	out->chunks = o->counts.chunks;
	out->chunks_new = o->counts.chunks_new;
	out->bytes_plain = scale(out->bytes_new, t.raw_bytes, t.plain_bytes);
	out->bytes_stored = scale(out->bytes_new, t.raw_bytes, t.stored_bytes);
}

int akin_object_end(struct akin_session *s, struct akin_object obj,
		    struct akin_object_stats *out, struct akin_diag *diag)
{
	struct akin_diag mine = { 0 };
	struct object_slot *slot;
	struct txn_stream *ts;
	int err;

	err = enter(s, obj, "end an object", false, &slot, diag);
	if (err)
		return err;
	ts = slot->stream;
	err = store_check_stop(s->pool, &mine);
	if (!err && ts)
		err = ingest_object_end(ts->stream, slot->object, &mine);
	if (!err && out && ts)
		err = ingest_drain(ts->stream, &mine);
	if (!err && out)
		fill_stats(slot, out);
	counters_add(s->pool->counters, objects_stored, !err);
	leave(s, slot, err, &mine, true);
	return err ? diag_set(diag, err, "%s", mine.code ? mine.text :
			      akin_strerror(err)) : 0;
}
