/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "prove/statistics.h"

static void test_percentiles_are_measured_values(void **state)
{
	double x[100];
	struct statistics s;

	(void)state;
	for (int i = 0; i < 100; i++)
		x[i] = 100 - i; /* 100 down to 1 */
	statistics_of(x, 100, &s);
	assert_true(s.min == 1 && s.max == 100 && s.p50 == 50 && s.p95 == 95 && s.p99 == 99);
	assert_true(s.mean == 50.5);
	assert_true(s.stdev > 28.86 && s.stdev < 28.87);
}

static void test_one_value_and_none(void **state)
{
	double x[1] = { 7 };
	struct statistics s;

	(void)state;
	statistics_of(x, 1, &s);
	assert_true(s.min == 7 && s.p50 == 7 && s.p99 == 7 && s.max == 7 && s.stdev == 0);
	statistics_of(x, 0, &s);
	assert_true(s.min == 0 && s.max == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_percentiles_are_measured_values),
		cmocka_unit_test(test_one_value_and_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
