/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

static void test_empty_reads_as_empty_text(void **state)
{
	(void)state;
	AUTO_BUF b;
	buf_init(&b, 10);
	assert_string_equal(buf_text(&b), "");
	AUTO_STR text = buf_steal(&b);
	assert_string_equal(text, "");
}

static void test_adds_are_joined_and_ended(void **state)
{
	(void)state;
	AUTO_BUF b;
	buf_init(&b, 1000);
	assert_int_equal(buf_str(&b, "ab"), 0);
	assert_int_equal(buf_add(&b, "c\0d", 3), 0);
	assert_int_equal(buf_printf(&b, "%0*d", 200, 7), 0);
	assert_int_equal(b.len, 205);
	assert_memory_equal(b.data, "abc\0d0", 6);
	assert_int_equal(b.data[205], '\0');
}

static void test_cap_is_exact_and_the_failure_sticks(void **state)
{
	(void)state;
	AUTO_BUF b;
	buf_init(&b, 4);
	assert_int_equal(buf_str(&b, "abcd"), 0);
	assert_int_equal(buf_str(&b, ""), 0);
	assert_int_equal(buf_printf(&b, "%s", "e"), -E2BIG);
	assert_int_equal(buf_str(&b, ""), -E2BIG);
	assert_int_equal(b.failed, -E2BIG);
	assert_string_equal(buf_text(&b), "abcd");
	assert_null(buf_steal(&b));
	buf_fini(&b);
	buf_init(&b, SIZE_MAX);
	assert_int_equal(buf_add(&b, "x", 1), 0);
	buf_fini(&b);
	assert_int_equal(buf_str(&b, "again"), 0); /* fini leaves a buffer that can be used anew */
}

static void test_steal_empties(void **state)
{
	(void)state;
	AUTO_BUF b;
	buf_init(&b, 100);
	buf_str(&b, "one");
	AUTO_STR one = buf_steal(&b);
	buf_str(&b, "two");
	assert_string_equal(one, "one");
	assert_string_equal(buf_text(&b), "two");
}

static void test_str_printf(void **state)
{
	(void)state;
	AUTO_STR s = str_printf("%s-%d", "a", 5);
	assert_string_equal(s, "a-5");
}

static void test_nearest_finds_slips_and_nothing_else(void **state)
{
	(void)state;
	static const char *const words[] = { "plan", "bake", "launch", "prove", "completion", "nodes", "json", NULL };
	assert_string_equal(str_nearest("nodez", words), "nodes");
	assert_string_equal(str_nearest("paln", words), "plan");
	assert_string_equal(str_nearest("lanuch", words), "launch");
	assert_string_equal(str_nearest("prov", words), "prove");
	assert_string_equal(str_nearest("comp", words), "completion");
	assert_string_equal(str_nearest("jsn", words), "json");
	assert_null(str_nearest("explode", words));
	assert_null(str_nearest("xy", words));
	assert_null(str_nearest("", words));
	static const char *const none[] = { NULL };
	assert_null(str_nearest("plan", none));
	char huge[5000];
	memset(huge, 'a', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_null(str_nearest(huge, words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_reads_as_empty_text),
		cmocka_unit_test(test_adds_are_joined_and_ended),
		cmocka_unit_test(test_cap_is_exact_and_the_failure_sticks),
		cmocka_unit_test(test_steal_empties),
		cmocka_unit_test(test_str_printf),
		cmocka_unit_test(test_nearest_finds_slips_and_nothing_else),
	};
	return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
