/* SPDX-License-Identifier: MIT */
/* The reference here is naive and of its own: sums in double or in wide integers, not the rows' code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prove/datatype.h"

#define COUNT 997

static void *filled(const struct datatype *t, const struct pattern *p, uint32_t rank)
{
	void *x = malloc(COUNT * t->bytes);
	t->fill(x, COUNT, p, rank);
	return x;
}

/* The reduction of n ranks, in the order that `first` begins and `step` goes on with. */
static void *reduced(const struct datatype *t, const struct pattern *p, uint32_t first, uint32_t step)
{
	void *sum = filled(t, p, first);

	for (uint32_t i = 1; i < p->ranks; i++) {
		void *next = filled(t, p, (first + i * step) % p->ranks);
		t->combine(p->op, sum, sum, next, COUNT);
		free(next);
	}
	t->finish(p->op, sum, COUNT, p->ranks);
	return sum;
}

static void test_every_type_and_reduction_is_exact_in_any_order(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 7, 301 };

	(void)state;
	for (const struct datatype *const *t = datatypes; *t; t++)
		for (int op = 0; op < REDUCTION_COUNT; op++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
				const struct pattern p = { .seed = 42, .ranks = sizes[i], .op = (enum reduction)op };
				size_t first = 0;
				void *up = reduced(*t, &p, 0, 1);
				void *down = reduced(*t, &p, p.ranks - 1, p.ranks - 1);
				if ((*t)->verify(up, COUNT, &p, &first) || (*t)->verify(down, COUNT, &p, &first))
					fail_msg("%s %s of %u ranks: element %zu", (*t)->name,
						 datatype_reduction_name(p.op), p.ranks, first);
				free(up);
				free(down);
			}
}

static void test_one_wrong_element_is_counted_and_found(void **state)
{
	(void)state;
	for (const struct datatype *const *t = datatypes; *t; t++)
		for (int op = 0; op < REDUCTION_COUNT; op++) {
			const struct pattern p = { .seed = 7, .ranks = 3, .op = (enum reduction)op };
			unsigned char *x = reduced(*t, &p, 0, 1);
			size_t first = 0;
			x[500 * (*t)->bytes + (*t)->bytes - 1] ^=
				0x01; /* the last byte: sign and exponent of a float */
			assert_int_equal((*t)->verify(x, COUNT, &p, &first), 1);
			assert_int_equal(first, 500);
			x[996 * (*t)->bytes] ^= 0x80;
			assert_int_equal((*t)->verify(x, COUNT, &p, &first), 2);
			assert_int_equal(first, 500);
			free(x);
		}
}

static void test_stale_shifted_and_foreign_data_do_not_pass(void **state)
{
	(void)state;
	for (const struct datatype *const *t = datatypes; *t; t++) {
		const struct pattern now = { .seed = 2, .ranks = 4, .op = REDUCTION_SUM };
		const struct pattern before = { .seed = 1, .ranks = 4, .op = REDUCTION_SUM };
		const struct pattern fewer = { .seed = 2, .ranks = 3, .op = REDUCTION_SUM };
		unsigned char *stale = reduced(*t, &before, 0, 1), *partial = reduced(*t, &fewer, 0, 1);
		unsigned char *shifted = reduced(*t, &now, 0, 1);
		size_t first;

		memmove(shifted, shifted + (*t)->bytes, (COUNT - 1) * (*t)->bytes);
		assert_true((*t)->verify(stale, COUNT, &now, &first) > COUNT / 2);
		assert_true((*t)->verify(partial, COUNT, &now, &first) > COUNT / 2);
		assert_true((*t)->verify(shifted, COUNT, &now, &first) > COUNT / 2);
		free(stale);
		free(partial);
		free(shifted);
	}
}

static void test_float_sums_match_a_sum_in_double(void **state)
{
	const struct pattern p = { .seed = 9, .ranks = 5, .op = REDUCTION_SUM };
	float *sum = reduced(&datatype_float, &p, 0, 1);
	double wide[COUNT] = { 0 };

	(void)state;
	for (uint32_t rank = 0; rank < p.ranks; rank++) {
		float *x = filled(&datatype_float, &p, rank);
		for (size_t i = 0; i < COUNT; i++)
			wide[i] += (double)x[i];
		free(x);
	}
	for (size_t i = 0; i < COUNT; i++)
		assert_true((double)sum[i] == wide[i]);
	free(sum);
}

