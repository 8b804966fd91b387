/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to events, and events to those who count; see
 * estimate_internal.h.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "estimate_internal.h"
#include "estimate_scratch.h"
#include "estimate_top.h"
#include "hash/hash.h"

/* Buffers, batches, and the program itself; and for each thread. */
#define FIXED_BYTES (26 * MiB)
#define THREAD_BYTES (3 * MiB)
#define THREADS_MAX 6
static_assert(ESTIMATE_MEMORY_MIN > FIXED_BYTES + THREADS_MAX * THREAD_BYTES,
	      "something for the tables");

/* Pieces of which some are read: so many at best, as make the spread of a
 * sample known; not so small that chunks which begin or end outside would
 * matter. With fewer than the least nothing would be known. */
#define REGIONS 256
#define REGIONS_MIN 16
#define REGION_MIN (1 * MiB)
#define REGION_MAX (4 * MiB)

static unsigned nr_threads(const struct estimate_options *opt)
{
	long nr = opt->nr_threads ? (long)opt->nr_threads :
				    sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : (unsigned)min_u64((u64)nr, THREADS_MAX);
}

static int tools_new(void *arg, void **out, struct akin_diag *diag)
{
	*out = estimate_tools_new(diag);
	return *out ? 0 : -AKIN_E_nomem;
}

static int batches_init(struct estimate *e, struct akin_diag *diag)
{
	struct batch *b;
	int i;

	for (i = 0; i < 2; i++) {
		b = &e->batches[i];
		b->data = mem_alloc(ESTIMATE_BUFFER);
		b->names = mem_alloc(BATCH_NAMES);
		b->events = mem_calloc(BATCH_EVENTS, sizeof(*b->events));
		if (!b->data || !b->names || !b->events)
			return diag_set(diag, -AKIN_E_nomem, "out of memory");
	}
	e->filling = &e->batches[0];
	return 0;
}

static int methods_init(struct estimate *e, const struct estimate_options *opt,
			u64 memory, struct akin_diag *diag)
{
	u32 weights = 0;
	u64 share;
	int i, err = 0;

	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		weights += estimate_methods[i].weight;
	for (i = 0; i < ESTIMATE_NR_METHODS && !err; i++) {
		e->methods[i].region = e->share < 1 ? e->region : 0;
		share = opt->set_bytes ? opt->set_bytes :
			memory / weights * estimate_methods[i].weight;
		err = estimate_method_init(&e->methods[i],
					   &estimate_methods[i], opt, share,
					   diag);
		e->methods[i].consumer.e = e;
	}
	return err;
}

static void set_share(struct estimate *e, const struct estimate_options *opt)
{
	double total = (double)opt->total;
	u64 region = estimate_u64(total * opt->share / REGIONS);

	e->total = opt->total;
	e->region = min_u64(max_u64(region, REGION_MIN), REGION_MAX);
	/* Blocks are aligned, and so are these. */
	e->region &= ~(REGION_MIN - 1);
	if (!opt->total)
		e->region = REGION_MAX;
	if (opt->region)
		e->region = opt->region;
	e->share = opt->share > 0 ? opt->share : 1;
	if (total * e->share < (double)(REGIONS_MIN * e->region) && total > 0)
		e->share = (double)(REGIONS_MIN * e->region) / total;
	if (e->share >= 0.5)
		e->share = 1;
}

int estimate_new(const struct estimate_options *opt, struct estimate **out,
		 struct akin_diag *diag)
{
	unsigned threads = nr_threads(opt);
	struct workers_options wopt = {
		.nr_threads = threads, .ctx_new = tools_new,
		.ctx_free = estimate_tools_free,
	};
	u64 memory = max_u64(opt->memory, ESTIMATE_MEMORY_MIN) - FIXED_BYTES -
		     threads * THREAD_BYTES;
	struct estimate *e = mem_zalloc(sizeof(*e));
	bool scratch = opt->scratch_bytes &&
		       opt->memory >= ESTIMATE_MEMORY_MIN +
				      ESTIMATE_MEMORY_SCRATCH;
	struct estimate_options use;
	int err;

	if (!e)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->done, NULL);
	e->seed = opt->seed;
	set_share(e, opt);
	if (scratch)
		memory -= ESTIMATE_MEMORY_SCRATCH;
	use = *opt;
	use.share = e->share;
	err = batches_init(e, diag);
	if (!err)
		err = methods_init(e, opt, memory, diag);
	if (!err)
		err = estimate_top_new(&e->top, diag);
	if (!err && scratch)
		err = estimate_scratch_new(&use, &e->scratch, diag);
	if (!err)
		err = workers_new(&wopt, &e->workers, diag);
	if (err) {
		estimate_free(e);
		return err;
	}
	*out = e;
	return 0;
}

