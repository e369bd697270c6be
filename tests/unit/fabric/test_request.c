/* SPDX-License-Identifier: MIT */
/* Two endpoints of one process talk over TCP on loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/request.h"

struct two {
	struct provider *provider;
	struct endpoint *ep[2];
};

static int alive_rc;

static int alive(void *arg, struct err *e)
{
	(void)arg;
	return alive_rc ? err_set(e, alive_rc, "rank 1 was killed") : 0;
}

/* max_message_bytes: 0, or a smaller largest message than the provider's own. */
static void two_open(struct two *t, uint32_t timeout_ms, size_t max_message_bytes)
{
	uint8_t name[ENDPOINT_NAME_BYTES];
	size_t n;
	struct err e = { 0 };

	alive_rc = 0;
	if (provider_open("tcp", "127.0.0.1", &t->provider, &e) < 0)
		fail_msg("%s", e.msg);
	if (max_message_bytes)
		t->provider->info->ep_attr->max_msg_size = max_message_bytes;
	for (uint32_t i = 0; i < 2; i++) {
		const struct endpoint_options o = { .self = i, .peers = 2, .timeout_ms = timeout_ms, .alive = alive };
		if (endpoint_open(t->provider, &o, &t->ep[i], &e) < 0)
			fail_msg("%s", e.msg);
	}
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < 2; j++) {
			assert_int_equal(endpoint_name(t->ep[j], name, &n, NULL), 0);
			assert_int_equal(
				endpoint_insert(t->ep[i], j, name, j ? "rank 1 (node2)" : "rank 0 (node1)", NULL), 0);
		}
}

static void two_close(struct two *t)
{
	endpoint_free(t->ep[0]);
	endpoint_free(t->ep[1]);
	provider_free(t->provider);
}

/* The other rank: a thread of its own, since a send may need both sides to make progress. */
struct receiver {
	struct endpoint *ep;
	void *to[2];
	size_t room;
	size_t count;
	struct request requests[2];
	struct err e;
};

static void *receive_all(void *arg)
{
	struct receiver *r = arg;
	int rc = 0;

	for (uint32_t i = 0; i < r->count && rc == 0; i++)
		rc = request_receive(r->ep, 0, r->to[i], r->room, 100 + i, "a test", &r->requests[i], &r->e);
	for (uint32_t i = 0; i < r->count && rc == 0; i++)
		rc = request_wait(r->ep, &r->requests[i], &r->e);
	return NULL;
}

static void send_one(struct two *t, const void *from, size_t bytes, uint32_t tag)
{
	struct request send;
	struct err e = { 0 };

	if (request_send(t->ep[0], 1, from, bytes, tag, "a test", &send, &e) < 0 ||
	    request_wait(t->ep[0], &send, &e) < 0)
		fail_msg("%s", e.msg);
}

static void exchange(size_t sent, size_t room, size_t max_message_bytes)
{
	struct two t = { 0 };
	unsigned char *from = malloc(sent + 1), *to = malloc(room + 1);
	struct receiver r = { .to = { to }, .room = room, .count = 1 };
	pthread_t thread;

	two_open(&t, 5000, max_message_bytes);
	for (size_t i = 0; i < sent; i++)
		from[i] = (unsigned char)(i * 7 + i / 251);
	memset(to, 0xee, room + 1);
	r.ep = t.ep[1];
	assert_int_equal(pthread_create(&thread, NULL, receive_all, &r), 0);
	send_one(&t, from, sent, 100);
	pthread_join(thread, NULL);
	assert_string_equal(r.e.msg, "");
	assert_int_equal(r.requests[0].moved_bytes, sent);
	assert_memory_equal(to, from, sent);
	assert_int_equal(to[room], 0xee);
	two_close(&t);
	free(from);
	free(to);
}

static void test_what_is_sent_arrives(void **state)
{
	(void)state;
	exchange(1, 1, 0);
	exchange(5000, 5200, 0);
	exchange(3000001, 3000001, 0);
}

static void test_a_message_above_the_largest_is_split(void **state)
{
	(void)state;
	exchange(100000, 100000, 1000);
	exchange(100001, 100001, 50000);
}

