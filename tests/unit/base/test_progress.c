/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/clock.h"
#include "base/progress.h"

/* What is shown, and where it can be read. */
struct screen {
	int read_end;
	FILE *to;
	char text[1 << 16];
	size_t len;
};

static void screen_pipe(struct screen *s)
{
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	*s = (struct screen){ .read_end = ends[0], .to = fdopen(ends[1], "w") };
}

/* A real terminal of 60 columns. */
static void screen_terminal(struct screen *s)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	struct winsize size = { .ws_col = 60, .ws_row = 10 };
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
	*s = (struct screen){ .read_end = master, .to = fdopen(slave, "w") };
}

/* Reads until `want` has been shown; fails after 20 s. */
static void wait_for(struct screen *s, const char *want)
{
	int64_t deadline = clock_mono_ns() + 20000000000LL;
	while (!strstr(s->text, want)) {
		struct pollfd p = { .fd = s->read_end, .events = POLLIN };
		if (clock_mono_ns() > deadline || s->len + 1 >= sizeof(s->text))
			fail_msg("'%s' was not shown, but: %s", want, s->text);
		if (poll(&p, 1, 100) != 1)
			continue;
		ssize_t n = read(s->read_end, s->text + s->len, sizeof(s->text) - 1 - s->len);
		if (n > 0)
			s->len += (size_t)n;
		s->text[s->len] = '\0';
	}
}

static void forget(struct screen *s)
{
	s->len = 0;
	s->text[0] = '\0';
}

/* Ends the writing side and reads the rest. */
static void finish(struct screen *s)
{
	fputs("<end>", s->to);
	fclose(s->to);
	wait_for(s, "<end>");
	*strstr(s->text, "<end>") = '\0';
	close(s->read_end);
}

static void locale_is(const char *name)
{
	setenv("LC_ALL", name, 1);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
}

static void test_not_a_terminal_short_steps_are_one_line(void **state)
{
	(void)state;
	struct screen s;
	screen_pipe(&s);
	AUTO(progress) p = progress_new(s.to, 4);
	struct progress_step *a = progress_start(p, "rdma-core");
	struct progress_step *b = progress_start(p, "open%s", "mpi");
	progress_update(a, 5, 10, "B");
	progress_note(a, "unpacking");
	progress_end(a, PROGRESS_DONE, NULL);
	progress_end(b, PROGRESS_CACHED, "47M");
	progress_end(progress_start(p, "efa"), PROGRESS_FAILED, "no\nspace");
	progress_end(progress_start(p, "x"), PROGRESS_WARN, "");
	progress_free(steal(p));
	finish(&s);
	assert_string_equal(s.text, "1/4 rdma-core: done, 0.0s\n2/4 openmpi: cached, 47M\n"
				    "3/4 efa: failed, 0.0s, no space\n4/4 x: warning, 0.0s\n");
}

static void test_not_a_terminal_a_long_step_gives_a_sign(void **state)
{
	(void)state;
	struct screen s;
	screen_pipe(&s);
	int64_t start = clock_mono_ns();
	AUTO(progress) p = progress_new(s.to, 0);
	struct progress_step *a = progress_start(p, "openmpi");
	wait_for(&s, "openmpi ...\n");
	assert_true(clock_mono_ns() - start >= 2000000000LL);
	progress_end(a, PROGRESS_DONE, NULL);
	progress_free(steal(p));
	finish(&s);
	assert_non_null(strstr(s.text, "openmpi ...\nopenmpi: done, "));
	assert_null(strchr(s.text, '\033'));
}

static void test_terminal_redraws_until_the_end(void **state)
{
	(void)state;
	struct screen s;
	locale_is("C.UTF-8");
	screen_terminal(&s);
	AUTO(progress) p = progress_new(s.to, 7);
	progress_end(progress_start(p, "root"), PROGRESS_CACHED, NULL);
	wait_for(&s, "\033[32m\xe2\x9c\x93\033[0m  1/7  root          cached\r\n");
	struct progress_step *a = progress_start(p, "openmpi");
	progress_update(a, 21 << 20, 47 << 20, "B");
	progress_note(a, "\033[31mconfigure\033[0m: checking for a very long thing that does not fit the line");
	/* the line is cut to 59 columns, and time moves by itself until what is left can be told */
	wait_for(&s, "s   44% 21M/47M  configure: checki\r\n");
	wait_for(&s, "s left  config\r\n");
	forget(&s);
	progress_end(a, PROGRESS_FAILED, "see the log");
	wait_for(&s, "\r\033[1A\033[J\033[31m\xe2\x9c\x97\033[0m  2/7  openmpi");
	wait_for(&s, "see the log\r\n");
	progress_free(steal(p));
	finish(&s);
}

