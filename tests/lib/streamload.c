/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest/stream.h"
#include "os/clock.h"
#include "restore/fetcher.h"
#include "store/store.h"
#include "streamload.h"

/* The same for all streams, or not, in turn. */
#define SEGMENT_BYTES ((u64)1 << 20)
#define SHARED_SEED 0x5ea5ull

static u64 word_at(u64 seed, u64 i)
{
	u64 z = seed + i * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	/* Four bits of each byte: 2:1 by entropy alone. */
	return ((z ^ z >> 31) & 0x0f0f0f0f0f0f0f0full) + 0x6161616161616161ull;
}

/* What versions differ in: a word in so many. */
#define VERSION_WORDS (32 * KiB / 8)

static void change_words(const struct streamload *l, u64 seed, u64 off, u8 *to,
			 size_t n)
{
	u64 i = (off / 8 + VERSION_WORDS - 1) / VERSION_WORDS * VERSION_WORDS;
	u64 word, from, end;

	for (; i * 8 < off + n; i += VERSION_WORDS) {
		word = word_at(seed ^ l->version, i);
		from = max_u64(i * 8, off);
		end = min_u64(i * 8 + 8, off + n);
		memcpy(to + (from - off), (u8 *)&word + (from - i * 8),
		       end - from);
	}
}

/* Within one segment. */
static void fill_words(u64 seed, u64 off, u8 *to, size_t n)
{
	u64 word = word_at(seed, off / 8);
	size_t skip = off % 8, k = min_u64(8 - skip, n);

	memcpy(to, (u8 *)&word + skip, k);
	for (; k + 8 <= n; k += 8) {
		word = word_at(seed, (off + k) / 8);
		memcpy(to + k, &word, 8);
	}
	if (k < n) {
		word = word_at(seed, (off + k) / 8);
		memcpy(to + k, &word, n - k);
	}
}

void streamload_fill(const struct streamload *l, u32 stream, u64 off, u8 *to,
		     size_t n)
{
	u64 k, seed;

	if (l->zeros) {
		memset(to, 0, n);
		return;
	}
	for (; n > 0; n -= k, off += k, to += k) {
		k = min_u64(n, SEGMENT_BYTES - off % SEGMENT_BYTES);
		seed = l->seed * 0xd1342543de82ef95ull +
		       (off / SEGMENT_BYTES % 2 ? SHARED_SEED : stream + 1);
		fill_words(seed << 20, off, to, k);
		if (l->version)
			change_words(l, seed << 20, off, to, k);
	}
}

struct feed {
	const struct streamload *load;
	struct session *session;
	u32 stream;
	struct content content;
	struct hint hint;	/* owned */
	struct ingest_counts counts;
	pthread_t thread;
	int err;
	struct akin_diag diag;
};

static int on_object(void *ctx, void *token, const struct content *ct,
		     const struct hint *hint, struct akin_diag *diag)
{
	struct feed *f = ctx;

	f->content = *ct;
	return store_copy_hint(hint, &f->hint, diag);
}

static int feed_all(struct feed *f, struct ingest_stream *st)
{
	u64 off = 0;
	size_t n;
	u8 *to;
	int err;

	err = ingest_object_begin(st, &f->diag);
	while (!err && off < f->load->bytes) {
		err = ingest_room(st, &to, &n, &f->diag);
		if (err)
			break;
		n = min_u64(n, f->load->bytes - off);
		streamload_fill(f->load, f->stream, off, to, n);
		ingest_filled(st, n);
		off += n;
	}
	if (!err)
		err = ingest_object_end(st, NULL, &f->diag);
	if (!err)
		err = ingest_drain(st, &f->diag);
	ingest_get_counts(st, &f->counts);
	return err;
}

static void *feed_main(void *arg)
{
	struct feed *f = arg;
	struct ingest_options opt = { .threaded = f->load->threaded,
				      .object_done = on_object, .ctx = f };
	struct ingest_stream *st;
	int err;

	f->err = ingest_stream_open(f->session, &opt, &st, &f->diag);
	if (f->err)
		return NULL;
	f->err = feed_all(f, st);
	err = ingest_stream_close(st, &f->diag);
	if (!f->err)
		f->err = err;
	return NULL;
}

static int run_feeds(struct feed *feeds, u32 nr, struct akin_diag *diag)
{
	u32 i, started;
	int err = 0;

	for (started = 0; started < nr; started++) {
		if (pthread_create(&feeds[started].thread, NULL, feed_main,
				   &feeds[started])) {
			err = diag_set(diag, -AKIN_E_nomem, "thread");
			break;
		}
	}
	for (i = 0; i < started; i++) {
		pthread_join(feeds[i].thread, NULL);
		if (!err && feeds[i].err)
			err = diag_set(diag, feeds[i].err, "stream %u: %s", i,
				       feeds[i].diag.text);
	}
	return err;
}