static void test_tags_keep_messages_apart(void **state)
{
	struct two t = { 0 };
	int from[2] = { 11, 22 }, to[2] = { 0 };
	struct receiver r = { .to = { &to[0], &to[1] }, .room = sizeof(int), .count = 2 };
	pthread_t thread;

	(void)state;
	two_open(&t, 5000, 0);
	r.ep = t.ep[1];
	assert_int_equal(pthread_create(&thread, NULL, receive_all, &r), 0);
	send_one(&t, &from[1], sizeof(int), 101);
	send_one(&t, &from[0], sizeof(int), 100);
	pthread_join(thread, NULL);
	assert_string_equal(r.e.msg, "");
	assert_int_equal(to[0], 11);
	assert_int_equal(to[1], 22);
	two_close(&t);
}

static void test_a_wait_ends_at_its_deadline_and_names_the_peer(void **state)
{
	struct two t = { 0 };
	struct request receive;
	struct err e = { 0 };
	int64_t start;
	char byte;

	(void)state;
	two_open(&t, 200, 0);
	start = clock_mono_ns();
	assert_int_equal(request_receive(t.ep[0], 1, &byte, 1, 1, "message 3", &receive, NULL), 0);
	assert_int_equal(request_wait(t.ep[0], &receive, &e), -ETIMEDOUT);
	assert_true(clock_mono_ns() - start >= 200000000LL);
	assert_true(clock_mono_ns() - start < 10000000000LL);
	assert_non_null(strstr(e.msg, "rank 1 (node2)"));
	assert_non_null(strstr(e.msg, "message 3"));
	assert_non_null(strstr(e.msg, "check"));
	two_close(&t);
}

static void test_sending_to_a_peer_that_is_gone_ends(void **state)
{
	struct two t = { 0 };
	struct request send;
	struct err e = { 0 };
	static char data[1 << 20];
	int rc;

	(void)state;
	two_open(&t, 300, 0);
	endpoint_free(t.ep[1]); /* its address stays known, but nobody listens there */
	t.ep[1] = NULL;
	rc = request_send(t.ep[0], 1, data, sizeof(data), 1, "message 1", &send, &e);
	if (rc == 0)
		rc = request_wait(t.ep[0], &send, &e);
	assert_true(rc < 0);
	assert_non_null(strstr(e.msg, "rank 1 (node2)"));
	two_close(&t);
}

static void test_an_address_of_another_machine_is_refused(void **state)
{
	const struct endpoint_options o = { .peers = 1, .timeout_ms = 1000 };
	AUTO(provider) p = NULL;
	struct endpoint *ep = NULL;
	struct err e = { 0 };
	int rc;

	(void)state;
	rc = provider_open("tcp", "192.0.2.1", &p, &e);
	if (rc == 0)
		rc = endpoint_open(p, &o, &ep, &e);
	assert_true(rc < 0);
	assert_null(ep);
	assert_true(e.msg[0] != 0);
}

static void test_news_of_a_death_end_a_wait_at_once(void **state)
{
	struct two t = { 0 };
	struct request receive;
	struct err e = { 0 };
	int64_t start = clock_mono_ns();
	char byte;

	(void)state;
	two_open(&t, 60000, 0);
	alive_rc = -ECONNRESET;
	assert_int_equal(request_receive(t.ep[0], 1, &byte, 1, 1, "a test", &receive, NULL), 0);
	assert_int_equal(request_wait(t.ep[0], &receive, &e), -ECONNRESET);
	assert_string_equal(e.msg, "rank 1 was killed");
	assert_true(clock_mono_ns() - start < 20000000000LL);
	two_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_sent_arrives),
		cmocka_unit_test(test_a_message_above_the_largest_is_split),
		cmocka_unit_test(test_tags_keep_messages_apart),
		cmocka_unit_test(test_a_wait_ends_at_its_deadline_and_names_the_peer),
		cmocka_unit_test(test_sending_to_a_peer_that_is_gone_ends),
		cmocka_unit_test(test_an_address_of_another_machine_is_refused),
		cmocka_unit_test(test_news_of_a_death_end_a_wait_at_once),
	};
	unsetenv("FI_PROVIDER");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
