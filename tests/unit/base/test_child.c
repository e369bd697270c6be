/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/own.h"
#include "scratch.h"

#define SH(script) ((const char *const[]){ "sh", "-c", script, NULL })

static char *output_of(struct child_spec spec)
{
	char *text = NULL;
	struct err e = { 0 };
	if (child_output(&spec, &text, &e) < 0)
		fail_msg("%s", e.msg);
	return text;
}

static void test_output_is_captured_from_both(void **state)
{
	(void)state;
	AUTO_STR both = output_of((struct child_spec){ .argv = SH("echo out; echo err >&2; echo end") });
	assert_string_equal(both, "out\nerr\nend\n");
	AUTO_FD null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	AUTO_STR out = output_of(
		(struct child_spec){ .argv = SH("echo out; echo err >&2"), .stdout_only = true, .log_fd = null });
	assert_string_equal(out, "out\n");
	AUTO_STR none = output_of((struct child_spec){ .argv = SH(":") });
	assert_string_equal(none, "");
}

static void test_status_is_told_not_judged(void **state)
{
	(void)state;
	struct child_result r;
	assert_int_equal(child_run(&(struct child_spec){ .argv = SH("exit 7") }, &r, NULL), 0);
	assert_int_equal(r.status, 7);
	free(r.output);
	assert_int_equal(child_run(&(struct child_spec){ .argv = SH("kill -9 $$") }, &r, NULL), 0);
	assert_int_equal(r.status, -SIGKILL);
	free(r.output);
}

static void test_check_tells_the_last_line(void **state)
{
	(void)state;
	struct err e = { 0 };
	assert_int_equal(child_check(&(struct child_spec){ .argv = SH("true") }, &e), 0);
	assert_int_equal(child_check(&(struct child_spec){ .argv = SH("echo one; echo the reason; echo; exit 3") }, &e),
			 -EIO);
	assert_string_equal(e.msg, "'sh' failed with status 3: the reason");
	assert_int_equal(e.space, ERR_CHILD);
	assert_int_equal(e.native, 3);
	child_check(&(struct child_spec){ .argv = SH("kill -TERM $$") }, &e);
	assert_string_equal(e.msg, "'sh' was ended by SIGTERM");
	assert_int_equal(e.native, -SIGTERM);
}

static void test_log_takes_the_output_and_still_tells_the_last_line(void **state)
{
	(void)state;
	struct err e = { 0 };
	put_file("log", "before\n");
	AUTO_FD log = open(in_scratch("log"), O_WRONLY | O_APPEND | O_CLOEXEC);
	struct child_spec spec = { .argv = SH("echo said; echo why >&2; exit 1"), .log_fd = log };
	assert_int_equal(child_check(&spec, &e), -EIO);
	assert_string_equal(e.msg, "'sh' failed with status 1: why");
	AUTO_STR text = NULL;
	fdio_read_file(AT_FDCWD, in_scratch("log"), 1000, &text, NULL, NULL);
	assert_string_equal(text, "before\nsaid\nwhy\n");
}

static void test_a_program_that_is_not_there(void **state)
{
	(void)state;
	struct err e = { 0 };
	struct child_result r = { .output = (char *)1 };
	const char *const argv[] = { "kiln-no-such-program", NULL };
	assert_int_equal(child_run(&(struct child_spec){ .argv = argv }, &r, &e), -ENOENT);
	assert_string_equal(e.msg, "kiln-no-such-program is not installed or not on PATH");
	assert_null(r.output);
	const char *const path[] = { "/no/such", NULL };
	assert_int_equal(child_run(&(struct child_spec){ .argv = path }, &r, &e), -ENOENT);
	assert_string_equal(e.msg, "cannot run '/no/such': No such file or directory");
	put_file("plain", "#!/bin/sh\n");
	const char *const plain[] = { in_scratch("plain"), NULL };
	assert_int_equal(child_run(&(struct child_spec){ .argv = plain }, &r, &e), -EACCES);
	assert_int_equal(child_run(&(struct child_spec){ .argv = SH(":"), .cwd = "/no/folder" }, &r, &e), -ENOENT);
	assert_non_null(strstr(e.msg, "/no/folder"));
}

static void test_input_folder_and_environment(void **state)
{
	(void)state;
	AUTO_STR cat =
		output_of((struct child_spec){ .argv = (const char *const[]){ "cat", NULL }, .input_text = "secret" });
	assert_string_equal(cat, "secret");
	AUTO_STR nothing = output_of((struct child_spec){ .argv = (const char *const[]){ "cat", NULL } });
	assert_string_equal(nothing, "");
	const char *const env[] = { "ONLY=this", NULL };
	AUTO_STR set = output_of((struct child_spec){ .argv = (const char *const[]){ "env", NULL }, .env = env });
	assert_string_equal(set, "ONLY=this\n");
	AUTO_STR pwd = output_of((struct child_spec){ .argv = (const char *const[]){ "pwd", NULL }, .cwd = "/usr" });
	assert_string_equal(pwd, "/usr\n");
}

