/* SPDX-License-Identifier: MIT */
/* The contract that every row of `sinks` keeps. A new row is tested the day it is listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "bench.h"
#include "watch/sink_rows.h"

static struct watch_config config(FILE *terminal)
{
	return (struct watch_config){ .event_log = in_folder("log"),
				      .metrics_log = in_folder("metrics"),
				      .metrics_max_bytes = 1 << 20,
				      .terminal = terminal };
}

static void test_rows_are_whole_and_unlike(void **state)
{
	(void)state;
	assert_non_null(sinks[0]);
	for (size_t i = 0; sinks[i]; i++) {
		const struct sink_ops *o = sinks[i];
		assert_true(*o->name && *o->help && o->state_size);
		assert_true(o->open && o->write && o->save && o->close);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(o->name, sinks[j]->name);
	}
}

static void test_close_takes_a_state_that_was_never_open(void **state)
{
	(void)state;
	for (size_t i = 0; sinks[i]; i++) {
		void *s = calloc(1, sinks[i]->state_size);
		sinks[i]->close(s);
		free(s);
	}
}

static void put(struct spool *s, enum record_kind kind, unsigned i)
{
	AUTO(record) r = kind == RECORD_EVENT ? new_event(i) : new_metrics(i);
	assert_int_equal(spool_append(s, &r, 1, NULL, NULL), 0);
}

/* Nothing to do is 0; what comes is delivered; another sink's records are not its business. */
static void test_delivers_what_it_takes(void **state)
{
	AUTO(spool) spool = open_spool();
	FILE *terminal = fopen(in_folder("terminal"), "we");
	const struct watch_config c = config(terminal);
	(void)state;
	for (size_t i = 0; sinks[i]; i++) {
		const enum record_kind other = sinks[i]->takes == RECORD_EVENT ? RECORD_METRICS : RECORD_EVENT;
		AUTO(sink) s = NULL;
		assert_int_equal(sink_new(sinks[i], &c, spool, &s, NULL), 0);
		while (sink_step(s, NULL) > 0)
			;
		assert_int_equal(sink_step(s, NULL), 0);
		put(spool, other, 100 + (unsigned)i);
		assert_int_equal(sink_step(s, NULL), 0);
		put(spool, sinks[i]->takes, 200 + (unsigned)i);
		assert_int_equal(sink_step(s, NULL), 1);
		assert_int_equal(sink_step(s, NULL), 0);
	}
	fclose(terminal);
}

/* Opened again with what it gave to keep, it goes on where it was; one that keeps no cursor begins at the end. */
static void test_goes_on_after_a_restart(void **state)
{
	AUTO(spool) spool = open_spool();
	FILE *terminal = fopen(in_folder("terminal"), "we");
	const struct watch_config c = config(terminal);
	(void)state;
	for (size_t i = 0; sinks[i]; i++) {
		AUTO(sink) s = NULL;
		AUTO(sink) again = NULL;
		assert_int_equal(sink_new(sinks[i], &c, spool, &s, NULL), 0);
		while (sink_step(s, NULL) > 0)
			;
		sink_free(steal(s));
		put(spool, sinks[i]->takes, 300 + (unsigned)i);
		assert_int_equal(sink_new(sinks[i], &c, spool, &again, NULL), 0);
		assert_int_equal(sink_step(again, NULL), sinks[i]->from_now ? 0 : 1);
		assert_int_equal(sink_step(again, NULL), 0);
	}
	fclose(terminal);
}

/* Same records again after a failure must not hurt. */
static void test_takes_the_same_records_again(void **state)
{
	const struct watch_config c = config(NULL);
	(void)state;
	for (size_t i = 0; sinks[i]; i++) {
		void *s = calloc(1, sinks[i]->state_size);
		AUTO(record) r = sinks[i]->takes == RECORD_EVENT ? new_event(1) : new_metrics(1);
		assert_int_equal(sinks[i]->open(s, &c, "", NULL), 0);
		assert_int_equal(sinks[i]->write(s, r, 1, NULL), 0);
		assert_int_equal(sinks[i]->write(s, r, 1, NULL), 0);
		AUTO_STR kept = sinks[i]->save(s);
		assert_non_null(kept);
		sinks[i]->close(s);
		free(s);
	}
}

static void *run(void *sink)
{
	sink_run(sink);
	return NULL;
}

static void test_a_running_sink_delivers_and_ends(void **state)
{
	AUTO(spool) spool = open_spool();
	const struct watch_config c = config(NULL);
	AUTO(sink) s = NULL;
	pthread_t t;
	(void)state;
	assert_int_equal(sink_new(&sink_file, &c, spool, &s, NULL), 0);
	pthread_create(&t, NULL, run, s);
	append_events(spool, 1, 10);
	spool_wake_all(spool);
	pthread_join(t, NULL);
	AUTO_STR text = read_text(in_folder("log"));
	assert_int_equal(times_in(text, "\n"), 10);
}

static void test_the_metrics_log_is_moved_before_it_is_too_long(void **state)
{
	AUTO(spool) spool = open_spool();
	struct watch_config c = config(NULL);
	AUTO(sink) s = NULL;
	(void)state;
	c.metrics_max_bytes = 60;
	assert_int_equal(sink_new(&sink_metrics, &c, spool, &s, NULL), 0);
	for (unsigned i = 0; i < 5; i++) {
		put(spool, RECORD_METRICS, i);
		assert_int_equal(sink_step(s, NULL), 1);
	}
	AUTO_STR now = read_text(in_folder("metrics"));
	AUTO_STR before = read_text(in_folder("metrics.1"));
	assert_string_equal(now, "{\"kind\":\"metrics\",\"gpu\":4}\n");
	assert_string_equal(before, "{\"kind\":\"metrics\",\"gpu\":2}\n{\"kind\":\"metrics\",\"gpu\":3}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_whole_and_unlike),
		cmocka_unit_test(test_close_takes_a_state_that_was_never_open),
		folder_test(test_delivers_what_it_takes),
		folder_test(test_goes_on_after_a_restart),
		folder_test(test_takes_the_same_records_again),
		folder_test(test_a_running_sink_delivers_and_ends),
		folder_test(test_the_metrics_log_is_moved_before_it_is_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
