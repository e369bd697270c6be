/* SPDX-License-Identifier: MIT */
/* What holds for every way of finding ranks (fork, environment), and what happens when one of them dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "forked.h"

#define SECOND_NS 1000000000LL

/* Each gives its number; each must get all of them, in order, twenty times. */
static int exchange_body(struct rank_set *set, void *arg, struct err *e)
{
	uint64_t all[8] = { 0 };

	(void)arg;
	for (uint64_t round = 0; round < 20; round++) {
		uint64_t mine = set->rank * 1000 + round;
		int rc = rank_exchange(set, &mine, sizeof(mine), all, e);
		if (rc < 0)
			return rc;
		for (uint64_t i = 0; i < set->size; i++)
			if (all[i] != i * 1000 + round)
				return err_set(e, -EBADMSG, "rank %u got %llu from %llu", set->rank,
					       (unsigned long long)all[i], (unsigned long long)i);
	}
	return 0;
}

static void test_all_get_what_each_gave(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 5; n++) {
		struct err e = { 0 };
		if (forked(n, 20000, exchange_body, NULL, &e) < 0)
			fail_msg("%u ranks: %s", n, e.msg);
	}
}

static int member_body(struct rank_set *set, void *arg, struct err *e)
{
	char host[RANK_HOST_BYTES] = "";

	(void)arg;
	gethostname(host, sizeof(host) - 1);
	if (set->size != 3 || set->local_size != 3 || set->local_rank != set->rank || !rank_is_one_host(set))
		return err_set(e, -EBADMSG, "rank %u: local %u of %u", set->rank, set->local_rank, set->local_size);
	if (strcmp(set->members[2].host, host) != 0 || set->members[set->rank].pid != getpid())
		return err_set(e, -EBADMSG, "rank %u does not know itself", set->rank);
	return 0;
}

static void test_the_members_know_one_another(void **state)
{
	struct err e = { 0 };

	(void)state;
	if (forked(3, 20000, member_body, NULL, &e) < 0)
		fail_msg("%s", e.msg);
}

static int agree_body(struct rank_set *set, void *arg, struct err *e)
{
	struct err mine = { 0 };

	(void)arg;
	if (set->rank >= 1)
		err_set(&mine, -ENODEV, "no card in slot %u", set->rank);
	return rank_agree(set, &mine, e);
}

static void test_one_failure_becomes_the_verdict_of_all(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(forked(4, 20000, agree_body, NULL, &e), -ENODEV);
	assert_non_null(strstr(e.msg, "rank 1 ("));
	assert_non_null(strstr(e.msg, "no card in slot 1"));
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
}

static int die_body(struct rank_set *set, void *arg, struct err *e)
{
	uint8_t byte = 0, all[4];

	(void)arg;
	if (set->rank == 1)
		raise(SIGKILL);
	return rank_exchange(set, &byte, 1, all, e);
}

static void test_a_killed_rank_ends_the_others_at_once(void **state)
{
	struct err e = { 0 };
	int64_t start = clock_mono_ns();

	(void)state;
	assert_int_equal(forked(3, 60000, die_body, NULL, &e), -ECONNRESET);
	assert_non_null(strstr(e.msg, "rank 1 was killed by signal 9"));
	assert_true(clock_mono_ns() - start < 30 * SECOND_NS);
}

static int silent_body(struct rank_set *set, void *arg, struct err *e)
{
	uint8_t byte = 0, all[4];

	(void)arg;
	if (set->rank == 1) {
		raise(SIGSTOP);
		return 0;
	}
	return rank_exchange(set, &byte, 1, all, e);
}

static void test_a_rank_that_hangs_is_waited_for_no_longer_than_the_deadline(void **state)
{
	struct err e = { 0 };
	int64_t start = clock_mono_ns();

	(void)state;
	assert_int_equal(forked(2, 300, silent_body, NULL, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "rank 1"));
	assert_true(clock_mono_ns() - start < 20 * SECOND_NS);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and it is not left behind */
}

static int give_up_body(struct rank_set *set, void *arg, struct err *e)
{
	uint8_t byte = 0, all[4];

	(void)arg;
	if (set->rank == 2)
		return err_set(e, -ENODEV, "no such card");
	return rank_exchange(set, &byte, 1, all, e);
}

static void test_rank_0_learns_why_another_gave_up(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_true(forked(3, 60000, give_up_body, NULL, &e) < 0);
	assert_non_null(strstr(e.msg, "rank 2: no such card"));
	assert_int_equal(err_exit_code(&e), EXIT_CANNOT_TELL);
}

/* ---- torchrun's variables ---- */

static int free_port(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);
	AUTO_FD fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	return ntohs(sa.sin_port);
}

static void set_environment(uint32_t rank, uint32_t size, int port)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", rank);
	setenv("RANK", text, 1);
	snprintf(text, sizeof(text), "%u", size);
	setenv("WORLD_SIZE", text, 1);
	snprintf(text, sizeof(text), "%d", port);
	setenv("MASTER_PORT", text, 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
}

/* One rank's whole life. */
static int environment_rank(uint32_t timeout_ms, int (*body)(struct rank_set *, void *, struct err *), struct err *e)
{
	const struct rank_options o = { .timeout_ms = timeout_ms };
	AUTO(rank_set) set = NULL;
	int rc = rank_open(&rank_env, &o, &set, e);

	if (rc == 0)
		rc = body(set, NULL, e);
	if (rc < 0 && set)
		rank_abandon(set, e);
	return rc;
}