/* More than a pipe holds, to a program that reads none of it: neither stuck nor ended by SIGPIPE. */
static void test_input_that_nobody_reads(void **state)
{
	(void)state;
	AUTO_STR big = malloc(1000001);
	memset(big, 'x', 1000000);
	big[1000000] = '\0';
	struct child_spec spec = { .argv = SH("exec true"), .input_text = big, .timeout_ms = 20000 };
	assert_int_equal(child_check(&spec, NULL), 0);
	AUTO_STR count = output_of((struct child_spec){ .argv = SH("wc -c"), .input_text = big });
	assert_int_equal(atoi(count), 1000000);
}

static void test_capture_keeps_the_latest_4_mib(void **state)
{
	(void)state;
	struct child_result r;
	struct child_spec spec = { .argv = SH("head -c 20000000 /dev/zero | tr '\\0' x; echo end") };
	assert_int_equal(child_run(&spec, &r, NULL), 0);
	AUTO_STR text = r.output;
	assert_int_equal(r.output_len, 4 << 20);
	assert_int_equal(strlen(text), 4 << 20);
	assert_string_equal(text + r.output_len - 5, "xend\n");
}

/* True when every holder of the pipe's other end is gone: the read end says so without any waiting on time. */
static bool all_gone(int read_end)
{
	struct pollfd p = { .fd = read_end, .events = POLLIN };
	char c;
	return poll(&p, 1, 20000) == 1 && read(read_end, &c, 1) == 0;
}

/* The pipe stands for what a grandchild holds: it is only closed when the whole group is dead. */
static int hold_pipe(void *arg)
{
	return dup2(*(int *)arg, 9) < 0; /* without close-on-exec */
}

static void test_timeout_kills_the_whole_group(void **state)
{
	(void)state;
	struct err e = { 0 };
	struct child_result r;
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	struct child_spec spec = {
		.argv = SH("sleep 1000 & sleep 1000; :"), .timeout_ms = 100, .before_exec = hold_pipe, .arg = &ends[1]
	};
	int64_t start = clock_mono_ns();
	assert_int_equal(child_run(&spec, &r, &e), -ETIMEDOUT);
	free(r.output);
	close(ends[1]);
	assert_string_equal(e.msg, "'sh' did not end within 0.1s and was stopped");
	assert_true(all_gone(ends[0]));
	assert_true(clock_mono_ns() - start < 20000000000LL);
	close(ends[0]);
}

/* One that will not listen to SIGTERM is killed after the grace. What it printed is kept. */
static void test_timeout_ends_the_deaf(void **state)
{
	(void)state;
	struct child_result r;
	struct child_spec spec = { .argv = SH("trap '' TERM; echo here; while :; do sleep 100; done"),
				   .timeout_ms = 100 };
	assert_int_equal(child_run(&spec, &r, NULL), -ETIMEDOUT);
	AUTO_STR text = r.output;
	assert_int_equal(r.status, -SIGKILL);
	assert_string_equal(text, "here\n");
}

/* A daemon that keeps the output open must not keep us. */
static void test_end_does_not_wait_for_who_holds_the_output(void **state)
{
	(void)state;
	struct child_result r;
	struct child_spec spec = { .argv = SH("sleep 1000 & echo $!"), .timeout_ms = 60000 };
	int64_t start = clock_mono_ns();
	assert_int_equal(child_run(&spec, &r, NULL), 0);
	AUTO_STR text = r.output;
	assert_true(clock_mono_ns() - start < 20000000000LL);
	pid_t left = atoi(text);
	assert_true(left > 1);
	assert_int_equal(kill(left, SIGKILL), 0);
}

static void test_only_named_descriptors_are_inherited(void **state)
{
	(void)state;
	int open_one = dup(2); /* without close-on-exec */
	assert_true(open_one > 2);
	AUTO_STR text = output_of((struct child_spec){ .argv = SH("ls /proc/self/fd | tr '\\n' ' '") });
	assert_string_equal(text, "0 1 2 3 "); /* 3 is ls's own */
	close(open_one);
}

