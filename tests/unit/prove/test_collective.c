/* SPDX-License-Identifier: MIT */
/* Every algorithm against the naive reduction, over TCP on loopback, for one to five ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "forked.h"
#include "prove/buffer.h"
#include "prove/collective.h"

#define TIMEOUT_MS 60000

struct job {
	const struct datatype *type;
	enum reduction op;
	size_t count;
	const char *algorithm;
};

/* What a person would write: rank after rank, element after element. */
static int compare_naive(const struct job *j, const struct pattern *p, const void *got, struct err *e)
{
	const size_t bytes = j->count * j->type->bytes;
	void *sum = malloc(bytes + 1), *next = malloc(bytes + 1);
	int rc = 0;

	j->type->fill(sum, j->count, p, 0);
	for (uint32_t i = 1; i < p->ranks; i++) {
		j->type->fill(next, j->count, p, i);
		j->type->combine(j->op, sum, sum, next, j->count);
	}
	j->type->finish(j->op, sum, j->count, p->ranks);
	if (memcmp(sum, got, bytes) != 0)
		rc = err_set(e, -EBADMSG, "%s %s of %zu elements by %s is wrong with %u ranks", j->type->name,
			     datatype_reduction_name(j->op), j->count, j->algorithm, p->ranks);
	free(sum);
	free(next);
	return rc;
}

static int run_job(struct team *t, const struct job *j, bool in_place, struct err *e)
{
	const size_t bytes = j->count * j->type->bytes;
	const struct pattern p = { .seed = j->count + in_place, .ranks = t->ranks->size, .op = j->op };
	const struct algorithm_ops *algorithm;
	AUTO_BUFFER in = { 0 };
	AUTO_BUFFER out = { 0 };
	AUTO_BUFFER scratch = { 0 };
	int rc = algorithm_choose(j->algorithm, t->ranks->size, bytes, &algorithm, e);

	if (rc == 0)
		rc = buffer_init(&in, t->endpoint, bytes, e);
	if (rc == 0)
		rc = buffer_init(&out, t->endpoint, bytes, e);
	if (rc == 0)
		rc = buffer_init(&scratch, t->endpoint, algorithm->scratch_bytes(t->ranks->size, bytes), e);
	if (rc < 0)
		return rc;
	const struct algorithm_job job = { .team = t,
					   .type = j->type,
					   .op = j->op,
					   .in = in_place ? out.data : in.data,
					   .out = out.data,
					   .count = j->count,
					   .scratch = scratch.data };
	j->type->fill(in_place ? out.data : in.data, j->count, &p, t->ranks->rank);
	rc = algorithm->run(&job, e);
	if (rc == 0 && !in_place) { /* the input must be as it was */
		void *again = malloc(bytes + 1);
		j->type->fill(again, j->count, &p, t->ranks->rank);
		if (memcmp(again, in.data, bytes) != 0)
			rc = err_set(e, -EBADMSG, "the input was changed");
		free(again);
	}
	return rc < 0 ? rc : compare_naive(j, &p, out.data, e);
}

static int run_both(struct team *t, const struct job *j, struct err *e)
{
	int rc = run_job(t, j, false, e);
	return rc < 0 ? rc : run_job(t, j, true, e);
}

static int all_types_body(struct team *t, void *arg, struct err *e)
{
	(void)arg;
	for (const struct datatype *const *type = datatypes; *type; type++)
		for (int op = 0; op < REDUCTION_COUNT; op++) {
			struct job j = { .type = *type, .op = (enum reduction)op, .count = 1003, .algorithm = "ring" };
			int rc = run_both(t, &j, e);
			j.algorithm = "recursive_doubling";
			if (rc == 0 && (t->ranks->size & (t->ranks->size - 1)) == 0)
				rc = run_both(t, &j, e);
			if (rc < 0)
				return rc;
		}
	return 0;
}

static void test_all_types_and_reductions(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 5; n++) {
		struct err e = { 0 };
		if (teamed(n, TIMEOUT_MS, all_types_body, NULL, &e) < 0)
			fail_msg("%u ranks: %s", n, e.msg);
	}
}

