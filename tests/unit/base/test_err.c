/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/err.h"

static void test_set_gives_the_code_and_one_line(void **state)
{
	(void)state;
	struct err e = { 0 };
	assert_int_equal(err_set(&e, -ENOENT, "no %s\nhere\t", "thing"), -ENOENT);
	assert_string_equal(e.msg, "no thing here");
	assert_int_equal(e.code, -ENOENT);
	assert_int_equal(e.space, ERR_NONE);
	assert_int_equal(err_set(NULL, -ENOENT, "x"), -ENOENT);
}

static void test_a_code_that_is_no_error_is_never_success(void **state)
{
	(void)state;
	struct err e = { 0 };
	assert_int_equal(err_set(&e, 0, "x"), -EIO);
	assert_int_equal(err_native(&e, 5, ERR_NVML, 5, "x"), -EIO);
	struct err none = { 0 };
	assert_int_equal(err_wrap(&none, "x"), -EIO);
}

static void test_sys_appends_the_errno_text(void **state)
{
	(void)state;
	struct err e = { 0 };
	errno = EACCES;
	assert_int_equal(err_sys(&e, "open '%s'", "/x"), -EACCES);
	assert_string_equal(e.msg, "open '/x': Permission denied");
	assert_int_equal(e.space, ERR_SYS);
	assert_int_equal(e.native, EACCES);
	errno = 0;
	assert_int_equal(err_sys(&e, "x"), -EIO);
	errno = ENOSPC;
	assert_int_equal(err_sys(NULL, "x"), -ENOSPC);
}

static void test_native_keeps_the_foreign_number(void **state)
{
	(void)state;
	struct err e = { 0 };
	assert_int_equal(err_native(&e, -ENODEV, ERR_NVML, 9, "driver not loaded"), -ENODEV);
	assert_int_equal(e.space, ERR_NVML);
	assert_int_equal(e.native, 9);
}

static void test_wrap_and_hint_keep_what_is_there(void **state)
{
	(void)state;
	struct err e = { 0 };
	err_native(&e, -EIO, ERR_CHILD, 7, "'tar' failed");
	assert_int_equal(err_wrap(&e, "step %d", 3), -EIO);
	assert_int_equal(err_hint(&e, "see %s", "the log"), -EIO);
	assert_string_equal(e.msg, "step 3: 'tar' failed; see the log");
	assert_int_equal(e.space, ERR_CHILD);
	assert_int_equal(e.native, 7);
	assert_int_equal(err_wrap(NULL, "x"), -EIO);
	assert_int_equal(err_hint(NULL, "x"), -EIO);
}

static void test_own_message_may_be_an_argument(void **state)
{
	(void)state;
	struct err e = { 0 };
	err_set(&e, -EIO, "inner");
	err_set(&e, -EIO, "outer (%s)", e.msg);
	assert_string_equal(e.msg, "outer (inner)");
	err_wrap(&e, "%s", e.msg);
	assert_string_equal(e.msg, "outer (inner): outer (inner)");
}

static void test_long_text_is_cut_with_dots_between_characters(void **state)
{
	(void)state;
	char text[2000];
	struct err e = { 0 };
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 3); /* e with acute: two bytes */
	for (int shift = 0; shift < 2; shift++) {
		err_set(&e, -EIO, "%s%s", shift ? "x" : "", text);
		size_t n = strlen(e.msg);
		assert_true(n < ERR_MSG_BYTES && n > ERR_MSG_BYTES - 8);
		assert_string_equal(e.msg + n - 3, "...");
		assert_int_equal((unsigned char)e.msg[n - 4], 0xa9); /* a whole character before the dots */
	}
	err_wrap(&e, "in front");
	assert_memory_equal(e.msg, "in front: x", 11);
	assert_string_equal(e.msg + strlen(e.msg) - 3, "...");
}

static void test_exit_codes(void **state)
{
	(void)state;
	static const struct {
		int code;
		enum err_space space;
		enum exit_code want;
	} rows[] = {
		{ -EINVAL, ERR_INPUT, EXIT_USAGE },          { -ENOENT, ERR_INPUT, EXIT_USAGE },
		{ -EACCES, ERR_REMOTE, EXIT_REMOTE },        { -EPERM, ERR_SYS, EXIT_CANNOT_TELL },
		{ -EACCES, ERR_SYS, EXIT_CANNOT_TELL },      { -ENODEV, ERR_NVML, EXIT_CANNOT_TELL },
		{ -ENXIO, ERR_SYS, EXIT_CANNOT_TELL },       { -ENOSYS, ERR_NONE, EXIT_CANNOT_TELL },
		{ -EOPNOTSUPP, ERR_NONE, EXIT_CANNOT_TELL }, { -ELIBACC, ERR_NONE, EXIT_CANNOT_TELL },
		{ -EIO, ERR_CHILD, EXIT_FINDING },           { -ENOSPC, ERR_SYS, EXIT_FINDING },
		{ -EINVAL, ERR_NONE, EXIT_FINDING },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err e = { .code = rows[i].code, .space = rows[i].space };
		assert_int_equal(err_exit_code(&e), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_gives_the_code_and_one_line),
		cmocka_unit_test(test_a_code_that_is_no_error_is_never_success),
		cmocka_unit_test(test_sys_appends_the_errno_text),
		cmocka_unit_test(test_native_keeps_the_foreign_number),
		cmocka_unit_test(test_wrap_and_hint_keep_what_is_there),
		cmocka_unit_test(test_own_message_may_be_an_argument),
		cmocka_unit_test(test_long_text_is_cut_with_dots_between_characters),
		cmocka_unit_test(test_exit_codes),
	};
	return cmocka_run_group_tests_name("base/err", tests, NULL, NULL);
}
