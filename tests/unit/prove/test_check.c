/* SPDX-License-Identifier: MIT */
/* The contract that every row of the table keeps, and what a check says of a machine on which nothing is recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>

#include "tree.h"

static void every_row_says_what_why_and_how_to_mend(void **state)
{
	(void)state;
	for (const struct check *const *c = checks; *c; c++) {
		print_message("# %s\n", (*c)->id);
		for (const char *p = (*c)->id; *p; p++)
			assert_true(islower((unsigned char)*p) || isdigit((unsigned char)*p) || *p == '-');
		assert_true(strlen((*c)->what) > 10 && strlen((*c)->what) < 120);
		assert_null(strchr((*c)->what, '\n'));
		assert_true(strlen((*c)->why) > 20);
		assert_true(strlen((*c)->mend) > 10 && strlen((*c)->mend) < CHECK_MEND_BYTES);
		assert_int_equal(strncmp((*c)->source, "https://", 8), 0);
		assert_true((*c)->severity == CHECK_FAIL || (*c)->severity == CHECK_WARN);
		assert_non_null((*c)->run);
		assert_ptr_equal(check_find((*c)->id), *c);
	}
	assert_null(check_find("no-such-check"));
}

static void an_empty_tree_fails_nothing_that_it_cannot_see(void **state)
{
	struct tree t;
	struct check_result r;
	(void)state;
	tree_make(&t);
	for (const struct check *const *c = checks; *c; c++) {
		tree_check(&t, (*c)->id, &r);
		print_message("# %s: %s: %s\n", (*c)->id, check_outcome_text(r.outcome), r.evidence);
		assert_int_not_equal(r.outcome, CHECK_FAIL);
		assert_true(strlen(r.evidence) > 5);
		assert_null(strchr(r.evidence, '\n'));
	}
	tree_remove(&t);
}

static void what_needs_the_live_machine_is_skipped_with_that_reason(void **state)
{
	static const char *const live[] = { "libfabric", "fabric-providers", "nccl-plugin", "gpus", "clock" };
	struct tree t;
	struct check_result r;
	(void)state;
	tree_make(&t);
	for (size_t i = 0; i < sizeof(live) / sizeof(*live); i++) {
		tree_check(&t, live[i], &r);
		assert_int_equal(r.outcome, CHECK_SKIP);
		assert_non_null(strstr(r.evidence, "recorded tree"));
	}
	tree_remove(&t);
}

static void long_evidence_is_cut_and_says_so(void **state)
{
	struct check_result r = { 0 };
	(void)state;
	for (int i = 0; i < 200; i++)
		check_add(&r, "finding %d\nwith a line break", i);
	size_t len = strlen(r.evidence);
	assert_true(len < sizeof(r.evidence));
	assert_string_equal(r.evidence + len - 3, "...");
	assert_null(strchr(r.evidence, '\n'));
}

static void the_worst_finding_counts(void **state)
{
	struct check_result r = { 0 };
	(void)state;
	check_worsen(&r, CHECK_WARN);
	assert_int_equal(r.outcome, CHECK_WARN);
	check_worsen(&r, CHECK_FAIL);
	check_worsen(&r, CHECK_PASS);
	check_worsen(&r, CHECK_SKIP);
	assert_int_equal(r.outcome, CHECK_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_says_what_why_and_how_to_mend),
		cmocka_unit_test(an_empty_tree_fails_nothing_that_it_cannot_see),
		cmocka_unit_test(what_needs_the_live_machine_is_skipped_with_that_reason),
		cmocka_unit_test(long_evidence_is_cut_and_says_so),
		cmocka_unit_test(the_worst_finding_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
