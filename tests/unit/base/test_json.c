/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/json.h"
#include "scratch.h"

static const char stack[] = "{\n"                                         /* 1 */
			    "  \"name\": \"a\\\"}{][\",\n"                /* 2 */
			    "  \"list\": [ 1,\n"                          /* 3 */
			    "     [2, {\"x\": \"]\"}],\n"                 /* 4 */
			    "     {\"deep\":\n"                           /* 5 */
			    "        {\"a/b~c\": true}}\n"                /* 6 */
			    "  ],\n"                                      /* 7 */
			    "  \"\\u00e9\\n\": null, \"components\": {\n" /* 8 */
			    "     \"nccl\": \"2.26\",\n"                  /* 9 */
			    "\n"                                          /* 10 */
			    "     \"nccl-tests\": -1.5e3 }\n"             /* 11 */
			    "}\n";

static void test_lines(void **state)
{
	(void)state;
	static const struct {
		const char *pointer;
		int line;
	} rows[] = {
		{ "", 1 },
		{ "/name", 2 },
		{ "/list", 3 },
		{ "/list/0", 3 },
		{ "/list/1", 4 },
		{ "/list/1/1/x", 4 },
		{ "/list/2", 5 },
		{ "/list/2/deep", 5 },
		{ "/list/2/deep/a~1b~0c", 6 },
		{ "/\xc3\xa9\n", 8 },
		{ "/components", 8 },
		{ "/components/nccl", 9 },
		{ "/components/nccl-tests", 11 },
		/* not there: the nearest parent */
		{ "/components/efa", 8 },
		{ "/components/nccl/deeper", 9 },
		{ "/list/7", 3 },
		{ "/list/x", 3 },
		{ "/none/at/all", 1 },
	};
	AUTO(json_doc) d = NULL;
	struct err e = { 0 };
	if (json_doc_parse("s.json", stack, &d, &e) < 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (json_doc_line(d, rows[i].pointer) != rows[i].line)
			fail_msg("'%s': line %d, not %d", rows[i].pointer, json_doc_line(d, rows[i].pointer),
				 rows[i].line);
}

static void refuses_text(const char *text, const char *start)
{
	struct json_doc *d = (void *)1;
	struct err e = { 0 };
	assert_int_equal(json_doc_parse("f.json", text, &d, &e), -EINVAL);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE);
	if (strncmp(e.msg, start, strlen(start)) != 0)
		fail_msg("'%s' does not begin with '%s'", e.msg, start);
	assert_ptr_equal(d, (void *)1);
}

static void test_syntax_errors_name_the_place(void **state)
{
	(void)state;
	refuses_text("{\n  \"a\": 1,\n}", "f.json:3:1: ");
	refuses_text("{\n \"a\" 1}", "f.json:2:");
	refuses_text("{ \"a\": 1, \"a\": 2 }", "f.json:1:");
	refuses_text("{} x", "f.json:1:");
	refuses_text("", "f.json:1:1: the file is empty");
	refuses_text(" \n\n", "f.json:1:1: the file is empty");
	refuses_text("\"just text\"", "f.json:1:");
	refuses_text("{ \"a\": \"\xff\" }", "f.json:1:");
}

static void test_load(void **state)
{
	(void)state;
	AUTO(json_doc) d = NULL;
	struct err e = { 0 };
	put_file("f.json", "{\"a\": [1]}");
	assert_int_equal(json_doc_load(in_scratch("f.json"), &d, NULL), 0);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(d->root, "a"), 0)), 1);
	assert_string_equal(d->path, in_scratch("f.json"));

	struct json_doc *none = NULL;
	assert_int_equal(json_doc_load(in_scratch("none.json"), &none, &e), -ENOENT);
	assert_int_equal(err_exit_code(&e), EXIT_USAGE); /* the user's file name is wrong */
	assert_non_null(strstr(e.msg, "none.json"));
	assert_int_equal(json_doc_load(scratch, &none, &e), -EISDIR);
	AUTO_STR big = malloc((5 << 20) + 1);
	memset(big, ' ', 5 << 20);
	big[5 << 20] = '\0';
	put_file("big.json", big);
	assert_int_equal(json_doc_load(in_scratch("big.json"), &none, &e), -EFBIG);
	assert_null(none);
}