static void test_integers_match_wide_arithmetic(void **state)
{
	struct pattern p = { .seed = 9, .ranks = 5, .op = REDUCTION_SUM };

	(void)state;
	for (int op = REDUCTION_SUM; op <= REDUCTION_AVG; op++) {
		p.op = (enum reduction)op;
		int8_t *got = reduced(&datatype_int8, &p, 0, 1), *in[5];
		for (uint32_t rank = 0; rank < p.ranks; rank++)
			in[rank] = filled(&datatype_int8, &p, rank);
		for (size_t i = 0; i < COUNT; i++) {
			int64_t sum = 0, product = 1, max = INT64_MIN, min = INT64_MAX;
			for (uint32_t rank = 0; rank < p.ranks; rank++) {
				sum += in[rank][i];
				product *= in[rank][i];
				max = in[rank][i] > max ? in[rank][i] : max;
				min = in[rank][i] < min ? in[rank][i] : min;
			}
			const int64_t want[] = { (int8_t)(uint64_t)sum, (int8_t)(uint64_t)product, max, min, sum / 5 };
			assert_int_equal(got[i], want[op]);
		}
		for (uint32_t rank = 0; rank < p.ranks; rank++)
			free(in[rank]);
		free(got);
	}
}

static void adds_to(const struct datatype *t, uint16_t a, uint16_t b, uint16_t want)
{
	uint16_t got = 0;
	t->combine(REDUCTION_SUM, &got, &a, &b, 1);
	assert_int_equal(got, want);
}

static void test_half_and_bfloat16_round_as_ieee(void **state)
{
	(void)state;
	adds_to(&datatype_half, 0x3c00, 0x3c00, 0x4000); /* 1 + 1 */
	adds_to(&datatype_half, 0x0001, 0x0001, 0x0002); /* subnormals */
	adds_to(&datatype_half, 0x03ff, 0x0001, 0x0400); /* into the normals */
	adds_to(&datatype_half, 0x6800, 0x3c00, 0x6800); /* 2048 + 1: a tie, to even */
	adds_to(&datatype_half, 0x6801, 0x3c00, 0x6802); /* 2050 + 1: a tie, to even */
	adds_to(&datatype_half, 0x7bff, 0x7bff, 0x7c00); /* overflow */
	adds_to(&datatype_half, 0x7c00, 0xbc00, 0x7c00); /* infinity stays */
	adds_to(&datatype_half, 0x8000, 0x8000, 0x8000); /* -0 */
	adds_to(&datatype_bfloat16, 0x3f80, 0x3f80, 0x4000);
	adds_to(&datatype_bfloat16, 0x4380, 0x3f80, 0x4380); /* 256 + 1: a tie, to even */
	adds_to(&datatype_bfloat16, 0x4381, 0x3f80, 0x4382);
	adds_to(&datatype_bfloat16, 0x7f7f, 0x7f7f, 0x7f80);
}

static void test_a_nan_is_always_wrong(void **state)
{
	const struct pattern p = { .seed = 1, .ranks = 2, .op = REDUCTION_SUM };
	float *x = reduced(&datatype_float, &p, 0, 1);
	size_t first;

	(void)state;
	x[3] = NAN;
	assert_int_equal(datatype_float.verify(x, COUNT, &p, &first), 1);
	assert_int_equal(first, 3);
	free(x);
}

static void test_unknown_names_are_refused_with_the_known(void **state)
{
	const struct datatype *t = NULL;
	enum reduction op;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(datatype_find("float8", &t, &e), -EINVAL);
	assert_non_null(strstr(e.msg, "bfloat16"));
	assert_int_equal(datatype_find_reduction("xor", &op, &e), -EINVAL);
	assert_int_equal(datatype_find("half", &t, NULL), 0);
	assert_ptr_equal(t, &datatype_half);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_and_reduction_is_exact_in_any_order),
		cmocka_unit_test(test_one_wrong_element_is_counted_and_found),
		cmocka_unit_test(test_stale_shifted_and_foreign_data_do_not_pass),
		cmocka_unit_test(test_float_sums_match_a_sum_in_double),
		cmocka_unit_test(test_integers_match_wide_arithmetic),
		cmocka_unit_test(test_half_and_bfloat16_round_as_ieee),
		cmocka_unit_test(test_a_nan_is_always_wrong),
		cmocka_unit_test(test_unknown_names_are_refused_with_the_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
