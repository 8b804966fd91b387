/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External merge sort (Knuth, TAOCP 5.4).
 *
 * In memory records hang in a linked list and lie in blocks that grow from
 * 4 to 256 KiB. A list needs no array of pointers beside it and merge sort on
 * it needs no second copy, so the budget goes to records, and the sort is
 * stable. When the budget is full the sorted list becomes a *run* in the file
 * of tier 0. A tier that has FAN_IN runs merges them into one run of the next
 * tier; so a record is rewritten once per tier, log16(size / budget) times.
 * Each tier has a file of its own, cut to nothing when its runs have moved up.
 *
 * I1. Runs of a higher tier are older than those of a lower one, and runs
 *     within a tier are in order of age: ties go to the older run, which keeps
 *     the sort stable.
 * I2. No tier holds FAN_IN runs between two calls, so pushing a tier up always
 *     finds room.
 * I3. Blocks and merge buffers never exist at the same time: each may use the
 *     whole budget (but for the one buffer that writes a run).
 *
 * A record in a run: length (4), checksum (4), bytes. The files die with the
 * process, so this is no format: but marks that decide what is deleted pass
 * through here, and a bad disk must not decide.
 */
#include <xxhash.h>

#include "base/check.h"
#include "base/mem.h"
#include "os/spill.h"

#define FAN_IN 16
#define NR_TIERS 12	/* 16^12 budgets: never reached */
#define FRAME_BYTES 8
#define BLOCK_MIN_BYTES ((size_t)4096)
#define BLOCK_MAX_BYTES ((size_t)256 * 1024)
#define SORT_BINS 64	/* lists of 2^i records: more than memory holds */

static_assert(SPILL_RECORD_MAX(17 * 4096) + FRAME_BYTES == 4096,
	      "a merge buffer holds the longest record");

struct record {
	struct record *next;
	u32 len;
	u8 data[];
};

struct block {
	struct block *next;
	size_t used, cap;	/* of @data */
	u8 data[];
};

struct run {
	struct file *file;
	u64 off, end;
};

struct tier {
	struct file *file;	/* NULL until first used */
	u64 size;
	u32 nr_runs;
	struct run runs[FAN_IN];
};

/* One run being read. */
struct source {
	struct run run;		/* what is still on disk */
	u8 *buf;
	size_t pos, fill;
	const u8 *data;		/* current record, inside @buf */
	u32 len;
};

/* Sequential writer at the end of a tier's file. */
struct sink {
	struct tier *tier;
	u64 start;
	u8 *buf;
	size_t fill;
};

struct merge {
	u8 *memory;		/* FAN_IN + 1 parts */
	u32 nr;
	u32 heap[FAN_IN];	/* source numbers, least record first */
	struct source src[FAN_IN];
};

enum spill_state { ADDING, FROM_MEMORY, FROM_RUNS };

struct spill {
	struct disk *disk;
	char *dir;
	size_t budget;
	size_t part;		/* size of one merge buffer */
	spill_compare *compare;
	enum spill_state state;
	int err;
	bool started;		/* the first record has been handed out */
	struct akin_diag diag;
	u64 disk_bytes;

	struct block *blocks;
	size_t block_bytes;	/* all blocks, headers included */
	struct record *first, **last;

	struct tier tiers[NR_TIERS];
	struct merge merge;
};

/* ---- records in memory ---- */

static size_t record_bytes(size_t len)
{
	size_t align = sizeof(void *);

	return (offsetof(struct record, data) + len + align - 1) & ~(align - 1);
}

/* What blocks may take: with a disk, one part is kept to write a run. */
static size_t block_limit(const struct spill *sp)
{
	return sp->disk ? sp->budget - sp->part : sp->budget;
}

static void blocks_free(struct spill *sp)
{
	struct block *b;

	while ((b = sp->blocks)) {
		sp->blocks = b->next;
		mem_free(b);
	}
	sp->block_bytes = 0;
	sp->first = NULL;
	sp->last = &sp->first;
}

/*
 * A new block for a record of @need bytes: 1 = there, 0 = the budget is full,
 * -AKIN_E_nomem = it is not, and yet there is no memory.
 */
static int block_add(struct spill *sp, size_t need)
{
	size_t left = block_limit(sp) - sp->block_bytes;
	size_t size = sp->block_bytes;
	struct block *b;

	if (left < sizeof(*b) || left - sizeof(*b) < need)
		return 0;
	size = max_u64(size, BLOCK_MIN_BYTES);
	size = min_u64(size, BLOCK_MAX_BYTES);
	size = max_u64(size, sizeof(*b) + need);
	size = min_u64(size, left);
	b = mem_alloc(size);
	if (!b)
		return -AKIN_E_nomem;
	b->used = 0;
	b->cap = size - sizeof(*b);
	b->next = sp->blocks;
	sp->blocks = b;
	sp->block_bytes += size;
	return 1;
}

