/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listing containers; see repair_scan.h.
 */
#include <stdio.h>

#include "os/spill.h"
#include "repair/repair_scan.h"

#define SPILL_BYTES (4 * MiB)
/* Big-endian, so that records compare as the numbers do. */
#define RECORD_BYTES 12

static int compare(const void *a, size_t alen, const void *b, size_t blen)
{
	return memcmp(a, b, RECORD_BYTES);
}

static void put_be(u8 *out, u64 v, int n)
{
	while (n--) {
		out[n] = (u8)v;
		v >>= 8;
	}
}

static u64 get_be(const u8 *in, int n)
{
	u64 v = 0;
	int i;

	for (i = 0; i < n; i++)
		v = v << 8 | in[i];
	return v;
}

static int one_name(void *ctx, const char *name, bool is_dir)
{
	struct repair_file f;
	u8 rec[RECORD_BYTES];

	/* Whatever is not ours stays what it is. */
	if (is_dir || !format_parse_container(name, &f.number, &f.generation) ||
	    f.number < 1 || f.number > REPAIR_NUMBER_MAX)
		return 0;
	put_be(rec, f.number, 8);
	put_be(rec + 8, f.generation, 4);
	return spill_add(ctx, rec, sizeof(rec));
}

static int list_all(struct disk *data, struct spill *sp,
		    struct akin_diag *diag)
{
	struct akin_diag why;
	char dir[FORMAT_NAME_MAX];
	u32 i;
	int err = 0;

	for (i = 0; !err && i < 256; i++) {
		memset(&why, 0, sizeof(why));
		snprintf(dir, sizeof(dir), DIR_CONTAINERS "/%02x", i);
		err = disk_list(data, dir, one_name, sp, &why);
		/* A folder that is gone holds nothing. */
		if (err == -AKIN_E_absent)
			err = 0;
		if (err)
			ignore_result(diag_set(diag, err, "listing "
					       "containers: %s", why.code ?
					       why.text :
					       akin_strerror(err)));
	}
	return err;
}

int repair_each_file(struct disk *data, struct disk *tmp,
		     int (*fn)(void *ctx, const struct repair_file *f),
		     void *ctx, struct akin_diag *diag)
{
	struct repair_file f;
	struct spill *sp;
	const void *rec;
	size_t len;
	int err, more = 1;

	err = spill_new(tmp, DIR_TMP, SPILL_BYTES, compare, &sp);
	if (err)
		return diag_set(diag, err, "listing containers");
	err = list_all(data, sp, diag);
	if (!err)
		err = spill_finish(sp);
	while (!err && more > 0) {
		more = spill_next(sp, &rec, &len);
		if (more <= 0)
			break;
		f.number = get_be(rec, 8);
		f.generation = (u32)get_be((const u8 *)rec + 8, 4);
		err = fn(ctx, &f);
	}
	if (!err && more < 0)
		err = more;
	if (err && spill_diag(sp)->code)
		ignore_result(diag_set(diag, err, "listing containers: %s",
				       spill_diag(sp)->text));
	spill_free(sp);
	return err;
}
