/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/source.h"

static void add(struct source_list *l, const char *interface, const char *subnet)
{
	struct source_address *a = &l->at[l->count++];

	assert_int_equal(source_parse(subnet, &a->ip, &a->prefix_bits), 0);
	snprintf(a->interface, sizeof(a->interface), "%s", interface);
}

static void chosen_is(const struct source_list *ours, const struct source_list *peers, size_t n, const char *wanted,
		      const char *expected)
{
	struct source_address a;
	struct err e = { 0 };
	char text[SOURCE_TEXT_BYTES];

	if (source_choose(ours, peers, n, wanted, &a, &e) < 0)
		fail_msg("%s", e.msg);
	source_text(&a, text);
	assert_string_equal(text, expected);
}

static void test_the_subnet_that_holds_the_peers_is_taken(void **state)
{
	struct source_list ours = { 0 }, peers[2] = { 0 };

	(void)state;
	add(&ours, "docker0", "172.17.0.1/16");
	add(&ours, "mgmt0", "192.168.1.5/24");
	add(&ours, "eth1", "10.77.0.11/24");
	add(&ours, "lo", "127.0.0.1/8");
	/* docker0 has the same address on every node: it reaches none of them. */
	add(&peers[0], "docker0", "172.17.0.1/16");
	add(&peers[0], "eth1", "10.77.0.12/24");
	add(&peers[0], "lo", "127.0.0.1/8");
	add(&peers[1], "eth1", "10.77.0.13/24");
	add(&peers[1], "mgmt0", "192.168.1.6/24");
	chosen_is(&ours, peers, 2, NULL, "10.77.0.11");
}

static void test_what_is_wanted_rules(void **state)
{
	struct source_list ours = { 0 }, peers[1] = { 0 };
	struct source_address a;
	struct err e = { 0 };

	(void)state;
	add(&ours, "eth0", "192.168.1.5/24");
	add(&ours, "eth1", "10.77.0.11/24");
	add(&peers[0], "eth1", "10.77.0.12/24");
	chosen_is(&ours, peers, 1, "eth0", "192.168.1.5");
	chosen_is(&ours, peers, 1, "192.168.1.5", "192.168.1.5");
	chosen_is(&ours, peers, 1, "192.168.0.0/16", "192.168.1.5");
	assert_int_equal(source_choose(&ours, peers, 1, "ib0", &a, &e), -EINVAL);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	assert_non_null(strstr(e.msg, "ib0"));
	assert_non_null(strstr(e.msg, "eth1 (10.77.0.11)"));
}

static void test_no_way_to_any_peer_is_an_error(void **state)
{
	struct source_list ours = { 0 }, peers[1] = { 0 };
	struct source_address a;
	struct err e = { 0 };

	(void)state;
	add(&ours, "lo", "127.0.0.1/8");
	add(&peers[0], "lo", "127.0.0.1/8");
	assert_int_equal(source_choose(&ours, peers, 1, NULL, &a, &e), -ENETUNREACH);
	assert_non_null(strstr(e.msg, "--interface"));
}

static void test_loopback_is_listed_last(void **state)
{
	struct source_list l;

	(void)state;
	assert_int_equal(source_list(&l, NULL), 0);
	for (uint32_t i = 1; i < l.count; i++)
		assert_true(l.at[i].ip >> 24 == 127 || l.at[i - 1].ip >> 24 != 127);
}

static void test_addresses_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = { "",           "10.0.0", "10.0.0.1/33", "10.0.0.1/",
					   "10.0.0.1/x", "node1",  "10.0.0.256",  "1111111111111111111111" };
	uint32_t ip, bits;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(source_parse(bad[i], &ip, &bits), -EINVAL);
	assert_int_equal(source_parse("10.77.0.11/24", &ip, &bits), 0);
	assert_int_equal(ip, 0x0a4d000b);
	assert_int_equal(bits, 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_subnet_that_holds_the_peers_is_taken),
		cmocka_unit_test(test_what_is_wanted_rules),
		cmocka_unit_test(test_no_way_to_any_peer_is_an_error),
		cmocka_unit_test(test_loopback_is_listed_last),
		cmocka_unit_test(test_addresses_that_are_none_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
