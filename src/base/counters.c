/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/counters.h"

/* struct counters is an array of values in the order of the table. */
#define AT(member) (offsetof(struct counters, member) / sizeof(u64))
static_assert(sizeof(struct counters) == AKIN_NR_COUNTER_VALUES * sizeof(u64),
	      "no holes");
static_assert(AT(bytes_in) == AKIN_COUNTER_bytes_in &&
	      AT(stage_decode.latency) == AKIN_COUNTER_stage_decode_latency &&
	      AT(metadata) == AKIN_COUNTER_metadata_read_ops &&
	      AT(data.other.latency) == AKIN_COUNTER_data_other_latency,
	      "the order of the table");
static_assert(__atomic_always_lock_free(sizeof(u64), 0),
	      "other processes read without a lock");

static const struct akin_counter_field fields[] = {
#define FIELD(name, unit, kind, help) \
	{ #name, unit, help, AKIN_KIND_##kind, AKIN_COUNTER_##name, 1 },
#define FIELD_H(name, unit, help) \
	{ #name, unit, help, AKIN_KIND_HISTOGRAM, AKIN_COUNTER_##name, \
	  AKIN_LATENCY_BUCKETS },
#define FIELD_STAGE(name, what) AKIN_COUNTERS_IO(FIELD, FIELD_H, name, what)
#define FIELD_DISK(name, where) \
	AKIN_COUNTERS_DISK(FIELD, FIELD_H, name, where)
	AKIN_COUNTERS(FIELD, FIELD_STAGE, FIELD_DISK)
#undef FIELD
#undef FIELD_H
#undef FIELD_STAGE
#undef FIELD_DISK
};

const struct akin_counter_field *counters_fields(u32 *nr_ret)
{
	*nr_ret = ARRAY_SIZE(fields);
	return fields;
}

/* FNV-1a over names and sizes. */
u64 counters_layout(void)
{
	u64 h = 0xcbf29ce484222325ull;
	const char *s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		for (s = fields[i].name; *s; s++)
			h = (h ^ (u8)*s) * 0x100000001b3ull;
		h = (h ^ fields[i].nr << 8) * 0x100000001b3ull;
	}
	return h;
}

u32 counters_bucket(u64 ns)
{
	u64 us = ns / 1000;

	if (us == 0)
		return 0;
	return (u32)min_u64(64 - (u64)__builtin_clzll(us),
			    AKIN_LATENCY_BUCKETS - 1);
}

static void add(_Atomic u64 *to, u64 n)
{
	if (n)
		atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void counters_io_add(struct counters_io *io, u64 ops, u64 bytes, u64 ns)
{
	add(&io->ops, ops);
	add(&io->bytes, bytes);
	add(&io->ns, ns);
	/* None of them took longer than all of them. */
	add(&io->latency[counters_bucket(ns)], ops);
}

static void add_all(_Atomic u64 *to, _Atomic u64 *from, size_t nr)
{
	while (nr--)
		add(to++, atomic_load_explicit(from++, memory_order_relaxed));
}

void counters_disk_add(struct counters_disk *to, struct counters_disk *from)
{
	add_all((_Atomic u64 *)to, (_Atomic u64 *)from,
		sizeof(*to) / sizeof(u64));
}

/* Being filled: readers pass it by. */
#define CLAIMED UINT64_MAX

struct counters_stream *counters_stream_begin(struct counters_streams *s,
					      enum akin_stream_kind kind,
					      const char *name, u64 now_ns)
{
	struct counters_stream *st;
	u64 none;
	u32 i;

	for (i = 0; s && i < COUNTERS_STREAMS; i++) {
		st = &s->slots[i];
		none = 0;
		if (!atomic_compare_exchange_strong(&st->id, &none, CLAIMED))
			continue;
		atomic_store_explicit(&st->kind, kind, memory_order_relaxed);
		atomic_store_explicit(&st->begun_ns, now_ns,
				      memory_order_relaxed);
		atomic_store_explicit(&st->bytes, 0, memory_order_relaxed);
		atomic_store_explicit(&st->bytes_new, 0, memory_order_relaxed);
		atomic_store_explicit(&st->items, 0, memory_order_relaxed);
		counters_stream_name(st, name);
		atomic_store_explicit(&st->id, atomic_fetch_add(&s->last, 1) + 1,
				      memory_order_release);
		return st;
	}
	return NULL;
}

void counters_stream_name(struct counters_stream *st, const char *name)
{
	size_t n = strlen(name), max = sizeof(st->name) - 1;

	if (!st)
		return;
	if (n > max) {
		name += n - max;
		n = max;
	}
	memcpy(st->name, name, n);
	memset(st->name + n, 0, sizeof(st->name) - n);
}

void counters_stream_add(struct counters_stream *st, u64 bytes, u64 bytes_new)
{
	if (!st)
		return;
	add(&st->bytes, bytes);
	add(&st->bytes_new, bytes_new);
}

void counters_stream_item(struct counters_stream *st)
{
	if (st)
		add(&st->items, 1);
}

void counters_stream_end(struct counters_stream *st)
{
	if (st)
		atomic_store_explicit(&st->id, 0, memory_order_release);
}

void counters_read(struct counters *c, u64 *out)
{
	_Atomic u64 *from = (_Atomic u64 *)c;
	size_t i;

	for (i = 0; i < AKIN_NR_COUNTER_VALUES; i++)
		out[i] = atomic_load_explicit(from++, memory_order_relaxed);
}
