/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "bench.h"
#include "watch/queue.h"

#define MANY 5000

static void *put_many(void *queue)
{
	for (unsigned i = 1; i <= MANY; i++) {
		queue_put(queue, new_event(i));
		queue_mark(queue, i);
	}
	queue_close(queue);
	return NULL;
}

/* A queue much smaller than what goes through: the source waits, nothing is lost, order holds, and the mark never runs ahead
 * of the records. */
static void test_a_full_queue_loses_nothing(void **state)
{
	AUTO(queue) q = queue_new(16, 1 << 20);
	pthread_t t;
	unsigned got = 0;
	bool closed = false;
	(void)state;
	pthread_create(&t, NULL, put_many, q);
	while (!closed) {
		struct queue_batch b;
		assert_int_equal(queue_take(q, 60000, &b), 0);
		for (size_t i = 0; i < b.count; i++)
			assert_int_equal(b.records[i]->wall_ns, 1000 + ++got);
		if (b.has_mark)
			assert_true(b.mark <= got);
		closed = b.closed;
		queue_batch_fini(&b);
	}
	pthread_join(t, NULL);
	assert_int_equal(got, MANY);
}

static void test_bytes_are_limited_too(void **state)
{
	AUTO(queue) q = queue_new(1000, 10); /* less than one record */
	pthread_t t;
	unsigned got = 0;
	bool closed = false;
	(void)state;
	pthread_create(&t, NULL, put_many, q);
	while (!closed) {
		struct queue_batch b;
		assert_int_equal(queue_take(q, 60000, &b), 0);
		assert_true(b.count <= 1);
		got += (unsigned)b.count;
		closed = b.closed;
		queue_batch_fini(&b);
	}
	pthread_join(t, NULL);
	assert_int_equal(got, MANY);
}

static void test_a_mark_alone_comes_after_a_while(void **state)
{
	AUTO(queue) q = queue_new(10, 1000);
	struct queue_batch b;
	(void)state;
	queue_mark(q, 42);
	assert_int_equal(queue_take(q, 1, &b), 0);
	assert_int_equal(b.count, 0);
	assert_true(b.has_mark);
	assert_int_equal(b.mark, 42);
	queue_batch_fini(&b);
}

static void test_what_is_left_is_freed(void **state)
{
	AUTO(queue) q = queue_new(10, 1000);
	(void)state;
	queue_put(q, new_event(1));
	queue_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_queue_loses_nothing),
		cmocka_unit_test(test_bytes_are_limited_too),
		cmocka_unit_test(test_a_mark_alone_comes_after_a_while),
		cmocka_unit_test(test_what_is_left_is_freed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
