/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static const struct spool_mark *mark_at(uint64_t seq)
{
	static struct spool_mark m = { "kmsg", "boot", 0 };
	m.seq = seq;
	return &m;
}

static size_t count_of(struct spool *s, enum record_kind kind, int64_t after)
{
	struct spool_list l = { 0 };
	assert_int_equal(spool_read(s, kind, after, 1000, &l, NULL), 0);
	size_t n = l.count;
	spool_list_fini(&l);
	return n;
}

static void test_records_and_cursor_move_together(void **state)
{
	AUTO(spool) s = open_spool();
	AUTO(record) event = new_event(7);
	AUTO(record) metrics = new_metrics(0);
	struct record *const both[] = { event, metrics };
	bool known;
	uint64_t seq;
	(void)state;
	assert_int_equal(spool_source_seq(s, "kmsg", "boot", &known, &seq, NULL), 0);
	assert_false(known);
	assert_int_equal(spool_append(s, both, 2, mark_at(9), NULL), 0);
	spool_free(steal(s));
	s = open_spool();
	assert_int_equal(spool_source_seq(s, "kmsg", "boot", &known, &seq, NULL), 0);
	assert_true(known);
	assert_int_equal(seq, 9);
	assert_int_equal(spool_source_seq(s, "kmsg", "another boot", &known, &seq, NULL), 0);
	assert_false(known);
	struct spool_list l;
	assert_int_equal(spool_read(s, RECORD_EVENT, 0, 10, &l, NULL), 0);
	assert_int_equal(l.count, 1);
	assert_string_equal(l.at[0].id, "boot:7");
	assert_string_equal(l.at[0].json, event->json);
	spool_list_fini(&l);
	assert_int_equal(count_of(s, RECORD_METRICS, 0), 1);
	assert_int_equal(spool_end(s, RECORD_EVENT), 1);
}

static void test_an_event_is_kept_once(void **state)
{
	AUTO(spool) s = open_spool();
	(void)state;
	append_events(s, 1, 3);
	append_events(s, 2, 4);
	assert_int_equal(count_of(s, RECORD_EVENT, 0), 4);
	assert_int_equal(count_of(s, RECORD_EVENT, 3), 1);
}

static void test_one_agent_at_a_time(void **state)
{
	AUTO(spool) s = open_spool();
	struct spool *second = NULL;
	struct err e = { 0 };
	char pid[32];
	(void)state;
	assert_int_equal(spool_open(in_folder("spool"), &second, &e), -EBUSY);
	assert_null(second);
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	assert_non_null(strstr(e.msg, pid));
	assert_non_null(strstr(e.msg, "--spool"));
	/* A lock file that a dead agent left is no hindrance. */
	spool_free(steal(s));
	s = open_spool();
}

static void test_a_sink_has_its_own_place(void **state)
{
	AUTO(spool) s = open_spool();
	AUTO_STR kept = NULL;
	int64_t n = 77;
	(void)state;
	append_events(s, 1, 5);
	assert_int_equal(spool_sink_load(s, "file", RECORD_EVENT, &n, &kept, NULL), 0);
	assert_int_equal(n, 0);
	assert_string_equal(kept, "");
	assert_int_equal(spool_sink_save(s, "file", RECORD_EVENT, 3, "where", NULL), 0);
	assert_int_equal(spool_sink_save(s, "other", RECORD_METRICS, 9, "", NULL), 0);
	spool_free(steal(s));
	s = open_spool();
	free(steal(kept));
	assert_int_equal(spool_sink_load(s, "file", RECORD_EVENT, &n, &kept, NULL), 0);
	assert_int_equal(n, 3);
	assert_string_equal(kept, "where");
	free(steal(kept));
	assert_int_equal(spool_sink_load(s, "other", RECORD_METRICS, &n, &kept, NULL), 0);
	assert_int_equal(n, 9);
}

static void *append_one(void *spool)
{
	append_events(spool, 1, 1);
	return NULL;
}

static void test_sleepers_wake(void **state)
{
	AUTO(spool) s = open_spool();
	pthread_t t;
	(void)state;
	pthread_create(&t, NULL, append_one, s);
	assert_true(spool_wait(s, RECORD_EVENT, 0));
	pthread_join(t, NULL);
	spool_wake_all(s);
	assert_false(spool_wait(s, RECORD_EVENT, 1));
	assert_true(spool_wait(s, RECORD_EVENT, 0)); /* what is there is told, also at the end */
	assert_false(spool_sleep(s, 60000));
}

/* The process dies without a farewell at a moment of its own: what append returned from is there, in order, without
 * holes, and the cursor does not run ahead of the events. */