static int begin(struct akin_pool *p, u8 delta_depth, struct session **out,
		 struct akin_diag *diag)
{
	struct session_options opt = { .lock = store_lock_session,
				       .lock_ctx = p };
	int err;

	snprintf(opt.info.host, sizeof(opt.info.host), "load");
	snprintf(opt.info.command, sizeof(opt.info.command), "load");
	opt.info.pid = (u32)getpid();
	opt.memory_bytes = store_take_stream_memory(p, false, delta_depth);
	opt.delta_depth = delta_depth;
	err = session_begin(&p->depot, p->catalog, &opt, out, diag);
	if (!err)
		p->reserve_session = session_number(*out);
	return err;
}

static void sum_up(const struct feed *feeds, u32 nr, struct session *s,
		   struct streamload_stats *out)
{
	struct session_stats st;
	u32 i;

	for (i = 0; i < nr; i++) {
		out->bytes += feeds[i].counts.bytes;
		out->bytes_new += feeds[i].counts.bytes_new;
		out->chunks += feeds[i].counts.chunks;
		out->chunks_new += feeds[i].counts.chunks_new;
	}
	session_get_stats(s, &st);
	out->stored = st.stored_data + st.stored_meta;
	out->nr_containers = st.nr_containers;
	out->ref_groups = st.ref_groups;
}

struct compare {
	const struct streamload *load;
	u32 stream;
	u64 off;
	u8 want[CHUNK_MAX_BYTES];
};

static int same_data(void *ctx, const u8 *data, u64 len, int err,
		     const struct akin_diag *why, struct akin_diag *diag)
{
	struct compare *c = ctx;
	u64 n;

	if (err)
		return diag_set(diag, err, "%s", why->text);
	for (; len > 0; len -= n, data += n, c->off += n) {
		n = min_u64(len, sizeof(c->want));
		streamload_fill(c->load, c->stream, c->off, c->want, n);
		if (memcmp(c->want, data, n))
			return diag_set(diag, -AKIN_E_bad_fp, "stream %u "
					"differs near %llu", c->stream,
					(unsigned long long)c->off);
	}
	return 0;
}

static int compare_one(struct akin_pool *p, const struct feed *feed,
		       struct compare *c, struct akin_diag *diag)
{
	struct fetcher_options opt = { .window_bytes = p->budget.window,
				       .data = same_data, .ctx = c };
	struct fetcher *f;
	int err;

	c->load = feed->load;
	c->stream = feed->stream;
	c->off = 0;
	err = fetcher_new(&p->depot, &p->dec, &opt, &f, diag);
	if (err)
		return err;
	err = fetcher_content(f, &feed->content, &feed->hint, 0, UINT64_MAX,
			      diag);
	if (!err)
		err = fetcher_drain(f, diag);
	fetcher_free(f);
	if (!err && c->off != feed->load->bytes)
		err = diag_set(diag, -AKIN_E_bad_length, "stream %u came back "
			       "with %llu bytes", c->stream,
			       (unsigned long long)c->off);
	return err;
}

static int compare_all(struct akin_pool *p, const struct feed *feeds, u32 nr,
		       struct akin_diag *diag)
{
	struct compare *c = malloc(sizeof(*c));
	u32 i;
	int err = c ? 0 : -AKIN_E_nomem;

	for (i = 0; !err && i < nr; i++)
		err = compare_one(p, &feeds[i], c, diag);
	free(c);
	return err;
}

int streamload_run(const struct streamload *l, struct akin_pool *p,
		   bool verify, struct streamload_stats *out,
		   struct akin_diag *diag)
{
	struct feed *feeds = calloc(l->nr_streams, sizeof(*feeds));
	struct session *s = NULL;
	u64 begun;
	u32 i;
	int err;

	memset(out, 0, sizeof(*out));
	err = feeds ? begin(p, l->delta_depth, &s, diag) : -AKIN_E_nomem;
	for (i = 0; !err && i < l->nr_streams; i++) {
		feeds[i].load = l;
		feeds[i].session = s;
		feeds[i].stream = i;
	}
	begun = clock_ns();
	if (!err)
		err = run_feeds(feeds, l->nr_streams, diag);
	if (!err)
		err = session_end(s, true, diag);
	out->store_ns = clock_ns() - begun;
	if (s) {
		sum_up(feeds, l->nr_streams, s, out);
		store_unlock_session(p, session_number(s));
	}
	session_free(s);
	store_return_stream_memory(p);
	if (!err && verify)
		err = compare_all(p, feeds, l->nr_streams, diag);
	for (i = 0; feeds && i < l->nr_streams; i++)
		free(feeds[i].hint.containers);
	free(feeds);
	return err;
}
