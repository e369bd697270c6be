/* SPDX-License-Identifier: MIT */
/* The contract that every row of `sources` keeps, and what the kernel log's source owes beyond it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench.h"
#include "watch/source_rows.h"

/* A machine without GPUs, EFA or a kernel log but the one that the test writes. */
struct bench {
	struct world world;
	struct watch_config config;
	struct source_env env;
};

static void bench_init(struct bench *b, const char *log)
{
	*b = (struct bench){ 0 };
	write_text(in_folder("kmsg"), log);
	assert_int_equal(world_init(&b->world, folder, NULL), 0);
	b->config = (struct watch_config){
		.world = &b->world, .program = "/bin/false", .kmsg = "/kmsg", .period_ms = 60000
	};
	b->env = (struct source_env){ .config = &b->config, .origin = { "node", "boot" }, .stop_fd = eventfd(0, 0) };
	b->env.queue = queue_new(100, 1 << 20);
	assert_non_null(b->env.queue);
}

static void bench_fini(struct bench *b)
{
	close(b->env.stop_fd);
	queue_free(b->env.queue);
	world_fini(&b->world);
}

static void tell_stop(const struct bench *b)
{
	uint64_t one = 1;
	assert_int_equal(write(b->env.stop_fd, &one, sizeof(one)), sizeof(one));
}

/* One run that was told to stop before it began: reads what is there and ends. */
static void run_once(struct bench *b, const struct source_ops *o)
{
	void *s = calloc(1, o->state_size);
	assert_int_equal(o->open(s, &b->env, NULL), 0);
	tell_stop(b);
	o->run(s, &b->env);
	o->close(s);
	free(s);
	queue_close(b->env.queue);
}

static void test_rows_are_whole_and_unlike(void **state)
{
	(void)state;
	unsigned cursors = 0;
	for (size_t i = 0; sources[i]; i++) {
		const struct source_ops *o = sources[i];
		assert_true(*o->name && *o->help && o->state_size);
		assert_true(o->open && o->run && o->close);
		cursors += o->keeps_cursor;
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(o->name, sources[j]->name);
	}
	assert_int_equal(cursors, 1); /* the queue holds one mark */
}

static void test_close_takes_a_state_that_was_never_open(void **state)
{
	(void)state;
	for (size_t i = 0; sources[i]; i++) {
		void *s = calloc(1, sources[i]->state_size);
		sources[i]->close(s);
		free(s);
	}
}

static void test_ends_when_told(void **state)
{
	(void)state;
	for (size_t i = 0; sources[i]; i++) {
		struct bench b;
		bench_init(&b, "6,1,1,-;hello\n");
		run_once(&b, sources[i]);
		bench_fini(&b);
	}
}

/* What the kernel log's source makes of a log: the ids of its events, each followed by a blank, and the mark. */
static void read_log(const char *log, bool has_mark, uint64_t mark, char ids[400], uint64_t *ret_mark)
{
	struct bench b;
	struct queue_batch batch;
	bench_init(&b, log);
	b.env.has_mark = has_mark;
	b.env.mark = mark;
	run_once(&b, &source_kmsg);
	assert_int_equal(queue_take(b.env.queue, 0, &batch), 0);
	ids[0] = '\0';
	for (size_t i = 0; i < batch.count; i++) {
		strcat(ids, batch.records[i]->id);
		strcat(ids, " ");
	}
	*ret_mark = batch.has_mark ? batch.mark : 0;
	queue_batch_fini(&batch);
	bench_fini(&b);
}

#define XID(seq) "4," #seq ",1,-;NVRM: Xid (PCI:0000:52:00): 31, pid=1, name=a, Ch 1\n"

static void test_the_first_start_reads_the_whole_ring(void **state)
{
	char ids[400];
	uint64_t mark;
	(void)state;
	read_log("6,40,1,-;boot\n" XID(41) "6,42,1,-;noise\n" XID(43) "6,44,1,-;noise\n", false, 0, ids, &mark);
	assert_string_equal(ids, "boot:41 boot:43 ");
	assert_int_equal(mark, 44);
}

static void test_a_restart_goes_on_behind_the_mark(void **state)
{
	char ids[400];
	uint64_t mark;
	(void)state;
	read_log(XID(41) XID(42) XID(43), true, 42, ids, &mark);
	assert_string_equal(ids, "boot:43 ");
	assert_int_equal(mark, 43);
}

static void test_gaps_are_events(void **state)
{
	char ids[400];
	uint64_t mark;
	(void)state;
	/* Between records, and between the mark of the last run and the oldest record that is left. */
	read_log(XID(41) XID(45) "6,46,1,-;x\n6,50,1,-;x\n", true, 30, ids, &mark);
	assert_string_equal(ids, "boot:gap-31-40 boot:41 boot:gap-42-44 boot:45 boot:gap-47-49 ");
	assert_int_equal(mark, 50);
}

static void test_no_gap_without_a_loss(void **state)
{
	char ids[400];
	uint64_t mark;
	(void)state;
	read_log("6,30,1,-;x\n" XID(31), true, 30, ids, &mark);
	assert_string_equal(ids, "boot:31 ");
}

static void test_from_now(void **state)
{
	struct bench b;
	struct queue_batch batch;
	(void)state;
	for (int known = 0; known <= 1; known++) {
		bench_init(&b, XID(41) XID(42));
		b.config.from_now = true;
		b.env.has_mark = known;
		b.env.mark = 41;
		run_once(&b, &source_kmsg);
		assert_int_equal(queue_take(b.env.queue, 0, &batch), 0);
		assert_int_equal(batch.count, known); /* once there is a mark, it decides */
		assert_true(batch.has_mark);
		assert_int_equal(batch.mark, 42);
		queue_batch_fini(&batch);
		bench_fini(&b);
	}
}

static void test_unreadable_records_are_passed_over(void **state)
{
	char ids[400];
	uint64_t mark;
	(void)state;
	read_log(XID(1) "what is this\n" XID(2), false, 0, ids, &mark);
	assert_string_equal(ids, "boot:1 boot:2 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_whole_and_unlike),
		cmocka_unit_test(test_close_takes_a_state_that_was_never_open),
		folder_test(test_ends_when_told),
		folder_test(test_the_first_start_reads_the_whole_ring),
		folder_test(test_a_restart_goes_on_behind_the_mark),
		folder_test(test_gaps_are_events),
		folder_test(test_no_gap_without_a_loss),
		folder_test(test_from_now),
		folder_test(test_unreadable_records_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
