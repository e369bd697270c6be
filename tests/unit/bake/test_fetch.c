/* SPDX-License-Identifier: MIT */
/* Downloads from a server that misbehaves: resumed, tried again, verified, refused; and what stays on disk each time. */
#include "tree.h"

#include <signal.h>

#include "bake/fetch.h"
#include "base/clock.h"
#include "base/digest.h"
#include "server.h"

#define SIZE 20000

static struct server *server;

static int setup(void **state)
{
	unsetenv("http_proxy");
	server = server_start();
	return server && tree_setup(state) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	server_stop(server);
	return tree_teardown(state);
}

struct wanted {
	struct plan_source source;
	char url[128];
};

/* The file that the server has under /kind/size. */
static struct wanted *want(const char *kind, long size)
{
	struct wanted *w = calloc(1, sizeof(*w));
	unsigned char *bytes = malloc((size_t)size);
	for (long i = 0; i < size; i++)
		bytes[i] = SERVER_BYTE(i);
	digest_of(bytes, (size_t)size, w->source.sha256);
	free(bytes);
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%d/%s/%ld", server_port(server), kind, size);
	w->source.url = w->url;
	w->source.file = w->url;
	w->source.bytes = size;
	return w;
}

static int fetch_one(const struct wanted *w, struct err *e)
{
	const struct plan_source *list[] = { &w->source };
	struct fetch_options o = { .attempts = 3, .backoff_ms = 1, .stall_ms = 1000 };
	return fetch_all(list, 1, &o, e);
}

static bool here(const struct wanted *w, const char *suffix)
{
	AUTO_STR path = str_printf("%s/state/downloads/%s%s", tree_dir, w->source.sha256, suffix);
	return fdio_exists(AT_FDCWD, path);
}

static void put_part(const struct wanted *w, long bytes, bool right)
{
	AUTO_STR path = str_printf("state/downloads/%s.part", w->source.sha256);
	char *text = malloc((size_t)bytes + 1);
	for (long i = 0; i < bytes; i++)
		text[i] = (char)(right ? SERVER_BYTE(i) : 'x');
	AUTO_STR full = tree_path(path);
	tree_file(path, "", 0644);
	assert_int_equal(fdio_write_file(AT_FDCWD, full, text, (size_t)bytes, 0644, NULL), 0);
	free(text);
}