static int environment(uint32_t n, uint32_t timeout_ms, int (*body)(struct rank_set *, void *, struct err *),
		       struct err *e)
{
	const int port = free_port();
	int rc;

	for (uint32_t i = 1; i < n; i++)
		if (fork() == 0) {
			struct err theirs = { 0 };
			set_environment(i, n, port);
			_exit(environment_rank(timeout_ms, body, &theirs) < 0);
		}
	set_environment(0, n, port);
	assert_true(rank_env.is_present());
	rc = environment_rank(timeout_ms, body, e);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return rc;
}

static void test_environment_all_get_what_each_gave(void **state)
{
	struct err e = { 0 };

	(void)state;
	if (environment(4, 20000, exchange_body, &e) < 0)
		fail_msg("%s", e.msg);
}

static void test_environment_a_killed_rank_ends_the_others_at_once(void **state)
{
	struct err e = { 0 };
	int64_t start = clock_mono_ns();

	(void)state;
	assert_true(environment(3, 60000, die_body, &e) < 0);
	assert_non_null(strstr(e.msg, "rank 1"));
	assert_true(clock_mono_ns() - start < 30 * SECOND_NS);
}

static void test_environment_rank_0_learns_why_another_gave_up(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_true(environment(3, 60000, give_up_body, &e) < 0);
	assert_non_null(strstr(e.msg, "rank 2"));
	assert_non_null(strstr(e.msg, "no such card"));
}

static void test_environment_a_rank_that_never_comes_is_told(void **state)
{
	const struct rank_options o = { .timeout_ms = 200 };
	struct rank_set *set = NULL;
	struct err e = { 0 };

	(void)state;
	set_environment(0, 2, free_port());
	assert_int_equal(rank_open(&rank_env, &o, &set, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "only 1 of 2 ranks came"));
	set_environment(1, 2, free_port());
	assert_int_equal(rank_open(&rank_env, &o, &set, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "rank 0 was not at 127.0.0.1:"));
	assert_null(set);
}

/* A socket whose queue is full drops what comes, as a firewall does: the kernel alone would try for minutes. */
static void test_environment_a_rendezvous_that_drops_packets_is_given_up_in_time(void **state)
{
	const struct rank_options o = { .timeout_ms = 300 };
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);
	AUTO_FD fd = socket(AF_INET, SOCK_STREAM, 0);
	int fillers[4];
	struct rank_set *set = NULL;
	struct err e = { 0 };
	int64_t start;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
	for (size_t i = 0; i < COUNT_OF(fillers); i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(fillers[i], (struct sockaddr *)&sa, sizeof(sa));
	}
	set_environment(1, 2, ntohs(sa.sin_port));
	start = clock_mono_ns();
	assert_int_equal(rank_open(&rank_env, &o, &set, &e), -ETIMEDOUT);
	assert_true(clock_mono_ns() - start < 30 * SECOND_NS);
	assert_non_null(strstr(e.msg, "rank 0 was not at 127.0.0.1:"));
	for (size_t i = 0; i < COUNT_OF(fillers); i++)
		close(fillers[i]);
}

static void test_environment_nonsense_is_refused(void **state)
{
	const struct rank_options o = { .timeout_ms = 200 };
	struct rank_set *set = NULL;
	struct err e = { 0 };

	(void)state;
	set_environment(5, 2, 1);
	assert_int_equal(rank_open(&rank_env, &o, &set, &e), -EINVAL);
	setenv("RANK", "one", 1);
	assert_int_equal(rank_open(&rank_env, &o, &set, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "RANK is 'one'"));
}

/* The contract: a name of its own, every function there, and a state that was never opened can be closed. */
static void test_every_row_keeps_the_contract(void **state)
{
	const struct rank_ops *last = NULL;

	(void)state;
	for (size_t i = 0; rank_rows[i]; i++) {
		const struct rank_ops *o = rank_rows[i];
		struct rank_set set = { .ops = o, .size = 1, .options = { .timeout_ms = 100 } };
		assert_true(o->name && *o->name);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(o->name, rank_rows[j]->name);
		assert_true(o->state_size > 0 && o->is_present && o->open && o->exchange && o->alive && o->abandon);
		set.state = calloc(1, o->state_size);
		o->close(&set);
		free(set.state);
		last = o;
	}
	unsetenv("PMIX_NAMESPACE");
	unsetenv("RANK");
	for (size_t i = 0; rank_rows[i]; i++) /* without a launcher, the last row alone is there */
		assert_int_equal(rank_rows[i]->is_present(), rank_rows[i] == last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_keeps_the_contract),
		cmocka_unit_test(test_all_get_what_each_gave),
		cmocka_unit_test(test_the_members_know_one_another),
		cmocka_unit_test(test_one_failure_becomes_the_verdict_of_all),
		cmocka_unit_test(test_a_killed_rank_ends_the_others_at_once),
		cmocka_unit_test(test_a_rank_that_hangs_is_waited_for_no_longer_than_the_deadline),
		cmocka_unit_test(test_rank_0_learns_why_another_gave_up),
		cmocka_unit_test(test_environment_all_get_what_each_gave),
		cmocka_unit_test(test_environment_a_killed_rank_ends_the_others_at_once),
		cmocka_unit_test(test_environment_rank_0_learns_why_another_gave_up),
		cmocka_unit_test(test_environment_a_rank_that_never_comes_is_told),
		cmocka_unit_test(test_environment_a_rendezvous_that_drops_packets_is_given_up_in_time),
		cmocka_unit_test(test_environment_nonsense_is_refused),
	};
	unsetenv("TORCHELASTIC_USE_AGENT_STORE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