void estimate_free(struct estimate *e)
{
	int i;

	if (!e)
		return;
	/* Runs what is queued. */
	workers_free(e->workers);
	for (i = 0; i < ESTIMATE_NR_METHODS; i++)
		estimate_method_release(&e->methods[i]);
	estimate_scratch_free(e->scratch);
	estimate_top_free(e->top);
	for (i = 0; i < 2; i++) {
		mem_free(e->batches[i].data);
		mem_free(e->batches[i].names);
		mem_free(e->batches[i].events);
	}
	mem_free(e->states);
	pthread_cond_destroy(&e->done);
	pthread_mutex_destroy(&e->lock);
	mem_free(e);
}

/* Rounds ------------------------------------------------------------------ */

static struct consumer *consumer_of(struct estimate *e, u32 i)
{
	if (i < ESTIMATE_NR_METHODS)
		return &e->methods[i].consumer;
	return e->scratch ? estimate_scratch_consumer(e->scratch) : NULL;
}

static void run(struct work *w, void *tools)
{
	struct consumer *c = container_of(w, struct consumer, work);
	struct estimate *e = c->e;

	if (!c->err)
		c->err = c->consume(c, e->working, tools, &c->diag);
	pthread_mutex_lock(&e->lock);
	if (--e->pending == 0)
		pthread_cond_signal(&e->done);
	pthread_mutex_unlock(&e->lock);
}

/* The batch that was given out is worked on no more, and its places known. */
static int wait_round(struct estimate *e, struct akin_diag *diag)
{
	struct consumer *c;
	int err = 0;
	u32 i;

	pthread_mutex_lock(&e->lock);
	while (e->pending)
		pthread_cond_wait(&e->done, &e->lock);
	pthread_mutex_unlock(&e->lock);
	if (!e->working)
		return 0;
	for (i = 0; i <= ESTIMATE_NR_METHODS && !err; i++) {
		c = consumer_of(e, i);
		if (c && c->err)
			err = diag_pass(diag, c->err, &c->diag);
	}
	if (!err)
		err = estimate_top_take(e->top, e->working, diag);
	e->working = NULL;
	return err;
}

/* Give out what was filled; the other batch is free then. */
static int next_round(struct estimate *e, struct akin_diag *diag)
{
	int err = wait_round(e, diag);
	struct consumer *c;
	u32 i;

	if (err || !e->filling->nr)
		return err;
	e->working = e->filling;
	e->pending = ESTIMATE_NR_METHODS + !!e->scratch;
	for (i = 0; i <= ESTIMATE_NR_METHODS; i++) {
		c = consumer_of(e, i);
		if (!c)
			continue;
		c->e = e;
		c->work.run = run;
		workers_queue(e->workers, &c->work);
	}
	e->filling = &e->batches[e->working == &e->batches[0]];
	e->filling->nr = 0;
	e->filling->len = e->filling->names_len = 0;
	return 0;
}

/* Everything that was given has been worked on. */
static int settle(struct estimate *e, struct akin_diag *diag)
{
	int err = next_round(e, diag);

	return err ? err : wait_round(e, diag);
}

/* Events ------------------------------------------------------------------ */

/* Room for one more with names of @n bytes, zeroed. */
static int add_event(struct estimate *e, enum event_type type, size_t n,
		     struct event **out, struct akin_diag *diag)
{
	struct batch *b = e->filling;
	int err = 0;

	if (n > BATCH_NAMES)
		return diag_set(diag, -AKIN_E_too_large, "a path of %zu bytes",
				n);
	if (b->nr == BATCH_EVENTS || b->names_len + n > BATCH_NAMES)
		err = next_round(e, diag);
	if (err)
		return err;
	b = e->filling;
	*out = &b->events[b->nr++];
	**out = (struct event){ .type = (u8)type };
	return 0;
}

static u32 add_name(struct estimate *e, const char *name)
{
	struct batch *b = e->filling;
	size_t n = strlen(name) + 1, at = b->names_len;

	memcpy(b->names + at, name, n);
	b->names_len += n;
	return (u32)at;
}

int estimate_enter(struct estimate *e, const char *path,
		   struct akin_diag *diag)
{
	struct event *v = NULL;
	int err = add_event(e, EVENT_ENTER, strlen(path) + 1, &v, diag);

	if (!err)
		v->path = add_name(e, path);
	return err;
}

int estimate_leave(struct estimate *e, struct akin_diag *diag)
{
	struct event *v = NULL;

	return add_event(e, EVENT_LEAVE, 0, &v, diag);
}

int estimate_begin(struct estimate *e, const char *path, const char *key,
		   struct akin_diag *diag)
{
	size_t n = strlen(path) + strlen(key) + 2;
	struct event *v = NULL;
	int err = add_event(e, EVENT_BEGIN, n, &v, diag);

	if (err)
		return err;
	v->path = add_name(e, path);
	v->key = add_name(e, key);
	e->key_hash = checksum64(key, strlen(key), e->seed);
	e->file_bytes = e->fed_end = 0;
	return 0;
}

static int add_data(struct estimate *e, const u8 *p, size_t n,
		    struct akin_diag *diag)
{
	struct batch *b;
	struct event *v = NULL;
	size_t part;
	int err = 0;

