/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "prove/hosts.h"

static void test_open_mpis_file_is_read(void **state)
{
	AUTO(hosts) h = NULL;
	struct err e = { 0 };

	(void)state;
	if (hosts_parse("hosts",
			"# two nodes\n"
			"10.77.0.11 slots=1\n"
			"\n"
			"  node-2.example.com\tslots = 8  max_slots=16 # the big one\r\n"
			"node3\n"
			"fe80::1%eth0 max-slots=2",
			&h, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(h->count, 4);
	assert_int_equal(h->slots, 11);
	assert_string_equal(h->at[0].name, "10.77.0.11");
	assert_string_equal(h->at[1].name, "node-2.example.com");
	assert_int_equal(h->at[1].slots, 8);
	assert_int_equal(h->at[2].slots, 1);
	assert_string_equal(h->at[3].name, "fe80::1%eth0");
}

static void refused(const char *text, const char *where, const char *what)
{
	struct hosts *h = NULL;
	struct err e = { 0 };

	assert_int_equal(hosts_parse("my/hosts", text, &h, &e), -EINVAL);
	assert_null(h);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	assert_int_equal(strncmp(e.msg, where, strlen(where)), 0);
	if (!strstr(e.msg, what) || !strstr(e.msg, "address slots=N"))
		fail_msg("%s", e.msg);
}

static void test_bad_lines_are_told_with_their_number(void **state)
{
	(void)state;
	refused("a slots=1\nb slots=x\n", "my/hosts:2: ", "'x' is not a number of slots");
	refused("a slots=0\n", "my/hosts:1: ", "'0' is not a number of slots");
	refused("a slots=-1\n", "my/hosts:1: ", "not a number of slots");
	refused("a slots=99999999999999999999\n", "my/hosts:1: ", "not a number of slots");
	refused("a slots\n", "my/hosts:1: ", "'slots' has no value");
	refused("a slots=\n", "my/hosts:1: ", "not a number of slots");
	refused("\n\na 4\n", "my/hosts:3: ", "'4' is not known here");
	refused("a slot=4\n", "my/hosts:1: ", "'slot' is not known here");
	refused("slots=4\n", "my/hosts:1: ", "'slots=4' is not an address");
	refused("-oProxyCommand=x slots=4\n", "my/hosts:1: ", "is not an address");
	refused("a;reboot slots=4\n", "my/hosts:1: ", "is not an address");
	refused("a slots=1\na slots=1\n", "my/hosts:2: ", "named twice");
	refused("# nothing\n", "my/hosts: ", "holds no host");
	refused("", "my/hosts: ", "holds no host");
}

static void test_a_missing_file_is_named(void **state)
{
	struct hosts *h = NULL;
	struct err e = { 0 };

	(void)state;
	assert_true(hosts_read("/nonexistent/hosts", &h, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	assert_non_null(strstr(e.msg, "/nonexistent/hosts"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_mpis_file_is_read),
		cmocka_unit_test(test_bad_lines_are_told_with_their_number),
		cmocka_unit_test(test_a_missing_file_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
