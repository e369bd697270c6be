/* SPDX-License-Identifier: MIT */
/* Jobs run after what they wait for, side by side where they can, and end at the first failure. */
#include "tree.h"

#include <pthread.h>

#include "bake/graph.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static char order[64];

static int note(void *arg, struct err *e)
{
	(void)e;
	pthread_mutex_lock(&lock);
	strcat(order, arg);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int meet(void *arg, struct err *e)
{
	(void)arg;
	(void)e;
	pthread_barrier_wait(&both); /* ends only when two jobs run at once */
	return 0;
}

static int fails(void *arg, struct err *e)
{
	return err_set(e, -EIO, "%s failed", (const char *)arg);
}

static void told(void *arg)
{
	*(int *)arg += 1;
}

static void jobs_wait_for_each_other(void **state)
{
	(void)state;
	struct graph_job jobs[] = {
		{ .run = note, .arg = "c", .after = { 1, 2 }, .after_count = 2 },
		{ .run = note, .arg = "b", .after = { 2 }, .after_count = 1 },
		{ .run = note, .arg = "a" },
	};
	order[0] = '\0';
	assert_int_equal(graph_run(jobs, 3, 3, NULL, NULL, NULL), 0);
	assert_string_equal(order, "abc");
}

static void independent_jobs_run_side_by_side(void **state)
{
	(void)state;
	struct graph_job jobs[] = { { .run = meet }, { .run = meet } };
	pthread_barrier_init(&both, NULL, 2);
	assert_int_equal(graph_run(jobs, 2, 2, NULL, NULL, NULL), 0);
	pthread_barrier_destroy(&both);
}

static void a_failure_ends_the_rest(void **state)
{
	(void)state;
	struct graph_job jobs[] = {
		{ .run = fails, .arg = "first" },
		{ .run = note, .arg = "x", .after = { 0 }, .after_count = 1 },
	};
	struct err e = { 0 };
	int times = 0;
	order[0] = '\0';
	assert_int_equal(graph_run(jobs, 2, 2, told, &times, &e), -EIO);
	assert_string_equal(e.msg, "first failed");
	assert_string_equal(order, "");
	assert_int_equal(times, 1);
}

static void a_cycle_is_told(void **state)
{
	(void)state;
	struct graph_job jobs[] = {
		{ .run = note, .arg = "a", .after = { 1 }, .after_count = 1 },
		{ .run = note, .arg = "b", .after = { 0 }, .after_count = 1 },
	};
	struct err e = { 0 };
	assert_int_equal(graph_run(jobs, 2, 2, NULL, NULL, &e), -EDEADLK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_wait_for_each_other),
		cmocka_unit_test(independent_jobs_run_side_by_side),
		cmocka_unit_test(a_failure_ends_the_rest),
		cmocka_unit_test(a_cycle_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