/* Counts around the borders: fewer elements than ranks, blocks that differ by one, many segments, the last one short. */
static int all_counts_body(struct team *t, void *arg, struct err *e)
{
	static const size_t counts[] = { 1, 2, 3, 4, 5, 6, 31, 4097, 262144, 700001, 1 << 20 };

	(void)arg;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const struct job j = {
			.type = &datatype_float, .op = REDUCTION_SUM, .count = counts[i], .algorithm = "ring"
		};
		int rc = run_both(t, &j, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static void test_all_counts(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 5; n++) {
		struct err e = { 0 };
		if (teamed(n, TIMEOUT_MS, all_counts_body, NULL, &e) < 0)
			fail_msg("%u ranks: %s", n, e.msg);
	}
}

/* The contract of every row: a name of its own that the error for an unknown one tells; where it fits it gives the right
 * sum in a job's scratch_bytes; and the last row takes whatever the others do not. */
static int all_rows_body(struct team *t, void *arg, struct err *e)
{
	static const size_t counts[] = { 1, 7, 4097, 100003 };

	(void)arg;
	for (size_t i = 0; algorithm_rows[i]; i++) {
		if (!algorithm_rows[i]->fits(t->ranks->size))
			continue;
		for (size_t c = 0; c < COUNT_OF(counts); c++) {
			const struct job j = { .type = &datatype_int32,
					       .op = REDUCTION_SUM,
					       .count = counts[c],
					       .algorithm = algorithm_rows[i]->name };
			int rc = run_both(t, &j, e);
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

static void test_every_algorithm_keeps_the_contract(void **state)
{
	const struct algorithm_ops *last = NULL, *unused = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(algorithm_choose("nobody", 2, 8, &unused, &e), -EINVAL);
	for (size_t i = 0; algorithm_rows[i]; i++) {
		last = algorithm_rows[i];
		assert_non_null(strstr(e.msg, last->name));
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(last->name, algorithm_rows[j]->name);
	}
	for (uint32_t n = 1; n <= 9; n++)
		assert_true(last->fits(n) && last->is_best(n, 8) && last->is_best(n, 1 << 30));
	for (uint32_t n = 1; n <= 4; n++)
		if (teamed(n, TIMEOUT_MS, all_rows_body, NULL, &e) < 0)
			fail_msg("%u ranks: %s", n, e.msg);
}

static void test_the_best_algorithm_fits(void **state)
{
	const struct algorithm_ops *a = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(algorithm_choose(NULL, 2, 8, &a, NULL), 0);
	assert_string_equal(a->name, "recursive_doubling");
	assert_int_equal(algorithm_choose(NULL, 3, 8, &a, NULL), 0);
	assert_string_equal(a->name, "ring");
	assert_int_equal(algorithm_choose(NULL, 2, 64 << 20, &a, NULL), 0);
	assert_string_equal(a->name, "ring");
	assert_int_equal(algorithm_choose("recursive_doubling", 3, 8, &a, &e), -EINVAL);
	assert_int_equal(algorithm_choose("tree", 2, 8, &a, &e), -EINVAL);
}

static void test_the_bus_factor_is_nccl_tests(void **state)
{
	(void)state;
	assert_true(collective_all_reduce.bus_factor(2) == 1.0);
	assert_true(collective_all_reduce.bus_factor(4) == 1.5);
	assert_true(collective_all_reduce.bus_factor(8) == 1.75);
	assert_true(collective_all_reduce.bus_factor(1) == 0.0);
}

/* A collective whose result is damaged on rank 1: one element, of which the run must tell. */
static int damaged_run(const struct algorithm_ops *algorithm, const struct algorithm_job *job, struct err *e)
{
	int rc = collective_all_reduce.run(algorithm, job, e);

	if (rc == 0 && job->team->ranks->rank == 1)
		((float *)job->out)[job->count / 2] += 1;
	return rc;
}

static struct collective_options short_run(void)
{
	return (struct collective_options){ .min_bytes = 64,
					    .max_bytes = 256,
					    .step_factor = 2,
					    .iterations = 3,
					    .warmup = 1,
					    .aggregate = 1,
					    .checks = 2,
					    .average = AVERAGE_MEAN,
					    .types = { &datatype_float },
					    .type_count = 1,
					    .ops = { REDUCTION_SUM },
					    .op_count = 1 };
}

static int damaged_body(struct team *t, void *arg, struct err *e)
{
	struct collective_ops damaged = collective_all_reduce;
	const struct collective_options o = short_run();
	AUTO(collective_result) r = NULL;
	int rc;

	(void)arg;
	damaged.run = damaged_run;
	rc = collective_run(&damaged, t, &o, &(const struct collective_listener){ 0 }, &r, e);
	if (rc < 0)
		return rc;
	/* 3 sizes, 2 halves, 2 rounds, 1 element on 1 of 2 ranks; every rank must know. */
	if (r->wrong != 12 || r->count != 3 || r->rows[1].in_place.wrong != 2)
		return err_set(e, -EBADMSG, "%llu wrong in %zu rows", (unsigned long long)r->wrong, r->count);
	return 0;
}

static void test_a_damaged_result_is_counted(void **state)
{
	struct err e = { 0 };

	(void)state;
	if (teamed(2, TIMEOUT_MS, damaged_body, NULL, &e) < 0)
		fail_msg("%s", e.msg);
}

static int sound_body(struct team *t, void *arg, struct err *e)
{
	const struct collective_options o = short_run();
	AUTO(collective_result) r = NULL;
	int rc = collective_run(&collective_all_reduce, t, &o, &(const struct collective_listener){ 0 }, &r, e);

	(void)arg;
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < r->count; i++) {
		const struct collective_half *h = &r->rows[i].out_of_place;
		if (h->wrong != 0 || h->time_us <= 0 || h->min_us > h->p50_us || h->p50_us > h->p99_us ||
		    h->p99_us > h->max_us)
			return err_set(e, -EBADMSG, "row %zu makes no sense", i);
	}
	return r->rows[2].bytes == 256 && r->rows[2].count == 64 ? 0 : err_set(e, -EBADMSG, "sizes");
}

static void test_a_sound_run_has_a_row_per_size(void **state)
{
	struct err e = { 0 };

	(void)state;
	if (teamed(2, TIMEOUT_MS, sound_body, NULL, &e) < 0)
		fail_msg("%s", e.msg);
}

/* A rank dies in the middle of the ring. */
static int dying_body(struct team *t, void *arg, struct err *e)
{
	const struct job j = { .type = &datatype_float, .op = REDUCTION_SUM, .count = 1 << 20, .algorithm = "ring" };
	int rc = run_job(t, &j, false, e);

	(void)arg;
	if (rc == 0 && t->ranks->rank == 1)
		raise(SIGKILL);
	return rc < 0 ? rc : run_job(t, &j, false, e);
}

static void test_a_rank_that_dies_ends_the_run_with_its_number(void **state)
{
	struct err e = { 0 };
	int64_t start = clock_mono_ns();

	(void)state;
	assert_true(teamed(3, TIMEOUT_MS, dying_body, NULL, &e) < 0);
	assert_non_null(strstr(e.msg, "rank 1"));
	assert_true(clock_mono_ns() - start < 40000000000LL);
}

static int no_provider_body(struct rank_set *set, void *arg, struct err *e)
{
	const struct team_options o = { .provider = set->rank == 1 ? "no-such-thing" : "tcp",
					.timeout_ms = TIMEOUT_MS };
	AUTO(team) team = NULL;

	(void)arg;
	return team_open(set, &o, &team, e);
}

static void test_a_provider_missing_on_one_rank_fails_all(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(forked(2, TIMEOUT_MS, no_provider_body, NULL, &e), -ENODEV);
	assert_non_null(strstr(e.msg, "rank 1"));
	assert_non_null(strstr(e.msg, "no-such-thing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_types_and_reductions),
		cmocka_unit_test(test_all_counts),
		cmocka_unit_test(test_every_algorithm_keeps_the_contract),
		cmocka_unit_test(test_the_best_algorithm_fits),
		cmocka_unit_test(test_the_bus_factor_is_nccl_tests),
		cmocka_unit_test(test_a_damaged_result_is_counted),
		cmocka_unit_test(test_a_sound_run_has_a_row_per_size),
		cmocka_unit_test(test_a_rank_that_dies_ends_the_run_with_its_number),
		cmocka_unit_test(test_a_provider_missing_on_one_rank_fails_all),
	};
	unsetenv("FI_PROVIDER");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
