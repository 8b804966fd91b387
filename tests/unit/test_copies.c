/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of several stored copies of a chunk, one that is damaged is as good as none:
 * reading takes another.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/format.h"
#include "simpool.h"
#include "testlib.h"

#define BYTES (100 * 1024)

/* The first data container: what the first backup stored. */
static void first_container(struct simpool *sp, char out[FORMAT_NAME_MAX])
{
	struct sim_name *names;
	size_t nr, i;
	u64 largest = 0;

	names = simdisk_names(sp->data, &nr);
	for (i = 0; i < nr; i++) {
		if (strncmp(names[i].path, "containers/", 11) ||
		    names[i].is_dir || names[i].size_bytes <= largest)
			continue;
		largest = names[i].size_bytes;
		snprintf(out, FORMAT_NAME_MAX, "%s", names[i].path);
	}
	simdisk_names_free(names, nr);
	assert_true(largest > BYTES / 4);
}

static void rename_file(struct simpool *sp, const char *from, const char *to)
{
	struct disk *d = simdisk_attach(sp->data, true);

	assert_int_equal(disk_rename(d, from, to, NULL), 0);
	disk_free(d);
}

static void test_second_copy_is_read(void **state)
{
	char name[FORMAT_NAME_MAX] = "";
	struct akin_diag d = { 0 };
	enum simpool_found found;
	u8 *data = malloc(BYTES);
	struct simpool sp;

	simpool_fill(5, data, BYTES);
	assert_int_equal(simpool_init(&sp, &d), 0);
	assert_int_equal(simpool_put(&sp, "a", data, BYTES, &d), 0);
	first_container(&sp, name);
	/* While it is away, the same bytes are stored anew. */
	rename_file(&sp, name, "away");
	assert_int_equal(simpool_put(&sp, "b", data, BYTES, &d), 0);
	rename_file(&sp, "away", name);
	simdisk_flip_bit(sp.data, name, 20000, 3);
	/* "a" names the first container in its hints. */
	assert_int_equal(simpool_get(&sp, "a", data, BYTES, &found, &d), 0);
	assert_int_equal(found, SIMPOOL_WHOLE);
	assert_int_equal(simpool_get(&sp, "b", data, BYTES, &found, &d), 0);
	assert_int_equal(found, SIMPOOL_WHOLE);
	simpool_free(&sp);
	free(data);
}

static void test_only_copy_is_an_error(void **state)
{
	char name[FORMAT_NAME_MAX] = "";
	struct akin_diag d = { 0 };
	enum simpool_found found;
	u8 *data = malloc(BYTES);
	struct simpool sp;

	simpool_fill(5, data, BYTES);
	assert_int_equal(simpool_init(&sp, &d), 0);
	assert_int_equal(simpool_put(&sp, "a", data, BYTES, &d), 0);
	first_container(&sp, name);
	simdisk_flip_bit(sp.data, name, 20000, 3);
	assert_int_equal(simpool_get(&sp, "a", data, BYTES, &found, &d),
			 -AKIN_E_bad_checksum);
	assert_non_null(strstr(d.text, "container"));
	simpool_free(&sp);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second_copy_is_read),
		cmocka_unit_test(test_only_copy_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
