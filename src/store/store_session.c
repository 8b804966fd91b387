/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and closing sessions, and what state they are in.
 */
#include "base/mem.h"
#include "store/store_session.h"

/* What a session keeps for itself of the memory for streams. */
#define OBJECT_SHARE 4
/* A reader holds a decoder and what it looks ahead. */
#define READER_BYTES (4 * MiB)
#define READERS_MAX 64
/* Fewer are fast for many small objects, more for few large ones. */
#define SEND_BYTES (256 * KiB)

static void choose_limits(struct akin_session *s)
{
	struct akin_session_limits *l = &s->limits;
	struct akin_pool *p = s->pool;
	const struct store_budget *b = &p->budget;
	bool compares = s->verify ? s->verify != AKIN_VERIFY_OFF :
				    p->super.verify != SUPER_VERIFY_OFF;
	u8 verify = s->verify ? (u8)(s->verify - 1) : p->super.verify;
	u8 engine = s->engine ? (u8)(s->engine - 1) : p->super.engine;
	int depth = s->delta_depth ? s->delta_depth : p->super.delta_depth;
	size_t streams;

	s->object_memory = b->streams / OBJECT_SHARE;
	/* As backup_begin() does it. */
	streams = store_stream_memory(b, compares, (u8)(depth > 0 ? depth : 0)) -
		  s->object_memory - store_similar_memory(p, engine);
	l->max_objects = (u32)(s->object_memory / (2 * OBJECT_BYTES));
	l->max_open = session_max_streams(&p->depot, streams, verify, engine);
	l->max_readers = (u32)max_u64(1, min_u64(b->groups / READER_BYTES,
						 READERS_MAX));
	l->max_space_bytes = OBJECT_SPACE_MAX;
	l->max_path_bytes = OBJECT_PATH_MAX;
	l->max_name_bytes = NODE_NAME_MAX;
	l->max_attributes = OBJECT_XATTRS_MAX;
	l->max_attribute_bytes = OBJECT_XATTR_BYTES_MAX;
	l->send_bytes = SEND_BYTES;
	l->can_write = !p->read_only;
}

static int copy_text(const char *from, char **to)
{
	if (!from)
		return 0;
	*to = mem_strdup(from);
	return *to ? 0 : -AKIN_E_nomem;
}

static int copy_options(struct akin_session *s,
			const struct akin_session_options *opt,
			struct akin_diag *diag)
{
	struct codec_choice codec;
	int err;

	if (opt->verify > AKIN_VERIFY_WRITE)
		return diag_set(diag, -AKIN_E_usage, "no such verification");
	if (opt->engine > AKIN_ENGINE_HYBRID)
		return diag_set(diag, -AKIN_E_usage, "no such engine");
	if (opt->compression) {
		err = codec_parse(opt->compression, &codec, diag);
		if (err)
			return err;
	}
	s->delta_depth = opt->delta_depth;
	s->verify = opt->verify;
	s->engine = opt->engine;
	err = copy_text(opt->host, &s->host);
	if (!err)
		err = copy_text(opt->program ? opt->program : "api",
				&s->program);
	if (!err)
		err = copy_text(opt->compression, &s->compression);
	return err ? diag_set(diag, err, "session") : 0;
}

static int open_pool(const struct akin_session_options *opt,
		     struct akin_session *s, struct akin_diag *diag)
{
	struct akin_open_options o = { .path = opt->path,
				       .meta_dir = opt->meta_dir,
				       .data_dir = opt->data_dir,
				       .memory_bytes = opt->memory_bytes,
				       .nr_threads = opt->nr_threads,
				       .read_only = opt->read_only };

	if (opt->version >= 2) {
		o.throttle_meta = opt->throttle_meta;
		o.throttle_data = opt->throttle_data;
		o.single_writer = opt->single_writer;
	}
	return akin_pool_open(&o, &s->pool, diag);
}

int store_session_on(struct akin_pool *pool,
		     const struct akin_session_options *opt,
		     struct akin_session **out, struct akin_diag *diag)
{
	struct akin_session *s;
	int err = 0;

