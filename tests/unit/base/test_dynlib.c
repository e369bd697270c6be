/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/dynlib.h"
#include "base/own.h"

static void test_opens_the_first_that_loads(void **state)
{
	(void)state;
	static const char *const names[] = { "libkiln-none.so.9", "libm.so.6", NULL };
	double (*cosine)(double) = NULL;
	void *missing = (void *)1, *handle = NULL;
	const struct dynlib_symbol symbols[] = { { "cos", (void **)&cosine, true },
						 { "no_such_symbol_", &missing, false } };
	assert_int_equal(dynlib_open(names, symbols, COUNT_OF(symbols), NULL, &handle, NULL), 0);
	assert_non_null(handle);
	assert_true(cosine(0) == 1);
	assert_null(missing);
	dlclose(handle);
}

static void test_none_loads(void **state)
{
	(void)state;
	static const char *const names[] = { "libkiln-none.so.9", "libkiln-none.so.8", NULL };
	void *handle = (void *)1;
	struct err e = { 0 };
	assert_int_equal(dynlib_open(names, NULL, 0, "install the driver", &handle, &e), -ELIBACC);
	assert_non_null(strstr(e.msg, "libkiln-none.so.9"));
	assert_non_null(strstr(e.msg, "No such file")); /* the loader's own words */
	assert_non_null(strstr(e.msg, "; install the driver"));
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
	assert_ptr_equal(handle, (void *)1);
}

static void test_a_required_symbol_is_missing(void **state)
{
	(void)state;
	static const char *const names[] = { "libm.so.6", NULL };
	void *cosine = NULL, *missing = NULL, *handle = NULL;
	const struct dynlib_symbol symbols[] = { { "cos", &cosine, true }, { "no_such_symbol_", &missing, true } };
	struct err e = { 0 };
	assert_int_equal(dynlib_open(names, symbols, COUNT_OF(symbols), NULL, &handle, &e), -ENOSYS);
	assert_non_null(strstr(e.msg, "no_such_symbol_"));
	assert_null(cosine); /* nothing points into a library that was closed again */
	assert_null(handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens_the_first_that_loads),
		cmocka_unit_test(test_none_loads),
		cmocka_unit_test(test_a_required_symbol_is_missing),
	};
	return cmocka_run_group_tests_name("base/dynlib", tests, NULL, NULL);
}
