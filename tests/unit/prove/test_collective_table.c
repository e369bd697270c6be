/* SPDX-License-Identifier: MIT */
/* Golden rows: the numbers of rows that nccl-tests 2.18 printed, put through our format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "prove/collective_table.h"

static void row_is(const struct collective_row *row, const char *expected)
{
	AUTO_BUF text;
	buf_init(&text, 4096);
	collective_table_row(&text, row);
	assert_string_equal(buf_text(&text), expected);
}

static struct collective_row row_of(uint64_t bytes, double time_us, double algbw, double busbw, int64_t wrong)
{
	const struct collective_half half = {
		.time_us = time_us, .algbw_gb_s = algbw, .busbw_gb_s = busbw, .wrong = wrong
	};
	return (struct collective_row){ .bytes = bytes,
					.count = bytes / 4,
					.type = &datatype_float,
					.op = REDUCTION_SUM,
					.out_of_place = half,
					.in_place = half };
}

static void test_rows(void **state)
{
	struct collective_row row = row_of(1048576, 339.61, 3.0875, 3.0875, 0);

	(void)state;
	row.in_place.time_us = 335.85;
	row.in_place.algbw_gb_s = row.in_place.busbw_gb_s = 3.1221;
	row_is(&row, "     1048576        262144     float     sum      -1   339.61    3.09    3.09       0   335.85   "
		     " 3.12    3.12 "
		     "      0\n");
	row = row_of(8, 9.5, 0.0008, 0.0008, 0);
	row_is(&row, "           8             2     float     sum      -1     9.50    0.00    0.00       0     9.50   "
		     " 0.00    0.00 "
		     "      0\n");
	row = row_of(10737418240, 90330, 118.87, 222.88, 0);
	row_is(&row, " 10737418240    2684354560     float     sum      -1  90330.0  118.87  222.88       0  90330.0  "
		     "118.87  222.88 "
		     "      0\n");
	row = row_of(17179869184, 1234567, 1234.5, 12345.6, 3);
	row_is(&row, " 17179869184    4294967296     float     sum      -1  1234567  1234.5   12346       3  1234567  "
		     "1234.5   12346 "
		     "      3\n");
	row = row_of(17179869184, 12345678, 0, 0, 1000000);
	row_is(&row, " 17179869184    4294967296     float     sum      -1  1.2e+07    0.00    0.00   1e+06  1.2e+07   "
		     " 0.00    0.00 "
		     "  1e+06\n");
	row = row_of(8, 9.5, 0, 0, -1);
	row_is(&row, "           8             2     float     sum      -1     9.50    0.00    0.00    N/A     9.50    "
		     "0.00    0.00 "
		     "   N/A\n");
}

static void foot_is(uint64_t wrong, double busbw, double least, const char *expected)
{
	const struct collective_result r = { .wrong = wrong, .mean_busbw = busbw };
	AUTO_BUF text;

	buf_init(&text, 4096);
	collective_table_foot(&text, &collective_all_reduce, &r, least);
	assert_string_equal(buf_text(&text), expected);
}

static void test_foot(void **state)
{
	(void)state;
	foot_is(0, 2.80613, 0,
		"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.80613 \n#\n"
		"# Collective test concluded: all_reduce_perf\n#\n");
	foot_is(7, 2.5, 2.7,
		"# Out of bounds values : 7 FAILED\n# Avg bus bandwidth    : 2.5 OK\n#\n"
		"# Collective test concluded: all_reduce_perf\n#\n");
	foot_is(0, 2.5, 3,
		"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5 FAILED\n#\n"
		"# Collective test concluded: all_reduce_perf\n#\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_foot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