	if (opt->version == 0 || opt->version > AKIN_SESSION_VERSION)
		return diag_set(diag, -AKIN_E_feature, "version %u of "
				"akin/session.h: this library knows up to %u",
				opt->version, AKIN_SESSION_VERSION);
	s = mem_zalloc(sizeof(*s));
	if (!s)
		return diag_set(diag, -AKIN_E_nomem, "session");
	pthread_rwlock_init(&s->index_lock, NULL);
	pthread_mutex_init(&s->lookup_lock, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->quiet, NULL);
	s->pool = pool;
	if (!pool)
		err = open_pool(opt, s, diag);
	if (!err)
		err = copy_options(s, opt, diag);
	if (!err) {
		choose_limits(s);
		s->slots = mem_calloc(s->limits.max_open, sizeof(*s->slots));
		if (!s->slots)
			err = diag_set(diag, -AKIN_E_nomem, "session");
	}
	if (err) {
		if (pool)
			s->pool = NULL;	/* still the caller's */
		akin_session_close(s);
		return err;
	}
	*out = s;
	return 0;
}

int akin_session_open(const struct akin_session_options *opt,
		      struct akin_session **out, struct akin_diag *diag)
{
	return store_session_on(NULL, opt, out, diag);
}

void akin_session_close(struct akin_session *s)
{
	struct akin_txn_result result;

	if (!s)
		return;
	if (s->state == API_OPEN)
		/* There is nobody to tell. */
		ignore_result(akin_txn_end(s, AKIN_VOTE_ABORT, &result, NULL));
	reader_release_all(s);
	akin_pool_close(s->pool);
	pthread_cond_destroy(&s->quiet);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->lookup_lock);
	pthread_rwlock_destroy(&s->index_lock);
	mem_free(s->slots);
	mem_free(s->host);
	mem_free(s->program);
	mem_free(s->compression);
	mem_free(s);
}

void akin_session_stop(struct akin_session *s)
{
	akin_pool_stop(s->pool);
}

void akin_session_get_limits(struct akin_session *s,
			     struct akin_session_limits *out)
{
	*out = s->limits;
}

void akin_session_get_pool_info(struct akin_session *s,
				struct akin_pool_info *out)
{
	akin_pool_get_info(s->pool, out);
}

static const char *state_text(enum session_state_api state)
{
	static const char *const texts[] = {
		[API_IDLE] = "no transaction is open",
		[API_BEGINNING] = "a transaction is just beginning",
		[API_OPEN] = "a transaction is open",
		[API_ENDING] = "the transaction is just ending",
	};

	return texts[state];
}

int session_move(struct akin_session *s, enum session_state_api from,
		 enum session_state_api to, const char *what,
		 struct akin_diag *diag)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (s->state == from)
		s->state = to;
	else
		err = diag_set(diag, -AKIN_E_sequence, "%s: %s", what,
			       state_text(s->state));
	pthread_mutex_unlock(&s->lock);
	return err;
}

int session_refresh(struct akin_session *s, struct akin_diag *diag)
{
	struct akin_pool *p = s->pool;
	bool unused;
	u64 txn;
	int err;

	if (!p->locks)
		return 0;
	err = catalog_txn(p->catalog, &txn, diag);
	if (err)
		return err;
	pthread_rwlock_rdlock(&s->index_lock);
	unused = txn != p->txn;
	pthread_rwlock_unlock(&s->index_lock);
	if (!unused)
		return 0;
	pthread_rwlock_wrlock(&s->index_lock);
	pthread_mutex_lock(&s->lock);
	unused = s->nr_readers == 0 && s->state == API_IDLE;
	pthread_mutex_unlock(&s->lock);
	/* Who comes now waits for index_lock before he reads anything. */
	if (unused)
		err = store_lock_move(p, diag);
	pthread_rwlock_unlock(&s->index_lock);
	return err;
}

void session_doom(struct akin_session *s, int err, const struct akin_diag *diag)
{
	pthread_mutex_lock(&s->lock);
	if (err && !s->err) {
		s->err = err;
		memset(&s->diag, 0, sizeof(s->diag));
		if (diag && diag->code)
			s->diag = *diag;
	}
	pthread_mutex_unlock(&s->lock);
}

int session_doomed_locked(struct akin_session *s, struct akin_diag *diag)
{
	if (!s->err)
		return 0;
	return diag_set(diag, s->err, "%s", s->diag.code ? s->diag.text :
			akin_strerror(s->err));
}
