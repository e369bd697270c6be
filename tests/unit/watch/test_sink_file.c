/* SPDX-License-Identifier: MIT */
/* Exactly once: a crash is a sink that is freed before its cursor was kept, and a file cut at any byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "bench.h"
#include "watch/sink_rows.h"

static struct watch_config config(void)
{
	return (struct watch_config){ .event_log = in_folder("log"), .metrics_log = in_folder("metrics") };
}

static struct sink *open_sink(struct spool *s)
{
	static struct watch_config c;
	struct sink *sink = NULL;
	struct err e = { 0 };
	c = config();
	if (sink_new(&sink_file, &c, s, &sink, &e) < 0)
		fail_msg("%s", e.msg);
	return sink;
}

static void deliver(struct spool *s)
{
	AUTO(sink) sink = open_sink(s);
	struct err e = { 0 };
	int rc;
	while ((rc = sink_step(sink, &e)) > 0)
		;
	if (rc < 0)
		fail_msg("%s", e.msg);
}

/* Events first..last stand in the file, in order, once each, and every line is whole. */
static void holds(const char *path, unsigned first, unsigned last)
{
	AUTO_STR text = read_text(path);
	char *at = text;
	for (unsigned i = first; i <= last; i++) {
		AUTO(record) r = new_event(i);
		char *end = strchr(at, '\n');
		if (!end)
			fail_msg("event %u is missing in: %s", i, text);
		*end = '\0';
		assert_string_equal(at, r->json);
		at = end + 1;
	}
	assert_string_equal(at, "");
}

static void test_each_once_over_restarts(void **state)
{
	AUTO(spool) s = open_spool();
	(void)state;
	append_events(s, 1, 3);
	deliver(s);
	deliver(s);
	append_events(s, 4, 400); /* more than one batch */
	deliver(s);
	holds(in_folder("log"), 1, 400);
}

/* The lines are on the disk and the cursor is not: cut the file at every byte behind the cursor. */
static void test_a_crash_between_file_and_cursor(void **state)
{
	AUTO(spool) s = open_spool();
	AUTO_STR kept = NULL;
	int64_t n;
	(void)state;
	append_events(s, 1, 2);
	deliver(s);
	assert_int_equal(spool_sink_load(s, "file", RECORD_EVENT, &n, &kept, NULL), 0);
	AUTO_STR before = read_text(in_folder("log"));
	append_events(s, 3, 4);
	deliver(s);
	AUTO_STR after = read_text(in_folder("log"));
	for (size_t cut = strlen(before); cut <= strlen(after); cut++) {
		assert_int_equal(truncate(in_folder("log"), 0), 0); /* the same inode */
		FILE *f = fopen(in_folder("log"), "ae");
		fwrite(after, 1, cut, f);
		fclose(f);
		assert_int_equal(spool_sink_save(s, "file", RECORD_EVENT, n, kept, NULL), 0);
		deliver(s);
		holds(in_folder("log"), 1, 4);
	}
}

static void test_rotation(void **state)
{
	AUTO(spool) s = open_spool();
	AUTO(sink) sink = open_sink(s);
	(void)state;
	append_events(s, 1, 2);
	assert_int_equal(sink_step(sink, NULL), 1);
	assert_int_equal(rename(in_folder("log"), in_folder("log.1")), 0);
	append_events(s, 3, 4);
	assert_int_equal(sink_step(sink, NULL), 1);
	assert_int_equal(unlink(in_folder("log")), 0);
	append_events(s, 5, 5);
	assert_int_equal(sink_step(sink, NULL), 1);
	holds(in_folder("log.1"), 1, 2);
	holds(in_folder("log"), 5, 5);
}

/* Delivered, crashed before the cursor moved, and the file was rotated before the restart. */
static void test_a_crash_and_then_a_rotation(void **state)
{
	AUTO(spool) s = open_spool();
	AUTO_STR kept = NULL;
	int64_t n;
	(void)state;
	append_events(s, 1, 2);
	deliver(s);
	assert_int_equal(spool_sink_load(s, "file", RECORD_EVENT, &n, &kept, NULL), 0);
	append_events(s, 3, 4);
	deliver(s);
	assert_int_equal(spool_sink_save(s, "file", RECORD_EVENT, n, kept, NULL), 0);
	assert_int_equal(rename(in_folder("log"), in_folder("log-20261121")), 0);
	append_events(s, 5, 5);
	deliver(s);
	holds(in_folder("log-20261121"), 1, 4);
	holds(in_folder("log"), 5, 5);
}

static void test_copytruncate(void **state)
{
	AUTO(spool) s = open_spool();
	(void)state;
	append_events(s, 1, 2);
	deliver(s);
	assert_int_equal(truncate(in_folder("log"), 0), 0);
	append_events(s, 3, 3);
	deliver(s);
	holds(in_folder("log"), 3, 3);
}

/* The spool was deleted and the kernel's ring is read again from its beginning. */
static void test_a_new_spool_and_an_old_file(void **state)
{
	struct spool *s = open_spool();
	(void)state;
	append_events(s, 1, 3);
	deliver(s);
	spool_free(s);
	assert_int_equal(fdio_remove_tree(in_folder("spool"), NULL), 0);
	AUTO(spool) again = open_spool();
	append_events(again, 1, 5);
	deliver(again);
	holds(in_folder("log"), 1, 5);
}

static void test_a_failure_is_tried_again_from_the_same_place(void **state)
{
	AUTO(spool) s = open_spool();
	AUTO(sink) sink = open_sink(s);
	struct err e = { 0 };
	(void)state;
	append_events(s, 1, 2);
	assert_int_equal(unlink(in_folder("log")), 0);
	assert_int_equal(fdio_mkdir_p(in_folder("log"), 0755, NULL), 0); /* cannot be written */
	assert_true(sink_step(sink, &e) < 0);
	assert_true(sink_step(sink, &e) < 0);
	assert_int_equal(rmdir(in_folder("log")), 0);
	assert_int_equal(sink_step(sink, NULL), 1);
	holds(in_folder("log"), 1, 2);
}

static void test_lines_of_others_stay(void **state)
{
	AUTO(spool) s = open_spool();
	(void)state;
	write_text(in_folder("log"),
		   "somebody's line\n{\"kind\":\"event\",\"id\":\"x\"}\n{\"kind\":\"event\",\"id\":\"bro");
	append_events(s, 1, 1);
	deliver(s);
	AUTO_STR text = read_text(in_folder("log"));
	AUTO(record) r = new_event(1);
	static const char before[] = "somebody's line\n{\"kind\":\"event\",\"id\":\"x\"}\n";
	assert_memory_equal(text, before, strlen(before));
	assert_null(strstr(text, "bro"));
	assert_int_equal(times_in(text, r->json), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_each_once_over_restarts),
		folder_test(test_a_crash_between_file_and_cursor),
		folder_test(test_rotation),
		folder_test(test_a_crash_and_then_a_rotation),
		folder_test(test_copytruncate),
		folder_test(test_a_new_spool_and_an_old_file),
		folder_test(test_a_failure_is_tried_again_from_the_same_place),
		folder_test(test_lines_of_others_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