	for (; n && !err; p += part, n -= part) {
		if (e->filling->len == ESTIMATE_BUFFER)
			err = next_round(e, diag);
		part = 0;
		if (!err)
			err = add_event(e, EVENT_DATA, 0, &v, diag);
		if (err)
			continue;
		b = e->filling;
		part = min_u64(n, ESTIMATE_BUFFER - b->len);
		memcpy(b->data + b->len, p, part);
		b->len += part;
		v->len = (u32)part;
		e->file_bytes += part;
	}
	return err;
}

int estimate_end(struct estimate *e, u64 size, struct akin_diag *diag)
{
	struct event *v = NULL;
	int err = add_event(e, EVENT_END, 0, &v, diag);

	if (err)
		return err;
	v->whole = e->share == 1 || e->fed_end >= size;
	v->bytes = e->file_bytes;
	return 0;
}

/* Parts of the data -------------------------------------------------------- */

static u64 cluster_hash(const struct estimate *e, u64 off)
{
	u64 id[2] = { e->key_hash, off / e->region };

	return checksum64(id, sizeof(id), e->seed);
}

static bool is_wanted(const struct estimate *e, u64 off)
{
	return e->share == 1 ||
	       (double)(cluster_hash(e, off) >> 11) * 0x1p-53 < e->share;
}

bool estimate_wants(const struct estimate *e, u64 off, u64 size, u64 *off_ret,
		    u64 *len_ret)
{
	while (off < size && !is_wanted(e, off))
		off = (off / e->region + 1) * e->region;
	if (off >= size)
		return false;
	*off_ret = off;
	*len_ret = size - off;
	if (e->share < 1)
		*len_ret = min_u64(*len_ret, e->region - off % e->region);
	return true;
}

static int cut(struct estimate *e, u64 off, struct akin_diag *diag)
{
	struct event *v = NULL;
	int err = add_event(e, EVENT_CUT, 0, &v, diag);

	if (err)
		return err;
	v->off = off;
	v->whole = off == 0;
	v->cluster = (u32)(cluster_hash(e, off) % ESTIMATE_CLUSTER_MAX) + 1;
	return 0;
}

int estimate_feed(struct estimate *e, u64 off, const void *data, size_t n,
		  struct akin_diag *diag)
{
	u64 end = off + n, part, len;
	const u8 *p = data;
	int err = 0;

	if (e->share == 1)
		return add_data(e, p, n, diag);
	p -= off;
	while (!err && estimate_wants(e, off, end, &part, &len)) {
		if (part % e->region == 0)
			err = cut(e, part, diag);
		if (!err)
			err = add_data(e, p + part, (size_t)len, diag);
		e->fed_end = off = part + len;
	}
	return err;
}

/* Ends -------------------------------------------------------------------- */

int estimate_state_end(struct estimate *e, s64 time, struct akin_diag *diag)
{
	struct estimate_result r;
	struct estimate_state *s;
	u64 stored = 0;
	int err = settle(e, diag);

	if (!err && e->scratch)
		err = estimate_scratch_state(e->scratch, &stored, diag);
	if (err)
		return err;
	s = mem_realloc(e->states, (e->nr_states + 1) * sizeof(*s));
	if (!s)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	e->states = s;
	s += e->nr_states++;
	estimate_get(e, ESTIMATE_POOL, &r);
	*s = (struct estimate_state){
		.time = time, .bytes = r.bytes - e->state_bytes,
		.unique = r.unique.value, .stored = stored,
		.fresh = r.unique.value - min_u64(r.unique.value,
						  e->state_unique),
		.factor = r.factor[ESTIMATE_ZSTD],
	};
	e->state_bytes = r.bytes;
	e->state_unique = r.unique.value;
	return 0;
}

static int finish_methods(struct estimate *e, struct akin_diag *diag)
{
	struct estimate_tools *t = estimate_tools_new(diag);
	int i, err = t ? 0 : -AKIN_E_nomem;

	for (i = 0; i < ESTIMATE_NR_METHODS && !err; i++)
		err = estimate_method_finish(&e->methods[i], t, diag);
	estimate_tools_free(t);
	return err;
}

int estimate_finish(struct estimate *e, struct akin_diag *diag)
{
	int err = settle(e, diag);

	if (!err)
		err = finish_methods(e, diag);
	if (!err && e->scratch)
		err = estimate_scratch_finish(e->scratch, diag);
	return err;
}

/* Accessors --------------------------------------------------------------- */

u32 estimate_nr_states(const struct estimate *e)
{
	return e->nr_states;
}

const struct estimate_state *estimate_get_state(const struct estimate *e,
						u32 i)
{
	return &e->states[i];
}

void estimate_histogram(const struct estimate *e, unsigned method,
			struct estimate_bucket out[ESTIMATE_BUCKETS])
{
	estimate_set_histogram(&e->methods[method].set, out);
}

double estimate_share(const struct estimate *e)
{
	return e->share;
}

void estimate_set_total(struct estimate *e, u64 total)
{
	e->total = total;
}

const struct estimate_place *estimate_places(const struct estimate *e,
					     enum estimate_order by,
					     bool dirs, u32 *nr_ret)
{
	return estimate_top_list(e->top, by, dirs, nr_ret);
}
