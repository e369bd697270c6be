/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>

#include "base/own.h"

static int freed;

struct thing {
	int n;
};

static void thing_free(struct thing *t)
{
	freed += t != NULL;
	free(t);
}
AUTO_DEFINE(thing)

static struct thing *make(bool keep)
{
	AUTO(thing) t = calloc(1, sizeof(*t));
	return keep ? steal(t) : NULL;
}

static void test_steal_hands_over_and_auto_frees_the_rest(void **state)
{
	(void)state;
	freed = 0;
	struct thing *t = make(true);
	assert_non_null(t);
	assert_int_equal(freed, 0);
	thing_free(t);
	assert_null(make(false));
	assert_int_equal(freed, 2);
}

static int opened(bool keep)
{
	AUTO_FD fd = dup(2);
	int number = fd;
	if (keep)
		return steal_fd(&fd);
	errno = EXDEV;
	return number;
}

static void test_fds_close_and_keep_errno(void **state)
{
	(void)state;
	int fd = opened(false);
	assert_int_equal(errno, EXDEV);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	fd = opened(true);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steal_hands_over_and_auto_frees_the_rest),
		cmocka_unit_test(test_fds_close_and_keep_errno),
	};
	return cmocka_run_group_tests_name("base/own", tests, NULL, NULL);
}