/* A NUL would end the text for everybody but the file. */
static void test_load_refuses_a_nul(void **state)
{
	(void)state;
	struct json_doc *d = NULL;
	struct err e = { 0 };
	assert_int_equal(fdio_write_file(AT_FDCWD, in_scratch("f"), "{}\0{}", 5, 0644, NULL), 0);
	assert_int_equal(json_doc_load(in_scratch("f"), &d, &e), -EINVAL);
	assert_null(d);
}

static const struct json_field fields[] = {
	{ "name", JSON_KIND_STRING, true },
	{ "count", JSON_KIND_INT, false },
	{ "on", JSON_KIND_BOOL, false },
	{ "env", JSON_KIND_OBJECT, false },
	{ "list", JSON_KIND_ARRAY, false },
	{ "any", JSON_KIND_ANY, false },
	{ 0 },
};

static void checks(const char *text, const char *at, const char *want)
{
	AUTO(json_doc) d = NULL;
	struct err e = { 0 };
	assert_int_equal(json_doc_parse("f.json", text, &d, NULL), 0);
	int rc = json_doc_check(d, at, fields, &e);
	if (want) {
		assert_int_equal(rc, -EINVAL);
		assert_int_equal(e.space, ERR_INPUT);
		assert_string_equal(e.msg, want);
	} else if (rc < 0) {
		fail_msg("%s", e.msg);
	}
}

static void test_check(void **state)
{
	(void)state;
	checks("{\"name\":\"x\",\"count\":1,\"on\":false,\"env\":{},\"list\":[],\"any\":null}", "", NULL);
	checks("{\"name\":\"x\",\n\"cuont\":1}", "", "f.json:2: unknown key 'cuont' (did you mean 'count'?)");
	checks("{\"name\":\"x\",\n\"zzzzzz\":1}", "",
	       "f.json:2: unknown key 'zzzzzz'; known here: name, count, on, env, list, any");
	checks("{\"name\":\n5}", "", "f.json:1: 'name' must be a string, not a number");
	checks("{\"name\":\"x\",\"count\":1.5}", "", "f.json:1: 'count' must be a whole number, not a fraction");
	checks("{\"name\":\"x\",\"count\":\"1\"}", "", "f.json:1: 'count' must be a whole number, not a string");
	checks("{\"name\":\"x\",\"on\":0}", "", "f.json:1: 'on' must be true or false, not a number");
	checks("{\"name\":\"x\",\"env\":[]}", "", "f.json:1: 'env' must be an object, not an array");
	checks("{\"name\":\"x\",\"list\":{}}", "", "f.json:1: 'list' must be an array, not an object");
	checks("{\"count\":1}", "", "f.json:1: the key 'name' (a string) is missing");
	checks("{\n\"x\":{\"y\":[{\"name\":\"n\"},\n{\"nam\":1}]}}", "/x/y/1",
	       "f.json:3: unknown key 'nam' (did you mean 'name'?)");
	checks("{\n\"x\":{\"y\":[{\"name\":\"n\"},\n{\"nam\":1}]}}", "/x/y/0", NULL);
	checks("{\n\"x\":\n7}", "/x", "f.json:2: 'x' must be an object, not a number");
	checks("{\n\"a/b\":\n{}}", "/a~1b", "f.json:2: the key 'name' (a string) is missing in a~1b");
}

static void test_error_has_file_and_line(void **state)
{
	(void)state;
	AUTO(json_doc) d = NULL;
	struct err e = { 0 };
	json_doc_parse("f.json", "{\"a\":\n{\"b\":\n1}}", &d, NULL);
	assert_int_equal(json_doc_error(d, "/a/b", &e, "version %d is not known", 1), -EINVAL);
	assert_string_equal(e.msg, "f.json:2: version 1 is not known");
}

static void test_print_keeps_order_and_reads_well(void **state)
{
	(void)state;
	AUTO_JSON j = json_pack("{s:s, s:i, s:f, s:[i]}", "z", "last", "a", 1, "f", 0.1, "l", 2);
	AUTO_STR text = NULL;
	size_t n;
	FILE *to = open_memstream(&text, &n);
	assert_int_equal(json_print(j, to), 0);
	fclose(to);
	assert_string_equal(text, "{\n  \"z\": \"last\",\n  \"a\": 1,\n  \"f\": 0.1,\n  \"l\": [\n    2\n  ]\n}\n");
	AUTO_FILE full = fopen("/dev/full", "we");
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(json_print(j, full), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_syntax_errors_name_the_place),
		scratch_test(test_load),
		scratch_test(test_load_refuses_a_nul),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_error_has_file_and_line),
		cmocka_unit_test(test_print_keeps_order_and_reads_well),
	};
	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
