/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parity: heads and tables as structures, and the input as the parity file of
 * the container that the sample speaks of, with and without right checksums:
 * read through, checked, and what it says written back.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "container/container_parity.h"
#include "format/format_internal.h"
#include "fuzz.h"
#include "simdisk.h"

#define MUST(cond) do { if (!(cond)) abort(); } while (0)
#define CONTAINER_BYTES 10000

static void write_new(struct disk *d, const char *name, const void *data,
		      size_t len)
{
	struct file *f;

	MUST(!disk_open(d, name, DISK_WRITE | DISK_CREATE | DISK_TRUNC, &f,
			NULL));
	MUST(!file_pwrite(f, data, len, 0, NULL));
	MUST(!file_close(f, NULL));
}

static void use(struct disk *d, const struct pool_id *pool,
		const struct container_id *id)
{
	struct container_parity *p;
	char name[FORMAT_NAME_MAX];
	struct parity_report r;
	struct file *f;
	u8 out[5000];
	u64 bytes;
	u32 n;

	if (container_parity_open(d, pool, id, &p, NULL))
		return;
	bytes = container_parity_map(p)->bytes;
	format_container_name(id->number, id->generation, name);
	MUST(!disk_open(d, name, DISK_WRITE, &f, NULL));
	/* Wrong answers are the forger's; other memory is ours. */
	ignore_result(container_parity_read(p, f, 0, min_u64(bytes,
							     sizeof(out)),
					    out, &n, NULL));
	ignore_result(container_parity_read(p, f, bytes - 1, 1, out, &n, NULL));
	if (!container_parity_heal(p, f, &r, NULL) && !r.hopeless) {
		MUST(!container_parity_check(p, f, &r, NULL));
		MUST(!r.bad_sectors && !r.bad_length);
	}
	MUST(!file_close(f, NULL));
	container_parity_close(p);
}

/* A container of zeros, so that sums of forgeries may be right. */
static void as_file(const u8 *data, size_t len)
{
	static const u8 zeros[CONTAINER_BYTES];
	struct simdisk *sd = simdisk_new("data");
	struct disk *d = simdisk_attach(sd, true);
	struct container_id id = { SAMPLE_CONTAINER, 2 };
	char name[FORMAT_NAME_MAX];
	struct parity_map sample;

	mem_free(sample_parity(&sample));
	MUST(!disk_mkdir(d, "containers", NULL));
	MUST(!disk_mkdir(d, "containers/2a", NULL));
	format_container_name(id.number, id.generation, name);
	write_new(d, name, zeros, sizeof(zeros));
	format_parity_name(id.number, id.generation, name);
	write_new(d, name, data, len);
	use(d, &sample.pool, &id);
	disk_free(d);
	simdisk_free(sd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct format_case *fc = format_case_find("parity");
	struct parity_map map;
	u8 *copy;

	format_case_fuzz(fc, data, len);
	as_file(data, len);
	copy = mem_dup(data, len);
	if (!copy || len < PARITY_HEAD_BYTES) {
		mem_free(copy);
		return 0;
	}
	/* With a right head over a right table of whatever length it wants. */
	fc->seal(copy, len);
	if (!parity_head_decode(copy, &map) &&
	    parity_table_bytes(&map) <= len - PARITY_HEAD_BYTES) {
		fc->seal(copy, PARITY_HEAD_BYTES + parity_table_bytes(&map));
		as_file(copy, len);
	}
	mem_free(copy);
	return 0;
}
