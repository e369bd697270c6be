/* SPDX-License-Identifier: MIT */
/* What is wrong in a stack file is told with its line and its cure; nothing has been fetched or written by then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "fixture.h"

#define HEAD "{ \"stack\": 1, \"name\": \"t\", \"os\": \"tiny1\",\n\"components\": {\n"

struct refusal {
	const char *text;
	const char *line; /* ":3:" */
	const char *says;
};

static const struct refusal refusals[] = {
	{ "{ \"stack\": 1,\n \"name\" }", ":2:", "" },
	{ "", ":1:", "" },
	{ "[]", ":1:", "object" },
	{ "{ \"stack\": 1,\n \"nam\": \"t\" }", ":2:", "did you mean 'name'?" },
	{ "{ \"stack\": 1,\n \"name\": \"t\", \"os\": \"tiny1\" }", ":1:", "components" },
	{ "{ \"stack\": 2,\n \"name\": \"t\", \"os\": \"tiny1\", \"components\": {\"lib\": \"latest\"} }",
	  ":1:", "reads version 1" },
	{ "{ \"stack\": 1,\n \"name\": \"a/b\", \"os\": \"tiny1\", \"components\": {\"lib\": \"latest\"} }",
	  ":2:", "'a/b'" },
	{ "{ \"stack\": 1,\n \"name\": \"..\", \"os\": \"tiny1\", \"components\": {\"lib\": \"latest\"} }",
	  ":2:", "'..'" },
	{ "{ \"stack\": 1,\n \"name\": \"t\", \"os\": \"tinny1\", \"components\": {\"lib\": \"latest\"} }",
	  ":2:", "did you mean 'tiny1'?" },
	{ "{ \"stack\": 1, \"name\": \"t\", \"os\": \"tiny1\",\n\"components\": {} }", ":2:", "empty" },
	{ HEAD "\"lib\": 1 } }", ":3:", "not a string" },
	{ HEAD "\"lib\": \"\" } }", ":3:", "not a version" },
	{ HEAD "\"lib\": \"1.0 -o x\" } }", ":3:", "not a version" },
	{ HEAD "\"lib\": \"latest\",\n\"lib\": \"1\" } }", ":4:", "" },
	{ HEAD "\"lib\": \"latest\",\n\"Lib\": \"1\" } }", "", "'Lib' cannot be a component" },
	{ HEAD "\"lib\": \"latest\",\n\"libb\": \"1\" } }",
	  ":4:", "unknown component 'libb' (did you mean 'lib'?); known: elsewhere, " },
	{ HEAD "\"lib\": \"latest\",\n\"elsewhere\": \"1\" } }",
	  ":4:", "does not exist for tiny1; it does for: other1" },
	{ HEAD "\"lib\": \"latest\",\n\"tool\": \"=nope\" } }", ":4:", "does not list" },
	{ HEAD "\"lib\": \"=tool\",\n\"tool\": \"=lib\" } }", ":3:", "refers back" },
	{ HEAD "\"lib\": \"=lib\" } }", ":3:", "refers back" },
	{ HEAD "\"lib\": \"latest\" },\n\"env\": { \"A B\": \"1\" } }", ":4:", "'A B'" },
	{ HEAD "\"lib\": \"latest\" },\n\"env\": { \"A\": 1 } }", ":4:", "not a string" },
	{ HEAD "\"lib\": \"latest\" },\n\"env\": { \"A\": \"x\\ny\" } }", ":4:", "newline" },
};

static void each_mistake_names_its_line(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		struct err e = { 0 };
		struct plan *p = NULL;
		int rc = fixture_plan_text(f, refusals[i].text, false, &p, &e);
		if (rc != -EINVAL || err_exit_code(&e) != EXIT_USAGE)
			fail_msg("row %zu: rc %d, '%s'", i, rc, e.msg);
		AUTO_STR where = fdio_join(f->dir, "stack.json");
		if (!strstr(e.msg, where) || !strstr(e.msg, refusals[i].line) || !strstr(e.msg, refusals[i].says))
			fail_msg("row %zu: '%s' lacks '%s' or '%s'", i, e.msg, refusals[i].line, refusals[i].says);
		assert_null(strchr(e.msg, '\n'));
		assert_null(p);
	}
	AUTO_STR made = fdio_join(f->dir, "state");
	assert_false(fdio_exists(AT_FDCWD, made));
}

