/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory behind the counters of include/akin/counters.h, made from its
 * table, and the ways to count.
 *
 * Counting is a relaxed atomic operation: sums are exact, but two values read
 * at one time need not fit each other. Count per batch, group or container,
 * never per chunk. A NULL counts nowhere, so that every module works without.
 *
 * Who keeps a sum of its own under its own lock, and is the only one to count
 * it, stores it (counters_set), which costs less than adding.
 */
#ifndef BASE_COUNTERS_H
#define BASE_COUNTERS_H

#include <stdatomic.h>

#include "akin/counters.h"
#include "base/types.h"

/* One kind of I/O on one pool, or one stage: batches or groups, their raw
 * bytes, and how long the threads took that did it. */
struct counters_io {
	_Atomic u64 ops, bytes, ns;
	_Atomic u64 latency[AKIN_LATENCY_BUCKETS];
};

/* All I/O on one pool. */
struct counters_disk {
	struct counters_io read, write, sync;
	struct counters_io other;	/* names, sizes, locks; no bytes */
};

struct counters {
#define COUNTERS_VALUE(name, unit, kind, help) _Atomic u64 name;
#define COUNTERS_STAGE(name, what) struct counters_io name;
#define COUNTERS_DISK(name, where) struct counters_disk name;
	AKIN_COUNTERS(COUNTERS_VALUE, COUNTERS_STAGE, COUNTERS_DISK)
#undef COUNTERS_VALUE
#undef COUNTERS_STAGE
#undef COUNTERS_DISK
};

/*
 * Streams, one slot each while it is open. Whoever feeds or empties a stream
 * begins, names and ends it, from one thread at a time; amounts may be added
 * from any thread. All take NULL, which is what counters_stream_begin() gives
 * where there is no memory to show it in or all slots are taken.
 */
struct counters_stream {
	_Atomic u64 id;		/* 0: free */
	_Atomic u64 kind, begun_ns, bytes, bytes_new, items;
	char name[AKIN_STREAM_NAME];	/* zero behind its end */
};

#define COUNTERS_STREAMS 31

struct counters_streams {
	_Atomic u64 last;	/* id that was given out */
	struct counters_stream slots[COUNTERS_STREAMS];
};

struct counters_stream *counters_stream_begin(struct counters_streams *s,
					      enum akin_stream_kind kind,
					      const char *name, u64 now_ns);
/* Of long names the end. A reader may see it half done. */
void counters_stream_name(struct counters_stream *st, const char *name);
void counters_stream_add(struct counters_stream *st, u64 bytes, u64 bytes_new);
void counters_stream_item(struct counters_stream *st);
void counters_stream_end(struct counters_stream *st);

#define counters_add(c, name, n) \
	do { \
		if (c) \
			atomic_fetch_add_explicit(&(c)->name, (n), \
						  memory_order_relaxed); \
	} while (0)
#define counters_set(c, name, n) \
	do { \
		if (c) \
			atomic_store_explicit(&(c)->name, (n), \
					      memory_order_relaxed); \
	} while (0)

/* One batch or group. */
#define counters_stage(c, name, bytes, ns) \
	do { \
		if (c) \
			counters_io_add(&(c)->name, 1, (bytes), (ns)); \
	} while (0)
/* @ops operations that took @ns nanoseconds together. */
void counters_io_add(struct counters_io *io, u64 ops, u64 bytes, u64 ns);
/* Of something that took @ns nanoseconds. */
u32 counters_bucket(u64 ns);
/* Everything in @from is added to @to. */
void counters_disk_add(struct counters_disk *to, struct counters_disk *from);
/* AKIN_NR_COUNTER_VALUES values, in the order of the table. */
void counters_read(struct counters *c, u64 *out);

const struct akin_counter_field *counters_fields(u32 *nr_ret);
/* Differs for tables that differ in names, order or sizes. */
u64 counters_layout(void);

#endif