static void test_terminal_shows_one_line_per_running_step(void **state)
{
	(void)state;
	struct screen s;
	locale_is("C");
	setenv("NO_COLOR", "1", 1);
	screen_terminal(&s);
	AUTO(progress) p = progress_new(s.to, 0);
	struct progress_step *steps[20];
	for (int i = 0; i < 3; i++)
		steps[i] = progress_start(p, "step-%d", i);
	wait_for(&s, "\033[3A\033[J");
	for (int i = 3; i < 20; i++)
		steps[i] = progress_start(p, "step-%d", i);
	wait_for(&s, "\033[8A\033[J"); /* no more than the ten rows can hold */
	forget(&s);
	progress_end(steps[1], PROGRESS_DONE, NULL);
	wait_for(&s, "\033[Jok    2  step-1          0."); /* neither colour nor UTF-8 */
	for (int i = 0; i < 20; i++)
		if (i != 1)
			progress_end(steps[i], PROGRESS_DONE, NULL);
	progress_free(steal(p));
	finish(&s);
	assert_null(strstr(s.text, "\033[32m"));
	assert_null(strstr(s.text, "\xe2\x9c\x93"));
}

static void test_a_dumb_terminal_gets_plain_lines(void **state)
{
	(void)state;
	struct screen s;
	locale_is("C.UTF-8");
	setenv("TERM", "dumb", 1);
	screen_terminal(&s);
	AUTO(progress) p = progress_new(s.to, 0);
	progress_end(progress_start(p, "a"), PROGRESS_DONE, NULL);
	progress_free(steal(p));
	finish(&s);
	assert_string_equal(s.text, "a: done, 0.0s\r\n");
}

static void test_steps_left_over_are_taken_off(void **state)
{
	(void)state;
	struct screen s;
	locale_is("C.UTF-8");
	screen_terminal(&s);
	struct progress *p = progress_new(s.to, 0);
	progress_start(p, "left");
	wait_for(&s, "left");
	forget(&s);
	progress_free(p);
	finish(&s);
	const char *last = s.text + strlen(s.text) - strlen("\r\033[1A\033[J");
	assert_string_equal(last, "\r\033[1A\033[J");
}

static void test_nothing_and_nowhere(void **state)
{
	(void)state;
	struct progress_step *none = progress_start(NULL, "x");
	assert_null(none);
	progress_update(none, 1, 2, "B");
	progress_note(none, "x");
	progress_end(none, PROGRESS_DONE, NULL);
	progress_free(NULL);
	AUTO(progress) silent = progress_new(NULL, 3);
	struct progress_step *s = progress_start(silent, "x");
	progress_update(s, 1, 2, NULL);
	progress_note(s, NULL);
	progress_end(s, PROGRESS_DONE, "x");
}

static void *work(void *arg)
{
	for (int i = 0; i < 50; i++) {
		struct progress_step *s = progress_start(arg, "step-%d", i);
		for (uint64_t n = 0; n < 50; n++) {
			progress_update(s, n, 50, "files");
			progress_note(s, "note");
		}
		progress_end(s, PROGRESS_DONE, "all");
	}
	return NULL;
}

/* Reads all the time, so that the writers are never held up by a full pipe. */
static void *drain(void *arg)
{
	struct screen *s = arg;
	char part[4096];
	size_t lines = 0;
	ssize_t n;
	while ((n = read(s->read_end, part, sizeof(part))) > 0)
		for (ssize_t i = 0; i < n; i++)
			lines += part[i] == '\n';
	s->len = lines;
	return NULL;
}

static void test_many_threads(void **state)
{
	(void)state;
	struct screen s;
	screen_pipe(&s);
	pthread_t reader, workers[4];
	struct progress *p = progress_new(s.to, 200);
	pthread_create(&reader, NULL, drain, &s);
	for (int i = 0; i < 4; i++)
		pthread_create(&workers[i], NULL, work, p);
	for (int i = 0; i < 4; i++)
		pthread_join(workers[i], NULL);
	progress_free(p);
	fclose(s.to);
	pthread_join(reader, NULL);
	close(s.read_end);
	assert_int_equal(s.len, 200); /* one line per step */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_a_terminal_short_steps_are_one_line),
		cmocka_unit_test(test_not_a_terminal_a_long_step_gives_a_sign),
		cmocka_unit_test(test_terminal_redraws_until_the_end),
		cmocka_unit_test(test_terminal_shows_one_line_per_running_step),
		cmocka_unit_test(test_a_dumb_terminal_gets_plain_lines),
		cmocka_unit_test(test_steps_left_over_are_taken_off),
		cmocka_unit_test(test_nothing_and_nowhere),
		cmocka_unit_test(test_many_threads),
	};
	return cmocka_run_group_tests_name("base/progress", tests, NULL, NULL);
}
