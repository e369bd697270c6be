/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "forked.h"
#include "prove/transfer.h"

static void test_every_damaged_byte_is_found(void **state)
{
	uint8_t x[5000], want;

	(void)state;
	transfer_fill(x, sizeof(x), 1, 42);
	assert_int_equal(transfer_verify(x, sizeof(x), 1, 42, &want), sizeof(x));
	for (size_t i = 0; i < sizeof(x); i++) {
		uint8_t kept = x[i];
		x[i] ^= 0x10;
		assert_int_equal(transfer_verify(x, sizeof(x), 1, 42, &want), i);
		assert_int_equal(want, kept);
		x[i] = kept;
	}
}

static void test_messages_and_senders_differ(void **state)
{
	uint8_t x[64], want;

	(void)state;
	transfer_fill(x, sizeof(x), 1, 42);
	assert_true(transfer_verify(x, sizeof(x), 1, 43, &want) < sizeof(x));
	assert_true(transfer_verify(x, sizeof(x), 0, 42, &want) < sizeof(x));
	memmove(x, x + 1, sizeof(x) - 1);
	assert_true(transfer_verify(x, sizeof(x), 1, 42, &want) < 4);
}

static int run_body(struct team *t, void *arg, struct err *e)
{
	const struct transfer_options o = {
		.messages = 600, .message_bytes = 5001, .min_bytes = 8, .max_bytes = 100000, .iterations = 5
	};
	const struct transfer_listener nobody = { 0 };
	AUTO(transfer_result) r = NULL;
	AUTO_JSON json = NULL;
	int rc = transfer_run(t, &o, &nobody, &r, e);
	size_t pairs = t->ranks->size / 2;

	(void)arg;
	if (rc < 0)
		return rc;
	if (!r->verified || r->burst_count != 2 * pairs || r->size_count != 8 * pairs)
		return err_set(e, -EBADMSG, "%zu bursts, %zu sizes", r->burst_count, r->size_count);
	for (size_t i = 0; i < r->burst_count; i++)
		if (r->bursts[i].received != 600 || r->bursts[i].bad || r->bursts[i].from != (r->bursts[i].to ^ 1))
			return err_set(e, -EBADMSG, "burst %zu", i);
	for (size_t i = 0; i < r->size_count; i++)
		if (r->sizes[i].latency_min_us <= 0 || r->sizes[i].latency_min_us > r->sizes[i].latency_p99_us ||
		    r->sizes[i].bandwidth_gb_s <= 0)
			return err_set(e, -EBADMSG, "size %zu", i);
	if (r->sizes[7].bytes != 100000)
		return err_set(e, -EBADMSG, "the last size is %llu", (unsigned long long)r->sizes[7].bytes);
	json = transfer_json(t, &o, r);
	if (strcmp(json_string_value(json_object_get(json, "verdict")), "pass") != 0)
		return err_set(e, -EBADMSG, "verdict");
	return 0;
}

static void test_pairs_of_ranks_get_every_message(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 4; n += 2) {
		struct err e = { 0 };
		if (teamed(n, 60000, run_body, NULL, &e) < 0)
			fail_msg("%u ranks: %s", n, e.msg);
	}
}

static void test_a_rank_without_a_partner_is_refused(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(teamed(3, 60000, run_body, NULL, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "3 ranks cannot be paired"));
}

/* 40 messages of 16 MiB: all of them at once would be 640 MiB. (The address sanitizer keeps 256 MiB that were freed.) */
static int large_body(struct team *t, void *arg, struct err *e)
{
	const struct transfer_options o = {
		.messages = 40, .message_bytes = 16 << 20, .min_bytes = 8, .max_bytes = 8, .iterations = 1
	};
	const struct transfer_listener nobody = { 0 };
	AUTO(transfer_result) r = NULL;
	struct rusage used;
	int rc = transfer_run(t, &o, &nobody, &r, e);

	(void)arg;
	if (rc < 0)
		return rc;
	getrusage(RUSAGE_SELF, &used);
	if (!r->verified || used.ru_maxrss > 512 << 10)
		return err_set(e, -EBADMSG, "verified: %d; %ld MiB used", r->verified, used.ru_maxrss >> 10);
	return 0;
}

static void test_large_messages_take_turns_in_a_bounded_buffer(void **state)
{
	struct err e = { 0 };

	(void)state;
	if (teamed(2, 60000, large_body, NULL, &e) < 0)
		fail_msg("%s", e.msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_damaged_byte_is_found),
		cmocka_unit_test(test_messages_and_senders_differ),
		cmocka_unit_test(test_pairs_of_ranks_get_every_message),
		cmocka_unit_test(test_a_rank_without_a_partner_is_refused),
		cmocka_unit_test(test_large_messages_take_turns_in_a_bounded_buffer),
	};
	unsetenv("FI_PROVIDER");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