static void needs_that_go_round_name_the_components(void **state)
{
	struct fixture *f = *state;
	struct err e = { 0 };
	struct plan *p = NULL;
	static const char *const row =
		"\"help\": \"x\", \"os\": { \"tiny1\": { \"packages\": [\"liba\"], \"version_of\": \"liba\" } }";
	static const char *const ring[] = { "ra", "rb", "rc" };
	for (size_t i = 0; i < 3; i++) {
		AUTO_STR json = str_printf("{ \"component\": 1, \"name\": \"%s\", %s,\n\n \"needs\": [\"%s\"] }",
					   ring[i], row, ring[(i + 1) % 3]);
		fixture_component(f, ring[i], json);
	}
	assert_int_equal(fixture_plan(f, "\"ra\": \"latest\"", false, &p, &e), -EINVAL);
	assert_non_null(
		strstr(e.msg, "components/rc/component.json:3: components ra -> rb -> rc -> ra need each other"));
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
}

static void a_damaged_component_names_its_file(void **state)
{
	struct fixture *f = *state;
	static const struct refusal rows[] = {
		{ "{ \"component\": 1, \"name\": \"bad\", \"help\": \"x\",\n \"os\": { \"tiny1\": { \"packages\": "
		  "[\"-o\"], \"version_of\": \"x\" } } }",
		  ":2:", "not a package name" },
		{ "{ \"component\": 1, \"name\": \"bad\", \"help\": \"x\",\n \"os\": { \"tiny1\": { \"packages\": "
		  "[\"liba\"], \"version_of\": \"libc\" } } }",
		  ":2:", "not one of the packages" },
		{ "{ \"component\": 1, \"name\": \"bad\", \"help\": \"x\",\n \"os\": { \"tiny1\": { \"packages\": "
		  "[\"liba\"] } } }",
		  ":2:", "version_of" },
		{ "{ \"component\": 1, \"name\": \"good\", \"help\": \"x\",\n \"os\": {} }", ":1:", "folder" },
		{ "{ \"component\": 1, \"name\": \"bad\", \"help\": \"x\",\n \"os\": {}, \"sources\": [ { \"url\": "
		  "\"ftp://x\", \"sha256\": \"0\", \"file\": \"y\" } ] }",
		  ":2:", "ftp://x" },
		{ "{ \"component\": 1, \"name\": \"bad\", \"help\": \"x\",\n \"os\": {}, \"sources\": [ { \"url\": "
		  "\"https://x\", \"sha256\": \"0\", \"file\": \"y\" } ] }",
		  ":2:", "64" },
		{ "{ \"component\": 1, \"name\": \"bad\", \"help\": \"x\",\n \"os\": {}, \"needs\": [\"../lib\"] }",
		  ":2:", "entry 1" },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err e = { 0 };
		struct plan *p = NULL;
		fixture_component(f, "bad", rows[i].text);
		assert_int_equal(fixture_plan(f, "\"bad\": \"latest\"", false, &p, &e), -EINVAL);
		if (!strstr(e.msg, "components/bad/component.json") || !strstr(e.msg, rows[i].line) ||
		    !strstr(e.msg, rows[i].says))
			fail_msg("row %zu: '%s' lacks '%s' or '%s'", i, e.msg, rows[i].line, rows[i].says);
	}
}

static void what_is_no_file_is_a_wrong_argument(void **state)
{
	struct fixture *f = *state;
	struct err e = { 0 };
	AUTO(stack) s = NULL;
	AUTO_STR path = fdio_join(f->dir, "nothing.json");
	assert_true(stack_load(path, &s, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	assert_true(stack_load(f->dir, &s, &e) < 0);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	assert_null(s);
}

static int setup(void **state)
{
	static struct fixture f;
	fixture_init(&f);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture_fini(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_mistake_names_its_line, setup, teardown),
		cmocka_unit_test_setup_teardown(needs_that_go_round_name_the_components, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_component_names_its_file, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_a_wrong_argument, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
