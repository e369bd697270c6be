/* SPDX-License-Identifier: MIT */
/* The contract of every kind of output, held against each row of the table. */
#include "tree.h"

#include <sys/wait.h>

#include "bake/target.h"

static void rows_are_whole_and_found_by_name(void **state)
{
	(void)state;
	size_t n = 0;
	for (; target_rows[n]; n++) {
		const struct bake_target *t = target_rows[n];
		assert_true(t->name && *t->name && t->help && *t->help && t->suffix && t->suffix[0] == '.');
		assert_true(t->check && t->is_made && t->write);
		assert_ptr_equal(target_find(t->name), t);
	}
	assert_true(n >= 2);
	assert_null(target_find("floppy"));
}

static void check_refuses_what_cannot_be_written(void **state)
{
	(void)state;
	tree_file("folder/precious", "text", 0644);
	AUTO_STR nowhere = tree_path("no/such/output");
	AUTO_STR taken = tree_path("folder");
	AUTO_STR fine = tree_path("output");
	for (size_t i = 0; target_rows[i]; i++) {
		const struct bake_target *t = target_rows[i];
		struct err e = { 0 };
		if (t->check(fine, &e) == -ELIBACC)
			continue; /* its program is not installed here */
		assert_int_equal(e.code, 0);
		assert_true(t->check(nowhere, &e) < 0);
		assert_int_equal(err_exit_code(&e), EXIT_USAGE);
		assert_non_null(strstr(e.msg, "no/such"));
		assert_true(t->check(taken, &e) < 0);
		assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	}
}

static void nothing_is_not_made(void **state)
{
	(void)state;
	struct plan plan = { .stack_name = "t", .os = "debian12", .key = "k" };
	AUTO_STR output = tree_path("output");
	struct target_input in = { .plan = &plan, .output = output };
	struct target_output out = { 0 };
	for (size_t i = 0; target_rows[i]; i++)
		assert_false(target_rows[i]->is_made(&in, &out));
	tree_file("output", "something else", 0644);
	for (size_t i = 0; target_rows[i]; i++)
		assert_false(target_rows[i]->is_made(&in, &out));
}

static void the_stack_wins_over_the_components_environment(void **state)
{
	(void)state;
	char *own[] = { "A=component", "B=component", NULL };
	char *stack[] = { "A=stack", "AB=c=d", NULL };
	struct plan_step step = { .image_env = own };
	struct plan plan = { .env = stack, .steps = &step, .step_count = 1 };
	AUTO_STRINGS env = NULL;
	assert_int_equal(target_env(&plan, &env, NULL), 0);
	assert_int_equal(strncmp(env[0], "PATH=", 5), 0);
	assert_string_equal(env[1], "A=stack");
	assert_string_equal(env[2], "B=component");
	assert_string_equal(env[3], "AB=c=d");
	assert_null(env[4]);
}

static void only_left_overs_of_the_dead_are_removed(void **state)
{
	(void)state;
	pid_t dead = fork();
	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	AUTO_STR gone = str_printf("x.oci.new-%d/blobs/b", (int)dead);
	AUTO_STR mine = str_printf("x.oci.new-%d", (int)getpid());
	AUTO_STR other = str_printf("y.oci.new-%d", (int)dead);
	AUTO_STR named = str_printf("x.oci.new-%d.tar", (int)dead);
	const char *kept[] = { mine, other, named, "x.oci" };
	tree_file(gone, "half", 0644);
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		tree_file(kept[i], "text", 0644);
	AUTO_STR output = tree_path("x.oci");
	target_remove_left_overs(output);
	AUTO_STR half = tree_path(gone);
	assert_false(fdio_exists(AT_FDCWD, half));
	for (size_t i = 0; i < COUNT_OF(kept); i++) {
		AUTO_STR path = tree_path(kept[i]);
		assert_true(fdio_exists(AT_FDCWD, path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole_and_found_by_name),
		cmocka_unit_test_setup_teardown(check_refuses_what_cannot_be_written, tree_setup, tree_teardown),
		cmocka_unit_test_setup_teardown(nothing_is_not_made, tree_setup, tree_teardown),
		cmocka_unit_test(the_stack_wins_over_the_components_environment),
		cmocka_unit_test_setup_teardown(only_left_overs_of_the_dead_are_removed, tree_setup, tree_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
