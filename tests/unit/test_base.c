/* SPDX-License-Identifier: Apache-2.0 */
#include "testlib.h"

#include "base/buf.h"
#include "base/cpu.h"
#include "base/diag.h"
#include "base/mem.h"

static void test_varint_roundtrip(void **state)
{
	static const u64 values[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX,
				      UINT64_MAX };
	struct buf b = { 0 };
	struct cursor c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		buf_put_varint(&b, values[i]);
	assert_int_equal(buf_error(&b), 0);
	c = cursor_over(b.data, b.len);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		assert_true(cursor_varint(&c) == values[i]);
	assert_int_equal(cursor_error(&c), 0);
	assert_int_equal(cursor_left(&c), 0);
	buf_release(&b);
}

static void test_varint_refuses_overlong(void **state)
{
	static const u8 eleven[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				     0x80, 0x80, 0x80, 0x80, 0x00 };
	static const u8 above[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
				    0xff, 0xff, 0xff, 0xff, 0x02 };
	struct cursor c = cursor_over(eleven, sizeof(eleven));

	assert_true(cursor_varint(&c) == 0);
	assert_int_equal(cursor_error(&c), -AKIN_E_bad_length);
	c = cursor_over(above, sizeof(above));
	assert_true(cursor_varint(&c) == 0);
	assert_int_equal(cursor_error(&c), -AKIN_E_bad_length);
}

static void test_cursor_is_sticky(void **state)
{
	static const u8 three[] = { 1, 2, 3 };
	struct cursor c = cursor_over(three, sizeof(three));

	assert_int_equal(cursor_le32(&c), 0);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_error(&c), -AKIN_E_bad_length);
}

static void test_diag_first_wins(void **state)
{
	struct akin_diag d = { 0 };

	assert_int_equal(diag_set(&d, -AKIN_E_io, "disk %d", 7), -AKIN_E_io);
	(void)diag_set(&d, -AKIN_E_nomem, "later");
	diag_prefix(&d, "pool %s", "p");
	assert_string_equal(d.text, "pool p: disk 7");
	assert_int_equal(d.code, -AKIN_E_io);
	assert_int_equal(akin_error_class(d.code), AKIN_CLASS_IO);
}

static void test_mem_fails_on_demand(void **state)
{
	void *a, *b;

	mem_fail_after(2);
	a = mem_alloc(1);
	b = mem_alloc(1);
	mem_fail_after(0);
	assert_non_null(a);
	assert_null(b);
	mem_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_varint_roundtrip),
		cmocka_unit_test(test_varint_refuses_overlong),
		cmocka_unit_test(test_cursor_is_sticky),
		cmocka_unit_test(test_diag_first_wins),
		cmocka_unit_test(test_mem_fails_on_demand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