/* 1 = added, 0 = does not fit the budget, or a negative code. */
static int memory_add(struct spill *sp, const void *data, size_t len)
{
	size_t need = record_bytes(len);
	struct block *b = sp->blocks;
	struct record *r;
	int ret;

	if (!b || b->cap - b->used < need) {
		ret = block_add(sp, need);
		if (ret <= 0)
			return ret;
		b = sp->blocks;
	}
	r = (struct record *)(void *)(b->data + b->used);
	b->used += need;
	r->next = NULL;
	r->len = (u32)len;
	if (len)
		memcpy(r->data, data, len);
	*sp->last = r;
	sp->last = &r->next;
	return 1;
}

/* Both sorted; records of @a are older. */
static struct record *list_merge(struct spill *sp, struct record *a,
				 struct record *b)
{
	struct record *head = NULL, **tail = &head;

	while (a && b) {
		if (sp->compare(a->data, a->len, b->data, b->len) <= 0) {
			*tail = a;
			tail = &a->next;
			a = a->next;
		} else {
			*tail = b;
			tail = &b->next;
			b = b->next;
		}
	}
	*tail = a ? a : b;
	return head;
}

/*
 * Bottom-up merge sort with a binary counter of sorted lists: what was added
 * last merges first, while it is in the processor's cache.
 */
static void memory_sort(struct spill *sp)
{
	struct record *bins[SORT_BINS] = { NULL };
	struct record *r = sp->first, *next, *all = NULL;
	u32 i;

	for (; r; r = next) {
		next = r->next;
		r->next = NULL;
		for (i = 0; bins[i]; i++) {
			r = list_merge(sp, bins[i], r);
			bins[i] = NULL;
		}
		bins[i] = r;
	}
	for (i = 0; i < SORT_BINS; i++)
		if (bins[i])
			all = list_merge(sp, bins[i], all);
	sp->first = all;
}

/* ---- runs ---- */

static u32 record_check(const void *data, size_t len)
{
	return (u32)XXH3_64bits_withSeed(data, len, len);
}

static int sink_open(struct spill *sp, u32 nr_tier, u8 *buf, struct sink *s)
{
	struct tier *t = &sp->tiers[nr_tier];
	int err;

	if (!t->file) {
		err = disk_tmp_open(sp->disk, sp->dir, &t->file, &sp->diag);
		if (err)
			return err;
	}
	s->tier = t;
	s->start = t->size;
	s->buf = buf;
	s->fill = 0;
	return 0;
}

static int sink_flush(struct spill *sp, struct sink *s)
{
	int err;

	if (!s->fill)
		return 0;
	err = file_pwrite(s->tier->file, s->buf, s->fill, s->tier->size,
			  &sp->diag);
	if (err)
		return err;
	s->tier->size += s->fill;
	sp->disk_bytes += s->fill;
	s->fill = 0;
	return 0;
}

static int sink_put(struct spill *sp, struct sink *s, const u8 *data, u32 len)
{
	int err;

	akin_assert(len <= sp->part - FRAME_BYTES);
	if (s->fill + FRAME_BYTES + len > sp->part) {
		err = sink_flush(sp, s);
		if (err)
			return err;
	}
	put_le32(s->buf + s->fill, len);
	put_le32(s->buf + s->fill + 4, record_check(data, len));
	memcpy(s->buf + s->fill + FRAME_BYTES, data, len);
	s->fill += FRAME_BYTES + len;
	return 0;
}

static int sink_close(struct spill *sp, struct sink *s)
{
	struct tier *t = s->tier;
	int err = sink_flush(sp, s);

	if (err)
		return err;
	akin_assert(t->nr_runs < FAN_IN);	/* I2 */
	t->runs[t->nr_runs++] = (struct run){ t->file, s->start, t->size };
	return 0;
}

/* At least @need bytes from @pos on, or an error: the run ends too early. */
static int source_fill(struct spill *sp, struct source *s, size_t need)
{
	size_t want;
	int err;

	if (s->fill - s->pos >= need)
		return 0;
	memmove(s->buf, s->buf + s->pos, s->fill - s->pos);
	s->fill -= s->pos;
	s->pos = 0;
	want = min_u64(sp->part - s->fill, s->run.end - s->run.off);
	if (s->fill + want < need)
		return diag_set(&sp->diag, -AKIN_E_bad_length,
				"temporary file: a record is cut short");
	err = file_pread(s->run.file, s->buf + s->fill, want, s->run.off,
			 &sp->diag);
	if (err)
		return err;
	s->fill += want;
	s->run.off += want;
	return 0;
}

