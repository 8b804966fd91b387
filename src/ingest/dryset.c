/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets of one cache line; the newest is in front and pushes the oldest out.
 */
#include "base/mem.h"
#include "ingest/dryset.h"

#define NR_BUCKETS (64 * 1024)	/* 4 MiB: a small part of any budget */
#define WAYS 8

struct dryset {
	u64 prefixes[NR_BUCKETS][WAYS];	/* 0: free */
};

struct dryset *dryset_new(void)
{
	return mem_zalloc(sizeof(struct dryset));
}

void dryset_free(struct dryset *ds)
{
	mem_free(ds);
}

bool dryset_add(struct dryset *ds, const struct fp *fp)
{
	u64 prefix = fp_prefix(fp);
	u64 *bucket = ds->prefixes[prefix % NR_BUCKETS];
	u32 i;

	prefix += prefix == 0;
	for (i = 0; i < WAYS; i++) {
		if (bucket[i] == prefix)
			return false;
	}
	memmove(bucket + 1, bucket, (WAYS - 1) * sizeof(*bucket));
	bucket[0] = prefix;
	return true;
}