static void test_signals_are_as_usual_in_the_child(void **state)
{
	(void)state;
	sigset_t block, before;
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	signal(SIGPIPE, SIG_IGN);
	AUTO_STR text = output_of((struct child_spec){ .argv = SH("grep -E 'SigBlk|SigIgn' /proc/self/status") });
	unsigned long long blocked, ignored;
	assert_int_equal(sscanf(text, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
	assert_int_equal(blocked, 0);
	/* 32 and 33 belong to glibc, which lets nobody change them: they are as whoever started the tests left them. */
	assert_int_equal(ignored & ~(3ULL << 31), 0);
	sigset_t now;
	sigprocmask(SIG_SETMASK, &before, &now);
	assert_true(sigismember(&now, SIGTERM)); /* ours is what it was */
	signal(SIGPIPE, SIG_DFL);
}

static int refuse(void *arg)
{
	*(int *)arg = 1; /* in the child's memory only */
	return -1;
}

static void test_before_exec_that_fails(void **state)
{
	(void)state;
	struct child_result r;
	int seen = 0;
	struct child_spec spec = { .argv = SH("echo never"), .before_exec = refuse, .arg = &seen };
	assert_int_equal(child_run(&spec, &r, NULL), 0);
	assert_int_equal(r.status, 126);
	assert_string_equal(r.output, "");
	assert_int_equal(seen, 0);
	free(r.output);
}

struct ticks {
	int count;
	char line[64];
	const char *stop_file;
};

static void on_tick(void *arg, const char *line)
{
	struct ticks *t = arg;
	t->count++;
	snprintf(t->line, sizeof(t->line), "%s", line);
	if (strcmp(line, "line two") == 0)
		put_file("go", "");
}

static void test_ticks_show_the_latest_line(void **state)
{
	(void)state;
	struct ticks t = { 0 };
	char script[300];
	snprintf(script, sizeof(script),
		 "printf 'line one\\nold\\rline two\\n'; while ! [ -e %s ]; do sleep 0.02; done", in_scratch("go"));
	AUTO_FD log = open(in_scratch("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct child_spec spec = {
		.argv = SH(script), .tick = on_tick, .tick_arg = &t, .log_fd = log, .timeout_ms = 20000
	};
	struct err e = { 0 };
	if (child_check(&spec, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(t.count > 0);
	assert_string_equal(t.line, "line two");
	AUTO_STR text = NULL;
	fdio_read_file(AT_FDCWD, in_scratch("log"), 1000, &text, NULL, NULL);
	assert_string_equal(text, "line one\nold\rline two\n");
}

/* A parent that is killed takes the program that it runs with it, and what that has started. */
static void test_child_dies_with_us(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t parent = fork();
	if (parent == 0) {
		struct child_result r;
		struct child_spec spec = { .argv = SH("sleep 1000 & echo >&9; sleep 1000; :"),
					   .before_exec = hold_pipe,
					   .arg = &ends[1] };
		child_run(&spec, &r, NULL);
		_exit(0);
	}
	close(ends[1]);
	char c;
	assert_int_equal(read(ends[0], &c, 1), 1); /* it runs */
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	assert_true(all_gone(ends[0]));
	close(ends[0]);
}

static void test_last_lines(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned n;
		const char *want;
	} rows[] = {
		{ "a\nb\nc\n", 1, "c" }, { "a\nb\nc", 2, "b\nc" },        { "a\n", 5, "a" },           { "", 1, "" },
		{ "a\n \n\n", 1, "a" },  { "10%\r20%\r30%\n", 1, "30%" }, { "a\r\nb\r\n", 2, "a\nb" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_STR text = child_last_lines_of(rows[i].text, rows[i].n);
		assert_string_equal(text, rows[i].want);
	}
	AUTO_STR none = child_last_lines("/no/such/file", 3);
	assert_string_equal(none, "");
	FILE *f = fopen(in_scratch("log"), "we");
	for (int i = 0; i < 100000; i++)
		fprintf(f, "line %d\n", i);
	fclose(f);
	AUTO_STR tail = child_last_lines(in_scratch("log"), 2);
	assert_string_equal(tail, "line 99998\nline 99999");
}

static void test_which(void **state)
{
	(void)state;
	AUTO_STR sh = child_which("sh");
	assert_non_null(sh);
	assert_int_equal(sh[0], '/');
	assert_null(child_which("kiln-no-such-program"));
	assert_null(child_which(""));
	assert_null(child_which("/tmp"));
	AUTO_STR same = child_which("/bin/sh");
	assert_string_equal(same, "/bin/sh");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_is_captured_from_both),
		cmocka_unit_test(test_status_is_told_not_judged),
		cmocka_unit_test(test_check_tells_the_last_line),
		scratch_test(test_log_takes_the_output_and_still_tells_the_last_line),
		scratch_test(test_a_program_that_is_not_there),
		cmocka_unit_test(test_input_folder_and_environment),
		cmocka_unit_test(test_input_that_nobody_reads),
		cmocka_unit_test(test_capture_keeps_the_latest_4_mib),
		cmocka_unit_test(test_timeout_kills_the_whole_group),
		cmocka_unit_test(test_timeout_ends_the_deaf),
		cmocka_unit_test(test_end_does_not_wait_for_who_holds_the_output),
		cmocka_unit_test(test_only_named_descriptors_are_inherited),
		cmocka_unit_test(test_signals_are_as_usual_in_the_child),
		cmocka_unit_test(test_before_exec_that_fails),
		scratch_test(test_ticks_show_the_latest_line),
		cmocka_unit_test(test_child_dies_with_us),
		scratch_test(test_last_lines),
		cmocka_unit_test(test_which),
	};
	return cmocka_run_group_tests_name("base/child", tests, NULL, NULL);
}