static void a_file_comes_and_is_not_fetched_again(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("good", SIZE);
	struct err e = { 0 };
	bool present = false;
	if (fetch_one(w, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(here(w, ""));
	assert_false(here(w, ".part"));
	assert_int_equal(fetch_present(&w->source, &present, NULL), 0);
	assert_true(present);
	assert_int_equal(fetch_one(w, &e), 0);
	assert_int_equal(server_requests(server), 1);
	w->source.bytes = -1; /* nobody told the size: then its digest says whether it is there */
	assert_int_equal(fetch_one(w, &e), 0);
	assert_int_equal(server_requests(server), 1);
}

static void many_files_come_each_once(void **state)
{
	(void)state;
	struct wanted *w[20];
	const struct plan_source *list[40];
	struct fetch_options o = { 0 };
	for (size_t i = 0; i < COUNT_OF(w); i++)
		list[i] = list[i + 20] = &(w[i] = want("good", (long)(100 + i)))->source;
	assert_int_equal(fetch_all(list, COUNT_OF(list), &o, NULL), 0);
	assert_int_equal(server_requests(server), 20);
	for (size_t i = 0; i < COUNT_OF(w); i++) {
		assert_true(here(w[i], ""));
		free(w[i]);
	}
}

static void a_cut_download_goes_on_where_it_ended(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("cut", SIZE);
	struct err e = { 0 };
	/* Every answer gives half of the rest: three attempts are not enough, and what came stays. */
	assert_true(fetch_one(w, &e) < 0);
	assert_int_equal(e.space, ERR_REMOTE);
	assert_int_equal(err_exit_code(&e), EXIT_REMOTE);
	assert_non_null(strstr(e.msg, w->url));
	assert_true(here(w, ".part"));
	assert_false(here(w, ""));
	assert_int_equal(server_offset(server, 0), 0);
	assert_int_equal(server_offset(server, 1), SIZE / 2);
	assert_int_equal(server_offset(server, 2), SIZE / 2 + SIZE / 4);
	/* The next run goes on from there, over a connection that holds. */
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%d/good/%d", server_port(server), SIZE);
	assert_int_equal(fetch_one(w, &e), 0);
	assert_int_equal(server_offset(server, 3), SIZE / 2 + SIZE / 4 + SIZE / 8);
	assert_true(here(w, ""));
}

static void a_server_without_ranges_is_asked_for_all(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("norange", SIZE);
	struct err e = { 0 };
	put_part(w, 5000, true);
	if (fetch_one(w, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(here(w, ""));
}

static void a_whole_part_needs_no_server(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("good", SIZE);
	put_part(w, SIZE, true);
	assert_int_equal(fetch_one(w, NULL), 0);
	assert_int_equal(server_requests(server), 0);
	assert_true(here(w, ""));
}

static void a_wrong_checksum_is_refused_and_nothing_stays(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("good", SIZE);
	struct err e = { 0 };
	char right[DIGEST_HEX_BYTES];
	memcpy(right, w->source.sha256, sizeof(right));
	memset(w->source.sha256, 'a', 64);
	assert_true(fetch_one(w, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_REMOTE);
	assert_non_null(strstr(e.msg, w->url));
	assert_non_null(strstr(e.msg, right));
	assert_non_null(strstr(e.msg, w->source.sha256));
	assert_false(here(w, ""));
	assert_false(here(w, ".part"));

	memcpy(w->source.sha256, right, sizeof(right));
	put_part(w, 5000, false); /* a part that was damaged: told once, then fetched anew */
	assert_true(fetch_one(w, &e) < 0);
	assert_false(here(w, ".part"));
	assert_int_equal(fetch_one(w, &e), 0);
}

static void more_bytes_than_promised_are_cut_off(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("long", SIZE);
	struct err e = { 0 };
	assert_true(fetch_one(w, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_REMOTE);
	assert_non_null(strstr(e.msg, "longer than the 20000 bytes"));
	assert_false(here(w, ".part"));
}

static void a_file_that_is_gone_is_not_asked_for_twice(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("missing", SIZE);
	struct err e = { 0 };
	assert_true(fetch_one(w, &e) < 0);
	assert_int_equal(e.native, 404);
	assert_non_null(strstr(e.msg, "--update"));
	assert_int_equal(server_requests(server), 1);
	assert_false(here(w, ".part"));
}

static void a_busy_server_is_asked_again(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *once = want("once", SIZE);
	__attribute__((cleanup(own_free))) struct wanted *busy = want("busy", SIZE + 1);
	struct err e = { 0 };
	assert_int_equal(fetch_one(once, &e), 0);
	assert_int_equal(server_requests(server), 2);
	assert_true(fetch_one(busy, &e) < 0);
	assert_int_equal(server_requests(server), 5);
	assert_int_equal(e.native, 503);
	assert_non_null(strstr(e.msg, "tried 3 times"));
}

static void silence_is_given_up(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("stall", SIZE);
	const struct plan_source *list[] = { &w->source };
	struct fetch_options o = { .attempts = 1, .backoff_ms = 1, .stall_ms = 1000 };
	struct err e = { 0 };
	assert_true(fetch_all(list, 1, &o, &e) < 0);
	assert_int_equal(e.space, ERR_REMOTE);
	assert_true(here(w, ".part"));
}

static void nobody_listens(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("good", SIZE);
	struct err e = { 0 };
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:1/file");
	assert_true(fetch_one(w, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_REMOTE);
	assert_non_null(strstr(e.msg, "http://127.0.0.1:1/file"));
	snprintf(w->url, sizeof(w->url), "ftp://127.0.0.1/file");
	assert_true(fetch_one(w, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_REMOTE);
}

static void an_interrupt_keeps_the_part(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("good", SIZE);
	static volatile sig_atomic_t stop = 1;
	const struct plan_source *list[] = { &w->source };
	struct fetch_options o = { .stop = &stop };
	struct err e = { 0 };
	put_part(w, 5000, true);
	assert_int_equal(fetch_all(list, 1, &o, &e), -EINTR);
	assert_true(here(w, ".part"));
	assert_int_equal(server_requests(server), 0);
}

static void files_are_taken_from_this_machine_too(void **state)
{
	(void)state;
	__attribute__((cleanup(own_free))) struct wanted *w = want("good", SIZE);
	struct err e = { 0 };
	tree_file("local.tar", "text", 0644);
	snprintf(w->url, sizeof(w->url), "file://%s/local.tar", tree_dir);
	digest_of("text", 4, w->source.sha256);
	w->source.bytes = -1;
	if (fetch_one(w, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(here(w, ""));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_file_comes_and_is_not_fetched_again),
		T(many_files_come_each_once),
		T(a_cut_download_goes_on_where_it_ended),
		T(a_server_without_ranges_is_asked_for_all),
		T(a_whole_part_needs_no_server),
		T(a_wrong_checksum_is_refused_and_nothing_stays),
		T(more_bytes_than_promised_are_cut_off),
		T(a_file_that_is_gone_is_not_asked_for_twice),
		T(a_busy_server_is_asked_again),
		T(silence_is_given_up),
		T(nobody_listens),
		T(an_interrupt_keeps_the_part),
		T(files_are_taken_from_this_machine_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
