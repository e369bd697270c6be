/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "watch/linefile.h"

static void append(const char *name, const char *lines)
{
	struct linefile_at at;
	struct err e = { 0 };
	if (linefile_append(in_folder(name), lines, strlen(lines), &at, &e) < 0)
		fail_msg("%s", e.msg);
}

static void holds(const char *name, const char *want)
{
	AUTO_STR text = read_text(in_folder(name));
	assert_string_equal(text, want);
}

static void test_appends(void **state)
{
	struct linefile_at at, now;
	(void)state;
	assert_int_equal(linefile_append(in_folder("log"), "{\"kind\":\"a\"}\n", 13, &at, NULL), 0);
	assert_int_equal(linefile_stat(in_folder("log"), &now), 0);
	assert_true(at.dev == now.dev && at.inode == now.inode && at.size == now.size);
	assert_int_equal(at.size, 13);
	append("log", "{\"kind\":\"b\"}\n");
	holds("log", "{\"kind\":\"a\"}\n{\"kind\":\"b\"}\n");
}

static void test_a_torn_line_of_ours_is_taken_away(void **state)
{
	static const char *const torn[] = { "{", "{\"ki", "{\"kind\":\"event\",\"id\":\"boot:12" };
	(void)state;
	for (size_t i = 0; i < sizeof(torn) / sizeof(torn[0]); i++) {
		char text[200];
		snprintf(text, sizeof(text), "whole\n%s", torn[i]);
		write_text(in_folder("log"), text);
		append("log", "{\"kind\":\"b\"}\n");
		holds("log", "whole\n{\"kind\":\"b\"}\n");
	}
}

static void test_a_torn_line_of_others_is_ended(void **state)
{
	(void)state;
	write_text(in_folder("log"), "whole\nsomebody's half");
	append("log", "{\"kind\":\"b\"}\n");
	holds("log", "whole\nsomebody's half\n{\"kind\":\"b\"}\n");
}

static void test_a_long_torn_line(void **state)
{
	char *text = calloc(1, 20000);
	(void)state;
	strcpy(text, "whole\n{\"kind\":\"event\"");
	memset(text + strlen(text), 'x', 15000);
	write_text(in_folder("log"), text);
	free(text);
	append("log", "{\"kind\":\"b\"}\n");
	holds("log", "whole\n{\"kind\":\"b\"}\n");
}

static int note(void *arg, const char *line, size_t n)
{
	strncat(arg, line, n);
	strcat(arg, "|");
	return 0;
}

static void test_scan_sees_whole_lines_behind_the_offset(void **state)
{
	char seen[100] = "";
	(void)state;
	write_text(in_folder("log"), "one\ntwo\nthree\nfou");
	assert_int_equal(linefile_scan(in_folder("log"), 4, note, seen, NULL), 0);
	assert_string_equal(seen, "two|three|");
	assert_int_equal(linefile_scan(in_folder("none"), 0, note, seen, NULL), -ENOENT);
}

static void test_a_rotated_file_is_found_by_its_inode(void **state)
{
	struct linefile_at at;
	(void)state;
	append("log", "{\"kind\":\"a\"}\n");
	assert_int_equal(linefile_stat(in_folder("log"), &at), 0);
	assert_int_equal(rename(in_folder("log"), in_folder("log-20261121")), 0);
	AUTO_STR found = linefile_rotated(in_folder("log"), &at);
	assert_string_equal(found, in_folder("log-20261121"));
	unlink(found);
	assert_null(linefile_rotated(in_folder("log"), &at));
}

/* No room for all of it: nothing of it stays. */
static void test_a_write_that_does_not_fit_is_taken_back(void **state)
{
	struct rlimit old, small;
	struct linefile_at at = { 0 };
	struct err e = { 0 };
	char *lines = calloc(1, 10001);
	(void)state;
	memset(lines, 'x', 10000);
	append("log", "{\"kind\":\"a\"}\n");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 4096, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int rc = linefile_append(in_folder("log"), lines, 10000, &at, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	free(lines);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(at.size, 0);
	holds("log", "{\"kind\":\"a\"}\n");
}

static void test_targets_that_can_never_work(void **state)
{
	struct err e = { 0 };
	(void)state;
	assert_int_equal(linefile_check(folder, &e), -EISDIR);
	assert_int_equal(linefile_check(in_folder("no/such/log"), &e), -ENOENT);
	assert_non_null(strstr(e.msg, "no/such/log"));
	assert_true(linefile_check("/dev/null", &e) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_appends),
		folder_test(test_a_torn_line_of_ours_is_taken_away),
		folder_test(test_a_torn_line_of_others_is_ended),
		folder_test(test_a_long_torn_line),
		folder_test(test_scan_sees_whole_lines_behind_the_offset),
		folder_test(test_a_rotated_file_is_found_by_its_inode),
		folder_test(test_a_write_that_does_not_fit_is_taken_back),
		folder_test(test_targets_that_can_never_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
