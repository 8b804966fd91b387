/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool that is filled and thrown away; see estimate_scratch.h.
 *
 * Nothing that goes wrong here ends an estimate: references are unknown then.
 */
#include <fts.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "akin/session.h"
#include "base/mem.h"
#include "estimate_scratch.h"
#include "hash/hash.h"

#define PIECE_BYTES (64 * MiB)
/* Between two looks at what the pool takes. */
#define LOOK_BYTES (64 * MiB)
/* A pool sets something apart; less room is none. */
#define ROOM_MIN (96 * MiB)

struct estimate_scratch {
	struct consumer consumer;
	struct akin_session *s;
	char dir[512];
	u64 limit, seed;
	double share;		/* of the names */
	bool sampled;		/* not all of the data goes in */
	bool in_txn, over;
	struct akin_object obj;
	char *key;		/* of the file that has begun */
	size_t key_room;
	u64 off;		/* in the file, of what comes next */
	bool take;		/* this piece of it */
	u32 part;		/* of the state */
	u64 since_look;
	u64 left_out;
	/* What was committed; and the objects one by one, if sampled. */
	u64 bytes, fresh, stored, metadata;
	double sum_ss, sum_sn, sum_nn;
	u64 nr;
};

/* The directory ----------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

/* Below the directory @path; files only. */
static u64 bytes_below(const char *path)
{
	char *const paths[] = { (char *)(uintptr_t)path, NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *en;
	u64 sum = 0;

	while (fts && (en = fts_read(fts))) {
		if (en->fts_info == FTS_F)
			sum += (u64)en->fts_statp->st_blocks * 512;
	}
	if (fts)
		fts_close(fts);
	return sum;
}

static bool is_full(const struct estimate_scratch *s)
{
	struct statvfs fs;

	/* Whoever else fills it, too. */
	if (statvfs(s->dir, &fs) == 0 &&
	    (u64)fs.f_bavail * fs.f_frsize < ROOM_MIN / 4)
		return true;
	return bytes_below(s->dir) >= s->limit;
}

static int make_dir(struct estimate_scratch *s,
		    const struct estimate_options *opt, struct akin_diag *diag)
{
	const char *dir = opt->scratch_dir ? opt->scratch_dir :
					     getenv("TMPDIR");
	struct statvfs fs;
	u64 room;

	if (!dir || !*dir)
		dir = "/tmp";
	if (statvfs(dir, &fs))
		return diag_set(diag, -AKIN_E_io, "%s: cannot be looked at",
				dir);
	room = (u64)fs.f_bavail * fs.f_frsize / 2;
	s->limit = min_u64(opt->scratch_bytes, room);
	if (room < ROOM_MIN)
		return diag_set(diag, -AKIN_E_nospace, "%s: no room to try "
				"references", dir);
	if ((size_t)snprintf(s->dir, sizeof(s->dir), "%s/akin-estimate-XXXXXX",
			     dir) >= sizeof(s->dir) || !mkdtemp(s->dir)) {
		s->dir[0] = 0;
		return diag_set(diag, -AKIN_E_io, "%s: nothing can be made "
				"there", dir);
	}
	return 0;
}

static int open_pool(struct estimate_scratch *s,
		     const struct estimate_options *opt, struct akin_diag *diag)
{
	struct akin_init_options init = { .path = s->dir };
	struct akin_session_options so = {
		.version = AKIN_SESSION_VERSION, .path = s->dir,
		.memory_bytes = ESTIMATE_MEMORY_SCRATCH,
		.nr_threads = opt->nr_threads, .program = "akin estimate",
	};
	int err = akin_pool_init(&init, diag);

	return err ? err : akin_session_open(&so, &s->s, diag);
}

/* Objects ----------------------------------------------------------------- */

/* Where the last component begins. */
static const char *base_of(const char *key)
{
	const char *slash = strrchr(key, '/');

	return slash ? slash + 1 : key;
}

static int try_begin(struct estimate_scratch *s, struct akin_diag *diag)
{
	char space[24], name[320], path[1024];
	const char *base = base_of(s->key);
	size_t n = (size_t)(base - s->key);
	struct akin_object_name on = { space, path, name, AKIN_OBJECT_FILE };
	struct akin_object_options opt = { 0 };

	snprintf(space, sizeof(space), "part%u", s->part);
	/* What is too long for a pool's object goes by its hash. */
	if (n >= sizeof(path) || strlen(base) > 200) {
		snprintf(path, sizeof(path), "long");
		snprintf(name, sizeof(name), "%016llx-%llx",
			 (unsigned long long)checksum64(s->key, strlen(s->key),
							0),
			 (unsigned long long)s->off);
	} else {
		snprintf(path, sizeof(path), "%.*s", (int)n, s->key);
		snprintf(name, sizeof(name), "%s-%llx", base,
			 (unsigned long long)s->off);
	}
	return akin_object_begin(s->s, &on, &opt, &s->obj, diag);
}

static int end_txn(struct estimate_scratch *s, struct akin_diag *diag)
{
	struct akin_txn_result r;
	int err;

	if (!s->in_txn)
		return 0;
	err = akin_txn_end(s->s, AKIN_VOTE_COMMIT, &r, diag);
	s->in_txn = false;
	if (err)
		return err;
	if (r.reason == AKIN_TXN_EMPTY)
		return 0;
	if (r.reason != AKIN_TXN_COMMITTED)
		return diag_set(diag, r.code ? r.code : -AKIN_E_io,
				"the pool for references");
	s->bytes += r.bytes;
	s->fresh += r.bytes_new;
	s->stored += r.bytes_stored;
	s->metadata += r.bytes_meta;
	return 0;
}

static int begin_txn(struct estimate_scratch *s, struct akin_diag *diag)
{
	int err = akin_txn_begin(s->s, NULL, diag);

	s->in_txn = !err;
	return err;
}

static int begin_object(struct estimate_scratch *s, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err = s->in_txn ? 0 : begin_txn(s, diag);

	if (!err)
		err = try_begin(s, &why);
	/* A transaction is full: the state goes on in another. */
	if (err == -AKIN_E_too_large) {
		diag_clear(&why);
		s->part++;
		err = end_txn(s, &why);
		if (!err)
			err = begin_txn(s, &why);
		if (!err)
			err = try_begin(s, &why);
	}
	if (err == -AKIN_E_exists) {
		s->take = false;
		return 0;
	}
	return err ? diag_pass(diag, err, &why) : 0;
}

static int end_object(struct estimate_scratch *s, struct akin_diag *diag)
{
	struct akin_object_stats st;
	double x, n;
	int err;

	if (!s->obj.v)
		return 0;
	err = akin_object_end(s->s, s->obj, s->sampled ? &st : NULL, diag);
	s->obj.v = 0;
	if (err || !s->sampled)
		return err;
	x = (double)st.bytes_stored;
	n = (double)st.bytes_new;
	s->sum_ss += x * x;
	s->sum_sn += x * n;
	s->sum_nn += n * n;
	s->nr++;
	return 0;
}

/* Whether what lies at s->off goes in; if so an object begins with it. */
static int choose(struct estimate_scratch *s, struct akin_diag *diag)
{
	u64 id[2] = { checksum64(s->key, strlen(s->key), 1),
		      s->off / PIECE_BYTES };
	u64 h = checksum64(id, sizeof(id), s->seed);

	s->take = !s->over && (double)(h >> 11) * 0x1p-53 < s->share;
	return s->take ? begin_object(s, diag) : 0;
}

static int set_key(struct estimate_scratch *s, const char *key,
		   struct akin_diag *diag)
{
	size_t n = strlen(key) + 1;
	char *more;

	if (n > s->key_room) {
		more = mem_realloc(s->key, n);
		if (!more)
			return diag_set(diag, -AKIN_E_nomem, "out of memory");
		s->key = more;
		s->key_room = n;
	}
	memcpy(s->key, key, n);
	s->off = 0;
	s->take = false;
	return 0;
}

static int look(struct estimate_scratch *s, u64 n, struct akin_diag *diag)
{
	s->since_look += n;
	if (s->since_look < LOOK_BYTES)
		return 0;
	s->since_look = 0;
	if (!is_full(s))
		return 0;
	s->over = true;
	s->take = false;
	return end_object(s, diag);
}

/* Data of the file that has begun; in pieces if names are chosen from. */
static int feed(struct estimate_scratch *s, const u8 *p, u64 n,
		struct akin_diag *diag)
{
	u64 part;
	int err = 0;

	for (; n && !err; p += part, n -= part) {
		part = n;
		if (s->share < 1)
			part = min_u64(n, PIECE_BYTES - s->off % PIECE_BYTES);
		if (!s->obj.v && (s->off == 0 || s->off % PIECE_BYTES == 0))
			err = choose(s, diag);
		if (!err && s->take)
			err = akin_object_send(s->s, s->obj, p, part, diag);
		s->left_out += s->take ? 0 : part;
		s->off += part;
		if (!err && s->share < 1 && s->off % PIECE_BYTES == 0)
			err = end_object(s, diag);
		if (!err && s->take)
			err = look(s, part, diag);
	}
	return err;
}

static int consume_events(struct estimate_scratch *s, const struct batch *b,
			  struct akin_diag *diag)
{
	const u8 *p = b->data;
	const struct event *v;
	int err = 0;
	u32 i;

	for (i = 0; i < b->nr && !err; i++) {
		v = &b->events[i];
		switch (v->type) {
		case EVENT_BEGIN:
			err = set_key(s, event_name(b, v->key), diag);
			break;
		case EVENT_CUT:
			err = end_object(s, diag);
			s->off = v->off;
			if (!err)
				err = choose(s, diag);
			break;
		case EVENT_DATA:
			err = feed(s, p, v->len, diag);
			p += v->len;
			break;
		case EVENT_END:
			err = end_object(s, diag);
			break;
		default:
			break;
		}
	}
	return err;
}

static void give_up(struct estimate_scratch *s)
{
	akin_session_close(s->s);
	s->s = NULL;
	if (s->dir[0])
		ignore_result(nftw(s->dir, remove_one, 16,
				   FTW_DEPTH | FTW_PHYS));
	s->dir[0] = 0;
}

static int consume(struct consumer *c, struct batch *b,
		   struct estimate_tools *tools, struct akin_diag *diag)
{
	struct estimate_scratch *s =
		container_of(c, struct estimate_scratch, consumer);
	struct akin_diag why = { 0 };

	if (s->s && consume_events(s, b, &why))
		give_up(s);
	return 0;
}

/* ------------------------------------------------------------------------- */

int estimate_scratch_new(const struct estimate_options *opt,
			 struct estimate_scratch **out, struct akin_diag *diag)
{
	struct estimate_scratch *s = mem_zalloc(sizeof(*s));
	struct akin_diag why = { 0 };
	double share = opt->share > 0 ? opt->share : 1;

	if (!s)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	s->consumer.consume = consume;
	s->seed = opt->seed;
	*out = s;
	if (make_dir(s, opt, &why) || open_pool(s, opt, &why)) {
		give_up(s);
		return 0;
	}
	s->share = opt->total ? (double)s->limit /
				((double)opt->total * share) : 1;
	s->share = fmin(s->share, 1);
	s->sampled = s->share < 1 || share < 1;
	return 0;
}

void estimate_scratch_free(struct estimate_scratch *s)
{
	if (!s)
		return;
	give_up(s);
	mem_free(s->key);
	mem_free(s);
}

struct consumer *estimate_scratch_consumer(struct estimate_scratch *s)
{
	return &s->consumer;
}

int estimate_scratch_state(struct estimate_scratch *s, u64 *stored_ret,
			   struct akin_diag *diag)
{
	u64 before = s->stored;
	struct akin_diag why = { 0 };

	s->part = 0;
	if (s->s && end_txn(s, &why))
		give_up(s);
	*stored_ret = s->stored - before;
	return 0;
}

int estimate_scratch_finish(struct estimate_scratch *s,
			    struct akin_diag *diag)
{
	struct akin_diag why = { 0 };

	if (s->s && end_txn(s, &why))
		give_up(s);
	return 0;
}

void estimate_scratch_get(const struct estimate_scratch *s,
			  const struct estimate_result *pool,
			  struct estimate_references *out)
{
	double unique = (double)pool->unique.value, r, half, error = 0, times;

	*out = (struct estimate_references){ .fed = s->bytes };
	if (!s->s || !s->fresh || !s->stored)
		return;
	out->known = true;
	r = (double)s->stored / (double)s->fresh;
	out->factor = 1 / r;
	times = (double)pool->bytes / (double)s->bytes;
	if (!s->sampled && !s->left_out) {
		out->stored = estimate_within(s->stored, 0);
		out->metadata = estimate_within(s->metadata, 0);
		return;
	}
	/* Of the ratio of two sums over objects. */
	if (s->nr > 1)
		error = sqrt(fmax(0, s->sum_ss - 2 * r * s->sum_sn +
				  r * r * s->sum_nn) * (double)s->nr /
			     (double)(s->nr - 1)) / (double)s->fresh;
	half = (double)(pool->unique.high - pool->unique.low) / 2;
	out->stored = estimate_within(estimate_u64(unique * r - 0.5),
				      hypot(ESTIMATE_DEVIATIONS * error *
					    unique, half * r));
	out->metadata = estimate_within(estimate_u64((double)s->metadata *
						     times - 0.5), 0);
}
