/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "catalog/metrics.h"

static void test_every_row_is_found_and_whole(void **state)
{
	(void)state;
	assert_true(metrics_table_count > 50);
	for (unsigned i = 0; i < metrics_table_count; i++) {
		const struct metrics_row *m = &metrics_table[i];
		assert_ptr_equal(metrics_find(m->name), m);
		assert_true(*m->help && *m->unit && *m->source);
	}
	assert_null(metrics_find("no_such"));
	assert_null(metrics_find(""));
}

/* A unit that the name tells must be the row's. */
static void test_names_tell_the_unit(void **state)
{
	static const char *const units[] = { "percent", "bytes", "celsius", "watts", "hertz" };
	(void)state;
	for (unsigned i = 0; i < metrics_table_count; i++)
		for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
			const char *tail = strrchr(metrics_table[i].name, '_');
			if (tail && strcmp(tail + 1, units[u]) == 0)
				assert_string_equal(metrics_table[i].unit, units[u]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_is_found_and_whole),
		cmocka_unit_test(test_names_tell_the_unit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
