/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "catalog/xids.h"

static void test_every_row_is_found_and_whole(void **state)
{
	(void)state;
	assert_true(xids_table_count > 80);
	for (unsigned i = 0; i < xids_table_count; i++) {
		const struct xids_row *x = &xids_table[i];
		assert_ptr_equal(xids_find(x->code), x);
		assert_true(i == 0 || xids_table[i - 1].code < x->code);
		assert_true(*x->name && *x->meaning && *x->severity && *x->whose && *x->nvidia_action &&
			    *x->ec2_action && *x->source);
		assert_memory_equal(x->source, "https://", 8);
		assert_int_equal(strlen(x->date), 10);
		/* One line each: they go into logs and tables. */
		assert_null(strchr(x->meaning, '\n'));
	}
}

/* The codes that a fleet meets, and what must be said of them. */
static void test_what_a_fleet_meets(void **state)
{
	static const int codes[] = { 13,  31,  32,  43,  44,  45,  46,  48,  61,  62,  63,  64,  68,  69,
				     74,  78,  79,  92,  94,  95,  109, 110, 119, 120, 121, 122, 123, 136,
				     137, 140, 143, 144, 145, 146, 147, 148, 149, 150, 154, 155 };
	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!xids_find(codes[i]))
			fail_msg("Xid %d is missing", codes[i]);
	assert_string_equal(xids_find(79)->severity, "fatal");
	assert_string_equal(xids_find(64)->severity, "fatal");
	assert_string_equal(xids_find(63)->severity, "warning");
	assert_string_equal(xids_find(31)->whose, "application");
	/* A guest on EC2 cannot reset a GPU: no EC2 action may ask for nvidia-smi's reset. */
	for (unsigned i = 0; i < xids_table_count; i++)
		assert_null(strstr(xids_table[i].ec2_action, "gpu-reset"));
}

static void test_recovery_actions(void **state)
{
	(void)state;
	assert_int_equal(xids_recovery_table_count, 6);
	assert_string_equal(xids_find_recovery(0)->severity, "info");
	assert_string_equal(xids_find_recovery(4)->name, "Drain and Reset");
	assert_null(xids_find_recovery(17));
}

static void test_unknown_codes(void **state)
{
	(void)state;
	assert_null(xids_find(99999));
	assert_null(xids_find(-1));
	assert_int_equal(xids_nearest(12), 11);
	assert_int_equal(xids_nearest(99999), xids_table[xids_table_count - 1].code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_is_found_and_whole),
		cmocka_unit_test(test_what_a_fleet_meets),
		cmocka_unit_test(test_recovery_actions),
		cmocka_unit_test(test_unknown_codes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
