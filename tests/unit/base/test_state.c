/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/own.h"
#include "base/state.h"
#include "scratch.h"

static void state_is(const char *sub, const char *want)
{
	AUTO_STR dir = NULL;
	struct err e = { 0 };
	if (state_dir(sub, &dir, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(dir, want);
	struct stat st;
	assert_int_equal(stat(dir, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
}

static void test_kiln_state_comes_first(void **state)
{
	(void)state;
	setenv("KILN_STATE", in_scratch("s"), 1);
	state_is(NULL, in_scratch("s"));
	state_is("locks", in_scratch("s/locks"));
	state_is("clusters/demo", in_scratch("s/clusters/demo"));
}

static void test_a_relative_one_is_made_absolute(void **state)
{
	(void)state;
	AUTO_STR before = getcwd(NULL, 0);
	assert_int_equal(chdir(scratch), 0);
	AUTO_STR here = getcwd(NULL, 0);
	setenv("KILN_STATE", "mine", 1);
	char want[200];
	snprintf(want, sizeof(want), "%s/mine/log", here);
	state_is("log", want);
	assert_int_equal(chdir(before), 0);
}

static void test_users_have_their_own(void **state)
{
	(void)state;
	if (geteuid() == 0 && seteuid(65534) < 0)
		skip();
	bool was_root = getuid() == 0;
	char home[200];
	snprintf(home, sizeof(home), "/tmp/kiln-test-home-%d", (int)getpid());
	unsetenv("KILN_STATE");
	setenv("HOME", home, 1);
	unsetenv("XDG_STATE_HOME");
	char want[300];
	snprintf(want, sizeof(want), "%s/.local/state/kiln/log", home);
	state_is("log", want);
	setenv("XDG_STATE_HOME", home, 1);
	snprintf(want, sizeof(want), "%s/kiln", home);
	state_is(NULL, want);
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	struct err e = { 0 };
	char *none = NULL;
	assert_int_equal(state_dir(NULL, &none, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "KILN_STATE"));
	if (was_root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(fdio_remove_tree(home, NULL), 0);
}

static void test_one_that_cannot_be_made(void **state)
{
	(void)state;
	put_file("f", "");
	setenv("KILN_STATE", in_scratch("f/s"), 1);
	char *dir = NULL;
	struct err e = { 0 };
	assert_int_equal(state_dir("log", &dir, &e), -ENOTDIR);
	assert_non_null(strstr(e.msg, in_scratch("f")));
	assert_non_null(strstr(e.msg, "set KILN_STATE"));
	assert_null(dir);
}

static void test_data(void **state)
{
	(void)state;
	AUTO_STR dir = NULL;
	struct err e = { 0 };
	put_folder("data/stacks");
	setenv("KILN_DATA", in_scratch("data"), 1);
	assert_int_equal(state_data("stacks", &dir, NULL), 0);
	assert_string_equal(dir, in_scratch("data/stacks"));
	char *none = NULL;
	assert_int_equal(state_data("catalog", &none, &e), -ENOSYS);
	assert_non_null(strstr(e.msg, in_scratch("data/catalog")));
	assert_non_null(strstr(e.msg, "KILN_DATA"));
	assert_null(none);
	/* this test runs from the build folder: the source tree is the data */
	unsetenv("KILN_DATA");
	AUTO_STR source = NULL;
	assert_int_equal(state_data("src", &source, &e), 0);
	assert_string_equal(source, KILN_SOURCE_DIR "/src");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_kiln_state_comes_first),
		scratch_test(test_a_relative_one_is_made_absolute),
		cmocka_unit_test(test_users_have_their_own),
		scratch_test(test_one_that_cannot_be_made),
		scratch_test(test_data),
	};
	return cmocka_run_group_tests_name("base/state", tests, NULL, NULL);
}
