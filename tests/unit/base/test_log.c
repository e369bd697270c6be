/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/log.h"
#include "base/own.h"
#include "scratch.h"

static int kept_stderr;

static void capture(void)
{
	fflush(stderr);
	kept_stderr = dup(2);
	AUTO_FD to = open(in_scratch("log"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(dup2(to, 2), 2);
}

static char *captured(void)
{
	char *text = NULL;
	dup2(kept_stderr, 2);
	close(kept_stderr);
	assert_int_equal(fdio_read_file(AT_FDCWD, in_scratch("log"), 10 << 20, &text, NULL, NULL), 0);
	return text;
}

static void test_under_systemd_the_level_is_in_front(void **state)
{
	(void)state;
	setenv("JOURNAL_STREAM", "8:1", 1);
	capture();
	log_warn("sink_retry", "sink=%s pending=%d: two\nlines", "file", 3);
	log_error("stopped", "%s", "");
	log_info("plain", "x=1");
	AUTO_STR text = captured();
	assert_string_equal(text, "<4>sink_retry sink=file pending=3: two lines\n<3>stopped \n<6>plain x=1\n");
	unsetenv("JOURNAL_STREAM");
}

static void test_elsewhere_the_time_is_in_front(void **state)
{
	(void)state;
	unsetenv("JOURNAL_STREAM");
	capture();
	log_warn("sink_retry", "a=%d", 1);
	AUTO_STR text = captured();
	int y, mo, d, h, mi, s, ms, end = 0;
	assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &y, &mo, &d, &h, &mi, &s, &ms, &end), 7);
	assert_string_equal(text + end, " warn  sink_retry a=1\n");
}

static void test_a_huge_line_is_cut_and_still_a_line(void **state)
{
	(void)state;
	AUTO_STR big = malloc(100001);
	memset(big, 'x', 100000);
	big[100000] = '\0';
	setenv("JOURNAL_STREAM", "8:1", 1);
	capture();
	log_info("big", "%s", big);
	log_info("after", "%s", "it");
	AUTO_STR text = captured();
	unsetenv("JOURNAL_STREAM");
	char *line = strchr(text, '\n');
	assert_true(line - text < 9000);
	assert_string_equal(line, "\n<6>after it\n");
}

static void *write_lines(void *arg)
{
	for (int i = 0; i < 500; i++)
		log_info("line", "by=%d number=%03d", *(int *)arg, i);
	return NULL;
}

static void test_lines_of_threads_do_not_mix(void **state)
{
	(void)state;
	setenv("JOURNAL_STREAM", "8:1", 1);
	capture();
	pthread_t threads[4];
	int names[4] = { 0, 1, 2, 3 };
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, write_lines, &names[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	AUTO_STR text = captured();
	unsetenv("JOURNAL_STREAM");
	int count = 0;
	char *rest = NULL;
	for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest), count++)
		assert_int_equal(strlen(l), strlen("<6>line by=0 number=000"));
	assert_int_equal(count, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(test_under_systemd_the_level_is_in_front),
		scratch_test(test_elsewhere_the_time_is_in_front),
		scratch_test(test_a_huge_line_is_cut_and_still_a_line),
		scratch_test(test_lines_of_threads_do_not_mix),
	};
	return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
