/* SPDX-License-Identifier: MIT */
/* Checks in processes of their own: one that hangs or crashes takes no other with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>

#include "prove/node.h"
#include "tree.h"

static int good(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)c;
	(void)e;
	puts("a library that prints"); /* must not reach our standard output */
	ret->simulated = true;
	return check_pass(ret, "fine <&\"> fine");
}

static int hangs(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)c;
	(void)ret;
	(void)e;
	signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
	return 0;
}

static int crashes(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)c;
	(void)ret;
	(void)e;
	signal(SIGSEGV, SIG_DFL); /* the sanitizers' handler would turn it into an exit */
	raise(SIGSEGV);
	return 0;
}

static int exits(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)c;
	(void)ret;
	(void)e;
	_exit(7);
}

static int cannot(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)c;
	(void)ret;
	return err_set(e, -EACCES, "cannot read '/dev/x': Permission denied");
}

static int warns(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)c;
	(void)e;
	check_mend(ret, "do that instead");
	return check_warn(ret, "hm");
}

#define ROW(f, s) static const struct check row_##f = { #f, "what " #f, s, "why", "mend " #f, "https://x", f }
ROW(good, CHECK_FAIL);
ROW(hangs, CHECK_FAIL);
ROW(crashes, CHECK_FAIL);
ROW(exits, CHECK_WARN);
ROW(cannot, CHECK_FAIL);
ROW(warns, CHECK_WARN);

static struct node_report *run(const struct check *const *rows, uint32_t deadline_ms)
{
	struct tree t;
	struct node_report *n = NULL;
	struct err e = { 0 };
	tree_make(&t);
	tree_file(&t, "/proc/sys/kernel/hostname", "node-a\n");
	assert_int_equal(node_run(&t.w, rows, deadline_ms, &n, &e), 0);
	tree_remove(&t);
	return n;
}

static void a_hanging_check_is_skipped_and_the_rest_goes_on(void **state)
{
	const struct check *const rows[] = { &row_hangs, &row_good, &row_hangs, &row_warns, NULL };
	(void)state;
	AUTO(node_report) n = run(rows, 200);
	assert_int_equal(n->rows[0].result.outcome, CHECK_SKIP);
	assert_string_equal(n->rows[0].result.evidence, "no answer in 0.2 s");
	assert_int_equal(n->rows[1].result.outcome, CHECK_PASS);
	assert_int_equal(n->rows[2].result.outcome, CHECK_SKIP);
	assert_int_equal(n->rows[3].result.outcome, CHECK_WARN);
	assert_true(n->ns >= 200000000 && n->ns < 5000000000);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

static void a_crash_gets_the_rows_severity_and_names_the_signal(void **state)
{
	const struct check *const rows[] = { &row_crashes, &row_exits, &row_good, NULL };
	(void)state;
	AUTO(node_report) n = run(rows, 5000);
	assert_int_equal(n->rows[0].result.outcome, CHECK_FAIL);
	assert_non_null(strstr(n->rows[0].result.evidence, "Segmentation fault"));
	assert_int_equal(n->rows[1].result.outcome, CHECK_WARN);
	assert_non_null(strstr(n->rows[1].result.evidence, "status 7"));
	assert_int_equal(n->rows[2].result.outcome, CHECK_PASS);
	assert_int_equal(node_verdict(n), CHECK_FAIL);
}

static void what_cannot_be_told_is_a_skip_with_the_reason(void **state)
{
	const struct check *const rows[] = { &row_cannot, NULL };
	(void)state;
	AUTO(node_report) n = run(rows, 5000);
	assert_int_equal(n->rows[0].result.outcome, CHECK_SKIP);
	assert_non_null(strstr(n->rows[0].result.evidence, "Permission denied"));
	assert_int_equal(node_verdict(n), CHECK_SKIP);
}

static void json_has_the_published_shape(void **state)
{
	const struct check *const rows[] = { &row_good, &row_warns, &row_cannot, NULL };
	const char *kiln, *host, *root, *verdict, *result, *mend;
	int version, simulated, pass, warn, fail, skip;
	double seconds;
	json_t *list;
	json_error_t why;
	(void)state;
	AUTO(node_report) n = run(rows, 5000);
	json_t *j = node_json(n);
	assert_int_equal(json_unpack_ex(j, &why, 0,
					"{s:s, s:i, s:s, s:s, s:b, s:F, s:s, s:{s:i, s:i, s:i, s:i !}, s:o !}", "kiln",
					&kiln, "version", &version, "host", &host, "root", &root, "simulated",
					&simulated, "seconds", &seconds, "verdict", &verdict, "counts", "pass", &pass,
					"warn", &warn, "fail", &fail, "skip", &skip, "checks", &list),
			 0);
	assert_string_equal(kiln, "prove node");
	assert_string_equal(host, "node-a");
	assert_string_equal(verdict, "warn");
	assert_true(simulated);
	assert_int_equal(pass * 100 + warn * 10 + skip, 111);
	assert_int_equal(fail, 0);
	assert_int_equal(json_unpack(json_array_get(list, 1), "{s:s, s:s}", "result", &result, "mend", &mend), 0);
	assert_string_equal(result, "warn");
	assert_string_equal(mend, "do that instead");
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "mend")), "");
	json_decref(j);
}

static void junit_is_escaped_and_counts(void **state)
{
	const struct check *const rows[] = { &row_good, &row_crashes, &row_cannot, NULL };
	(void)state;
	AUTO(node_report) n = run(rows, 5000);
	AUTO_BUF xml;
	buf_init(&xml, 1 << 16);
	assert_int_equal(node_junit(n, &xml), 0);
	assert_non_null(strstr(xml.data, "tests=\"3\" failures=\"1\" skipped=\"1\""));
	assert_non_null(strstr(xml.data, "fine &lt;&amp;&quot;&gt; fine"));
	assert_non_null(strstr(xml.data, "<failure message="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hanging_check_is_skipped_and_the_rest_goes_on),
		cmocka_unit_test(a_crash_gets_the_rows_severity_and_names_the_signal),
		cmocka_unit_test(what_cannot_be_told_is_a_skip_with_the_reason),
		cmocka_unit_test(json_has_the_published_shape),
		cmocka_unit_test(junit_is_escaped_and_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
