/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>

#include "base/table.h"

static void shows(const struct table *t, const char *want)
{
	AUTO_STR text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);
	assert_int_equal(table_print(t, to), 0);
	fclose(to);
	assert_string_equal(text, want);
}

static void test_columns_are_as_wide_as_their_widest_cell(void **state)
{
	(void)state;
	AUTO(table) t = table_new("NAME|>BYTES|WHAT");
	table_cell(t, "a");
	table_cell(t, "%d", 5);
	table_cell(t, "first");
	table_cell(t, "longer-name");
	table_cell(t, "1234567");
	table_cell(t, "%s", "");
	shows(t, "NAME           BYTES  WHAT\n"
		 "a                  5  first\n"
		 "longer-name  1234567\n");
}

static void test_utf8_is_counted_in_characters(void **state)
{
	(void)state;
	AUTO(table) t = table_new("N|>M|X");
	table_cell(t, "é→ü");
	table_cell(t, "µs");
	table_cell(t, "1");
	table_cell(t, "abcd");
	table_cell(t, "abc");
	table_cell(t, "2");
	shows(t, "N       M  X\n"
		 "é→ü    µs  1\n"
		 "abcd  abc  2\n");
}

static void test_a_row_that_is_not_full_and_control_characters(void **state)
{
	(void)state;
	AUTO(table) t = table_new("A|B");
	table_cell(t, "x\ny");
	shows(t, "A    B\nx y\n");
	AUTO(table) empty = table_new("A|>B");
	shows(empty, "A  B\n");
}

static void test_bytes_text(void **state)
{
	(void)state;
	static const struct {
		unsigned long long bytes;
		const char *want;
	} rows[] = {
		{ 0, "0" },          { 17, "17" },         { 1023, "1023" },     { 1024, "1K" },
		{ 1536, "1.5K" },    { 10 * 1024, "10K" }, { 10239, "10K" },     { 64 << 20, "64M" },
		{ 1048575, "1.0M" }, { 49283072, "47M" },  { 1ull << 30, "1G" }, { 1ull << 60, "1E" },
		{ ~0ull, "16E" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[TABLE_BYTES_TEXT];
		table_bytes_text(rows[i].bytes, text);
		assert_string_equal(text, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(test_utf8_is_counted_in_characters),
		cmocka_unit_test(test_a_row_that_is_not_full_and_control_characters),
		cmocka_unit_test(test_bytes_text),
	};
	return cmocka_run_group_tests_name("base/table", tests, NULL, NULL);
}