static void test_kill_at_any_moment(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		int told[2];
		assert_int_equal(pipe(told), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct spool *s = NULL;
			if (spool_open(in_folder("spool"), &s, NULL) < 0)
				_exit(1);
			for (unsigned i = (unsigned)spool_end(s, RECORD_EVENT) + 1;; i++) {
				struct record *r = new_event(i);
				if (spool_append(s, &r, 1, mark_at(i), NULL) < 0 || write(told[1], &i, sizeof(i)) < 0)
					_exit(1);
			}
		}
		close(told[1]);
		unsigned last = 0, got = 0;
		while (got < 1 + round * 3 && read(told[0], &last, sizeof(last)) == sizeof(last))
			got++;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(told[0], &last, sizeof(last)) == sizeof(last))
			;
		close(told[0]);
		AUTO(spool) s = open_spool();
		int64_t end = spool_end(s, RECORD_EVENT);
		bool known;
		uint64_t seq;
		assert_true(end >= last && end <= last + 1);
		assert_int_equal(count_of(s, RECORD_EVENT, 0), end);
		assert_int_equal(spool_source_seq(s, "kmsg", "boot", &known, &seq, NULL), 0);
		assert_true(known && (int64_t)seq == end);
	}
}

/* A write-ahead log that was cut at any byte (power loss) opens as some earlier state, never as a damaged one. */
static void test_a_torn_log(void **state)
{
	AUTO_STR db = NULL;
	AUTO_STR wal = NULL;
	size_t db_n, wal_n;
	(void)state;
	struct spool *s = open_spool();
	append_events(s, 1, 5);
	assert_int_equal(fdio_read_file(AT_FDCWD, in_folder("spool/spool.db"), 1 << 24, &db, &db_n, NULL), 0);
	assert_int_equal(fdio_read_file(AT_FDCWD, in_folder("spool/spool.db-wal"), 1 << 24, &wal, &wal_n, NULL), 0);
	spool_free(s);
	assert_true(wal_n > 0);
	for (size_t cut = 0; cut <= wal_n; cut += 1 + wal_n / 61) {
		fdio_remove_tree(in_folder("spool"), NULL);
		assert_int_equal(fdio_mkdir_p(in_folder("spool"), 0755, NULL), 0);
		assert_int_equal(fdio_write_file(AT_FDCWD, in_folder("spool/spool.db"), db, db_n, 0644, NULL), 0);
		assert_int_equal(fdio_write_file(AT_FDCWD, in_folder("spool/spool.db-wal"), wal, cut, 0644, NULL), 0);
		AUTO(spool) again = open_spool();
		size_t n = count_of(again, RECORD_EVENT, 0);
		assert_true(n <= 5);
		assert_int_equal(spool_end(again, RECORD_EVENT), n);
		append_events(again, 1, 5);
		assert_int_equal(count_of(again, RECORD_EVENT, 0), 5);
	}
}

static void test_what_is_no_spool(void **state)
{
	struct spool *s = NULL;
	struct err e = { 0 };
	(void)state;
	assert_int_equal(fdio_mkdir_p(in_folder("spool"), 0755, NULL), 0);
	write_text(in_folder("spool/spool.db"),
		   "this is not a database, it only looks like a long enough file of text, "
		   "and it is longer than a header of a hundred bytes to be sure of it");
	assert_true(spool_open(in_folder("spool"), &s, &e) < 0);
	assert_null(s);
	assert_int_equal(e.space, ERR_SQLITE);
	assert_non_null(strstr(e.msg, "spool.db"));
	write_text(in_folder("file"), "");
	assert_true(spool_open(in_folder("file"), &s, &e) < 0);
	assert_null(s);
}

/* It holds lines of the kernel log, which may be root's alone to read. */
static void test_it_is_not_for_everyone(void **state)
{
	static const char *const files[] = { "spool/spool.db", "spool/spool.db-wal" };
	struct stat st;
	(void)state;
	mode_t was = umask(022);
	AUTO(spool) s = open_spool();
	umask(was);
	assert_non_null(s);
	for (size_t i = 0; i < COUNT_OF(files); i++) {
		assert_int_equal(stat(in_folder(files[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0640);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(test_records_and_cursor_move_together),
		folder_test(test_an_event_is_kept_once),
		folder_test(test_one_agent_at_a_time),
		folder_test(test_a_sink_has_its_own_place),
		folder_test(test_sleepers_wake),
		folder_test(test_kill_at_any_moment),
		folder_test(test_a_torn_log),
		folder_test(test_what_is_no_spool),
		folder_test(test_it_is_not_for_everyone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