/* 1 = @s->data is the next record, 0 = the run is at its end. */
static int source_next(struct spill *sp, struct source *s)
{
	u32 len, check;
	int err;

	if (s->pos == s->fill && s->run.off == s->run.end)
		return 0;
	err = source_fill(sp, s, FRAME_BYTES);
	if (err)
		return err;
	len = get_le32(s->buf + s->pos);
	check = get_le32(s->buf + s->pos + 4);
	if (len > sp->part - FRAME_BYTES)
		return diag_set(&sp->diag, -AKIN_E_bad_length,
				"temporary file: a record of %u bytes", len);
	err = source_fill(sp, s, FRAME_BYTES + (size_t)len);
	if (err)
		return err;
	s->data = s->buf + s->pos + FRAME_BYTES;
	s->len = len;
	s->pos += FRAME_BYTES + (size_t)len;
	if (record_check(s->data, len) != check)
		return diag_set(&sp->diag, -AKIN_E_bad_checksum,
				"temporary file: bytes differ from those written");
	return 1;
}

/* ---- merging ---- */

static bool heap_less(struct spill *sp, u32 a, u32 b)
{
	const struct source *x = &sp->merge.src[a], *y = &sp->merge.src[b];
	int c = sp->compare(x->data, x->len, y->data, y->len);

	return c ? c < 0 : a < b;	/* I1 */
}

static void heap_sift(struct spill *sp, u32 i)
{
	struct merge *m = &sp->merge;
	u32 child, tmp;

	for (;; i = child) {
		child = 2 * i + 1;
		if (child >= m->nr)
			return;
		if (child + 1 < m->nr &&
		    heap_less(sp, m->heap[child + 1], m->heap[child]))
			child++;
		if (!heap_less(sp, m->heap[child], m->heap[i]))
			return;
		tmp = m->heap[i];
		m->heap[i] = m->heap[child];
		m->heap[child] = tmp;
	}
}

static void merge_release(struct spill *sp)
{
	mem_free(sp->merge.memory);
	sp->merge.memory = NULL;
	sp->merge.nr = 0;
}

/* Replace the least record by its successor in the same run. */
static int merge_advance(struct spill *sp)
{
	struct merge *m = &sp->merge;
	int ret = source_next(sp, &m->src[m->heap[0]]);

	if (ret < 0)
		return ret;
	if (!ret)
		m->heap[0] = m->heap[--m->nr];
	heap_sift(sp, 0);
	return 0;
}

static int merge_start(struct spill *sp, const struct run *runs, u32 nr)
{
	struct merge *m = &sp->merge;
	u32 i;
	int ret;

	akin_assert(nr <= FAN_IN && !sp->blocks);	/* I3 */
	m->memory = mem_alloc((FAN_IN + 1) * sp->part);
	if (!m->memory)
		return -AKIN_E_nomem;
	m->nr = 0;
	for (i = 0; i < nr; i++) {
		m->src[i] = (struct source){ .run = runs[i],
					     .buf = m->memory + i * sp->part };
		ret = source_next(sp, &m->src[i]);
		if (ret < 0)
			return ret;
		if (ret)
			m->heap[m->nr++] = i;
	}
	for (i = m->nr / 2; i-- > 0;)
		heap_sift(sp, i);
	return 0;
}

/* Merge the runs of @nr_tier into one run of the next tier. */
static int tier_push_up(struct spill *sp, u32 nr_tier)
{
	struct tier *t = &sp->tiers[nr_tier];
	struct merge *m = &sp->merge;
	const struct source *s;
	struct sink sink;
	int err;

	akin_assert(nr_tier + 1 < NR_TIERS);
	err = merge_start(sp, t->runs, t->nr_runs);
	if (err)
		goto out;
	err = sink_open(sp, nr_tier + 1, m->memory + FAN_IN * sp->part, &sink);
	while (!err && m->nr) {
		s = &m->src[m->heap[0]];
		err = sink_put(sp, &sink, s->data, s->len);
		if (!err)
			err = merge_advance(sp);
	}
	if (!err)
		err = sink_close(sp, &sink);
	if (!err)
		err = file_truncate(t->file, 0, &sp->diag);
	t->size = 0;
	t->nr_runs = 0;
out:
	merge_release(sp);
	return err;
}

/* Write what is in memory as a run and make room. */
static int memory_spill(struct spill *sp)
{
	struct record *r;
	struct sink sink;
	u8 *buf;
	u32 t;
	int err;

	memory_sort(sp);
	buf = mem_alloc(sp->part);
	if (!buf)
		return -AKIN_E_nomem;
	err = sink_open(sp, 0, buf, &sink);
	for (r = sp->first; !err && r; r = r->next)
		err = sink_put(sp, &sink, r->data, r->len);
	if (!err)
		err = sink_close(sp, &sink);
	mem_free(buf);
	blocks_free(sp);
	for (t = 0; !err && sp->tiers[t].nr_runs == FAN_IN; t++)
		err = tier_push_up(sp, t);
	return err;
}

