/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "prove/mpirun.h"

static char *const program[] = { "/usr/bin/kiln", "prove", "transfer", NULL };

static void test_the_command_line(void **state)
{
	char *const environment[] = { "HOME=/root",      "FI_PROVIDER=efa",
				      "NCCL_DEBUG=INFO", "AWS_SECRET_ACCESS_KEY=x",
				      "KILN_STATE=/s",   NULL };
	const struct mpirun_options o = { .hosts_path = "/etc/kiln/hosts",
					  .ranks = 2,
					  .one_per_host = true,
					  .is_root = true,
					  .subnet = "10.77.0.0/24",
					  .program = program,
					  .environment = environment };
	AUTO_STRINGS argv = NULL;
	AUTO_STR text = NULL;

	(void)state;
	assert_int_equal(mpirun_arguments(&o, &argv, NULL), 0);
	text = mpirun_text(argv);
	assert_string_equal(
		text,
		"mpirun --allow-run-as-root --quiet --hostfile /etc/kiln/hosts -np 2 --map-by ppr:1:node --bind-to "
		"none --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 --mca plm_rsh_args "
		"'-o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=10 -o ServerAliveInterval=5' "
		"-x FI_PROVIDER -x NCCL_DEBUG -x KILN_STATE /usr/bin/kiln prove transfer");
}

static void test_words_are_quoted_for_a_shell(void **state)
{
	char *const argv[] = { "a", "it's", "", "b;c", NULL };
	AUTO_STR text = mpirun_text(argv);

	(void)state;
	assert_string_equal(text, "a 'it'\\''s' '' 'b;c'");
}

static void test_the_subnet_is_one_of_ours_that_holds_the_first_host(void **state)
{
	AUTO(hosts) here = NULL;
	AUTO(hosts) name = NULL;
	AUTO_STR subnet = NULL;
	AUTO_STR none = NULL;

	(void)state;
	assert_int_equal(hosts_parse("h", "127.0.0.5 slots=1\n", &here, NULL), 0);
	assert_int_equal(hosts_parse("h", "node1 slots=1\n", &name, NULL), 0);
	subnet = mpirun_subnet(here);
	none = mpirun_subnet(name);
	assert_string_equal(subnet, "127.0.0.0/8");
	assert_null(none);
}

/* A stand-in for mpirun on PATH, to see what comes of its ends. */
static int status_of(const char *script, struct err *e)
{
	char dir[] = "/tmp/kiln-mpirun-XXXXXX";
	char *const argv[] = { "mpirun", NULL };
	AUTO_STR path = NULL;
	AUTO_STR kept = strdup(getenv("PATH"));
	AUTO_STR with = NULL;
	int status = -1;
	int rc;

	assert_non_null(mkdtemp(dir));
	path = fdio_join(dir, "mpirun");
	assert_int_equal(fdio_write_file(-100, path, script, strlen(script), 0755, NULL), 0);
	assert_true(asprintf(&with, "%s:%s", dir, kept) > 0);
	setenv("PATH", with, 1);
	rc = mpirun_run(argv, 200, &status, e);
	setenv("PATH", kept, 1);
	fdio_remove_tree(dir, NULL);
	return rc < 0 ? rc : status;
}

static void test_a_ranks_exit_status_passes_and_mpiruns_own_does_not(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(status_of("#!/bin/sh\nexit 0\n", &e), EXIT_GOOD);
	assert_int_equal(status_of("#!/bin/sh\nexit 1\n", &e), EXIT_FINDING);
	assert_int_equal(status_of("#!/bin/sh\nexit 3\n", &e), EXIT_CANNOT_TELL);
	assert_int_equal(status_of("#!/bin/sh\nexit 255\n", &e), EXIT_REMOTE); /* a host could not be reached */
	assert_int_equal(status_of("#!/bin/sh\nkill -9 $$\n", &e), EXIT_REMOTE);
}

static void test_mpirun_that_is_missing_is_told(void **state)
{
	char *const argv[] = { "mpirun", NULL };
	AUTO_STR kept = strdup(getenv("PATH"));
	struct err e = { 0 };
	int status;

	(void)state;
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(mpirun_run(argv, 200, &status, &e), -ENODEV);
	setenv("PATH", kept, 1);
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
	assert_non_null(strstr(e.msg, "mpirun is not installed"));
}

static void test_one_that_hangs_after_a_failure_is_ended(void **state)
{
	struct err e = { 0 };
	int64_t start = clock_mono_ns();

	(void)state;
	assert_int_equal(
		status_of("#!/bin/sh\necho 'kiln prove transfer: rank 1 is gone (a test)' >&2\nexec sleep 300\n", &e),
		-EHOSTUNREACH);
	assert_int_equal(err_exit_code(&e), EXIT_REMOTE);
	assert_true(clock_mono_ns() - start < 60000000000LL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_command_line),
		cmocka_unit_test(test_words_are_quoted_for_a_shell),
		cmocka_unit_test(test_the_subnet_is_one_of_ours_that_holds_the_first_host),
		cmocka_unit_test(test_a_ranks_exit_status_passes_and_mpiruns_own_does_not),
		cmocka_unit_test(test_mpirun_that_is_missing_is_told),
		cmocka_unit_test(test_one_that_hangs_after_a_failure_is_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