/* Merge from the lowest tier up until one merge takes all that is left. */
static int runs_finish(struct spill *sp)
{
	struct run runs[FAN_IN];
	u32 total = 0, nr = 0, t, i;
	int err;

	for (t = 0; t < NR_TIERS; t++)
		total += sp->tiers[t].nr_runs;
	for (t = 0; total > FAN_IN; t++) {
		if (!sp->tiers[t].nr_runs)
			continue;
		total -= sp->tiers[t].nr_runs - 1;
		err = tier_push_up(sp, t);
		if (err)
			return err;
	}
	for (t = NR_TIERS; t-- > 0;)		/* oldest first: I1 */
		for (i = 0; i < sp->tiers[t].nr_runs; i++)
			runs[nr++] = sp->tiers[t].runs[i];
	return merge_start(sp, runs, nr);
}

/* ---- interface ---- */

static int fail(struct spill *sp, int err)
{
	if (err && !sp->err) {
		sp->err = err;
		(void)diag_set(&sp->diag, err, "sorting: %s",
			       akin_strerror(err));
	}
	return err;
}

int spill_new(struct disk *tmp_disk, const char *dir, size_t budget_bytes,
	      spill_compare *compare, struct spill **out)
{
	struct spill *sp;

	if (tmp_disk && budget_bytes < SPILL_MIN_BYTES)
		return -AKIN_E_usage;
	sp = mem_zalloc(sizeof(*sp));
	if (!sp)
		return -AKIN_E_nomem;
	sp->disk = tmp_disk;
	sp->budget = budget_bytes;
	sp->part = budget_bytes / (FAN_IN + 1);
	sp->compare = compare;
	sp->last = &sp->first;
	if (tmp_disk) {
		sp->dir = mem_strdup(dir);
		if (!sp->dir) {
			spill_free(sp);
			return -AKIN_E_nomem;
		}
	}
	*out = sp;
	return 0;
}

int spill_add(struct spill *sp, const void *data, size_t len)
{
	int ret;

	if (sp->err)
		return sp->err;
	if (sp->state != ADDING)
		return -AKIN_E_sequence;
	if (sp->disk && len > SPILL_RECORD_MAX(sp->budget))
		return fail(sp, -AKIN_E_too_large);
	if (len > UINT32_MAX)
		return fail(sp, -AKIN_E_too_large);
	ret = memory_add(sp, data, len);
	if (!ret && sp->disk) {
		ret = memory_spill(sp);
		if (!ret)
			ret = memory_add(sp, data, len);
	}
	if (ret <= 0)
		return fail(sp, ret ? ret : -AKIN_E_nomem);
	return 0;
}

int spill_finish(struct spill *sp)
{
	bool spilled = false;
	int err = 0;
	u32 t;

	if (sp->err)
		return sp->err;
	if (sp->state != ADDING)
		return -AKIN_E_sequence;
	for (t = 0; t < NR_TIERS; t++)
		spilled |= sp->tiers[t].nr_runs != 0;
	sp->state = spilled ? FROM_RUNS : FROM_MEMORY;
	if (!spilled) {
		memory_sort(sp);
		return 0;
	}
	err = memory_spill(sp);
	if (!err)
		err = runs_finish(sp);
	return fail(sp, err);
}

int spill_next(struct spill *sp, const void **data, size_t *len)
{
	struct merge *m = &sp->merge;
	int err;

	if (sp->err)
		return sp->err;
	if (sp->state == ADDING)
		return -AKIN_E_sequence;
	if (sp->state == FROM_MEMORY) {
		if (sp->started && sp->first)
			sp->first = sp->first->next;
		sp->started = true;
		if (!sp->first)
			return 0;
		*data = sp->first->data;
		*len = sp->first->len;
		return 1;
	}
	if (sp->started && m->nr) {
		err = merge_advance(sp);
		if (err)
			return fail(sp, err);
	}
	sp->started = true;
	if (!m->nr)
		return 0;
	*data = m->src[m->heap[0]].data;
	*len = m->src[m->heap[0]].len;
	return 1;
}

void spill_free(struct spill *sp)
{
	u32 t;

	if (!sp)
		return;
	blocks_free(sp);
	merge_release(sp);
	for (t = 0; t < NR_TIERS; t++)
		(void)file_close(sp->tiers[t].file, NULL);	/* nameless */
	mem_free(sp->dir);
	mem_free(sp);
}

const struct akin_diag *spill_diag(const struct spill *sp)
{
	return &sp->diag;
}

u64 spill_disk_bytes(const struct spill *sp)
{
	return sp->disk_bytes;
}
