/* SPDX-License-Identifier: MIT */
/* The page from result files: verdicts, differences, escaping, what is missing, what is malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "prove/report.h"
#include "prove/report_html.h"

#define EVENT(id, origin, severity, process)                                              \
	"{\"kind\":\"event\",\"id\":\"" id                                                \
	"\",\"time\":\"2026-11-21T05:00:30.123Z\",\"host\":\"a\",\"origin\":\"" origin    \
	"\",\"device\":\"0000:03:00.0\",\"code\":79,\"type\":\"xid\",\"meaning\":\"fell " \
	"off\",\"severity\":\"" severity                                                  \
	"\",\"nvidia_action\":\"reset\",\"ec2_action\":\"stop and start\",\"pid\":7,\"process\":\"" process "\"}\n"
#define METRICS                                                                                                \
	"{\"kind\":\"metrics\",\"time\":\"2026-11-21T05:00:30Z\",\"host\":\"a\",\"simulated\":true,\"gpu\":0," \
	"\"uuid\":\"GPU-1\",\"name\":\"H100\","                                                                \
	"\"values\":{\"temperature_celsius\":51.5}}\n"
#define NODE(host, result)                                                                          \
	"{\"kiln\":\"prove node\",\"version\":1,\"host\":\"" host                                   \
	"\",\"checks\":[{\"id\":\"memlock\",\"result\":\"" result "\",\"evidence\":\"seen on " host \
	"\",\"mend\":\"raise it\",\"source\":\"https://example.org/x\"}]}"
#define REDUCE(wrong)                                                                                                 \
	"{\"kiln\":\"prove "                                                                                          \
	"all_reduce\",\"version\":3,\"results\":[{\"size\":8,\"count\":2,\"type\":\"float\",\"redop\":\"sum\","       \
	"\"root\":\"-1\",\"out_of_place\":{\"time\":20.1,\"alg_bw\":0.1,\"bus_bw\":0.1,\"nwrong\":" wrong             \
	"},\"in_place\":{\"time\":20.1,\"alg_bw\":0.1,\"bus_bw\":0.1,\"nwrong\":0}}],\"out_of_bounds\":{\"count\":0," \
	"\"okay\":true},"                                                                                             \
	"\"average_bus_bandwidth\":{\"bandwidth\":0.1,\"okay\":true}}"

static char *page_of(const struct report *r)
{
	struct buf b;
	struct err e = { 0 };
	buf_init(&b, 16 << 20);
	assert_int_equal(report_page(r, &b, &e), 0);
	return buf_steal(&b);
}

static struct report *new_report(void)
{
	struct report *r = NULL;
	assert_int_equal(report_new("T <i>", 1795237200000000000, &r, NULL), 0);
	return r;
}

static void add(struct report *r, const char *text)
{
	struct err e = { 0 };
	if (report_add_text(r, "x.json", text, &e) < 0)
		fail_msg("%s", e.msg);
}

static void text_from_results_is_only_text(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, EVENT("1", "kernel", "fatal", "</td><script>alert(1)</script>\\u202e\\u0007'\\\""));
	AUTO_STR page = page_of(r);
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "\xe2\x80\xae"));
	assert_null(strchr(page, 7));
	assert_non_null(strstr(page, "&lt;/td&gt;&lt;script&gt;alert(1)"));
	assert_non_null(strstr(page, "<h1>T &lt;i&gt;</h1>"));
}

static void nothing_is_loaded_and_links_are_https(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, NODE("a", "warn"));
	add(r,
	    "{\"kiln\":\"prove "
	    "node\",\"host\":\"b\",\"checks\":[{\"id\":\"clock\",\"result\":\"warn\",\"evidence\":\"e\",\"mend\":\"m\","
	    "\"source\":\"javascript:alert(1)\"}]}");
	AUTO_STR page = page_of(r);
	assert_non_null(strstr(page, "href=\"https://example.org/x\""));
	assert_null(strstr(page, "href=\"javascript"));
	assert_null(strstr(page, "src="));
	assert_null(strstr(page, "url("));
	assert_null(strstr(page, "@import"));
	assert_non_null(strstr(page, "default-src 'none'"));
}

static void a_missing_part_says_which_command_makes_it(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, NODE("a", "pass"));
	AUTO_STR page = page_of(r);
	assert_non_null(strstr(page, "kiln bake oci STACK --json"));
	assert_non_null(strstr(page, "all_reduce_perf"));
	assert_null(strstr(page, "kiln prove node --json, on each node"));
	assert_int_equal(report_verdict(r), CHECK_PASS);
}

static void nodes_that_differ_are_marked(void **state)
{
	(void)state;
	AUTO(report) same = new_report();
	add(same, NODE("a", "pass"));
	add(same, NODE("b", "pass"));
	AUTO_STR one = page_of(same);
	assert_null(strstr(one, "class=\"differs\""));
	AUTO(report) unlike = new_report();
	add(unlike, NODE("a", "pass"));
	add(unlike, NODE("b", "fail"));
	AUTO_STR two = page_of(unlike);
	assert_non_null(strstr(two, "class=\"differs\""));
	assert_non_null(strstr(two, "<b>b</b>: seen on b"));
	assert_int_equal(report_verdict(unlike), CHECK_FAIL);
}

static void one_wrong_element_fails(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, REDUCE("0"));
	assert_int_equal(report_verdict(r), CHECK_PASS);
	add(r, REDUCE("1"));
	assert_int_equal(report_verdict(r), CHECK_FAIL);
}

static void one_bad_message_fails(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, "{\"kiln\":\"prove transfer\",\"messages\":255,\"verified\":true,\"verdict\":\"pass\","
	       "\"bursts\":[{\"from\":0,\"to\":1,\"received\":255,\"bad\":0},{\"from\":1,\"to\":0,\"received\":255,"
	       "\"bad\":0}],"
	       "\"sizes\":[]}");
	assert_int_equal(report_verdict(r), CHECK_PASS);
	add(r, "{\"kiln\":\"prove transfer\",\"messages\":255,\"verified\":false,\"verdict\":\"fail\","
	       "\"bursts\":[{\"from\":0,\"to\":1,\"received\":255,\"bad\":1}],\"sizes\":[]}");
	assert_int_equal(report_verdict(r), CHECK_FAIL);
}

static void a_gpu_that_did_not_answer_fails(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, METRICS
	    "{\"kind\":\"metrics\",\"time\":\"2026-11-21T05:00:31Z\",\"host\":\"a\",\"simulated\":false,\"gpu\":1,"
	    "\"error\":\"GPU is lost <b>\"}\n");
	assert_int_equal(report_verdict(r), CHECK_FAIL);
	AUTO_STR page = page_of(r);
	assert_non_null(strstr(page, "GPU is lost &lt;b&gt;"));
}

static void one_sample_of_the_gpus_is_taken_too(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, "{\"kiln\":\"watch "
	       "once\",\"version\":1,\"time\":\"2026-11-21T05:00:31Z\",\"host\":\"a\",\"simulated\":true,"
	       "\"gpus\":[{\"gpu\":0,\"name\":\"H100\",\"values\":{\"power_watts\":612.5}}]}");
	AUTO_STR page = page_of(r);
	assert_non_null(strstr(page, "Power, W"));
	assert_non_null(strstr(page, "class=\"simulated\""));
}

static void a_text_that_was_cut_inside_a_character_stays_utf8(void **state)
{
	AUTO_BUF b;
	(void)state;
	buf_init(&b, 1024);
	html_text(&b, "a\xc2\xb5 \xc2");
	assert_string_equal(b.data, "a\xc2\xb5 \xef\xbf\xbd");
}

static void what_a_process_wrote_is_shown_and_not_judged(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, EVENT("1", "user", "fatal", "x") EVENT("1", "user", "fatal", "x"));
	assert_int_equal(json_array_size(r->events), 1); /* the same event from two sinks is one */
	assert_int_equal(report_verdict(r), CHECK_PASS);
	AUTO_STR page = page_of(r);
	assert_non_null(strstr(page, "a process"));
	add(r, EVENT("2", "kernel", "fatal", "x"));
	assert_int_equal(report_verdict(r), CHECK_FAIL);
}

static void simulated_numbers_are_labelled_twice(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, METRICS);
	AUTO_STR page = page_of(r);
	const char *first = strstr(page, "class=\"simulated\"");
	assert_non_null(first);
	assert_non_null(strstr(first + 1, "class=\"simulated\"")); /* in the summary and in the section */
}

static void malformed_files_name_file_line_and_cause(void **state)
{
	static const struct {
		const char *path, *text, *says;
	} bad[] = {
		{ "r.json", "", "r.json: the file is empty" },
		{ "r.json", "{\n  \"kiln\": \"plan\",\n  \"steps\": [\n", "r.json:" },
		{ "r.json", "[1, 2]", "an object is wanted" },
		{ "r.json", "{\"a\": 1}", "no \"kiln\" key" },
		{ "r.json", "{\"kiln\": \"explain\"}", "'kiln explain' has no place" },
		{ "r.json", "{\"kiln\": \"prove node\", \"checks\": 3}", "'checks' is missing or is not a list" },
		{ "r.json", "{\"kiln\": \"prove all_reduce\", \"results\": [1]}", "'results' is missing" },
		{ "r.jsonl", METRICS "{\"kind\":\"event\",", "r.jsonl:2:" },
		{ "r.jsonl", METRICS "{\"a\":1}\n", "r.jsonl:2: not a line of kiln watch" },
		{ "r.jsonl", "{\"kind\":\"metrics\",\"values\":[]}\n", "r.jsonl:1: 'values'" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err e = { 0 };
		AUTO(report) r = new_report();
		assert_true(report_add_text(r, bad[i].path, bad[i].text, &e) < 0);
		print_message("# %s\n", e.msg);
		assert_int_equal(err_exit_code(&e), EXIT_USAGE);
		assert_non_null(strstr(e.msg, bad[i].says));
	}
}

static void a_watch_that_saw_nothing_is_good_news(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	assert_int_equal(report_add_text(r, "gpuevent.log", "\n", NULL), 0);
	AUTO_STR page = page_of(r);
	assert_non_null(strstr(page, "No event was seen"));
}

static void results_that_lack_fields_still_make_a_page(void **state)
{
	(void)state;
	AUTO(report) r = new_report();
	add(r, "{\"kiln\":\"bake\"}");
	add(r, "{\"kiln\":\"plan\",\"steps\":[{}]}");
	add(r, "{\"kiln\":\"launch up\",\"nodes\":[{}]}");
	add(r, "{\"kiln\":\"prove node\",\"checks\":[{}]}");
	add(r, "{\"kiln\":\"prove transfer\",\"sizes\":[{}]}");
	add(r, "{\"kiln\":\"prove all_reduce\",\"results\":[{}]}");
	add(r, "{\"kind\":\"event\"}\n{\"kind\":\"metrics\",\"values\":{\"a\":null}}\n");
	AUTO_STR page = page_of(r);
	assert_null(strstr(page, ">nan"));
	assert_null(strstr(page, "-nan"));
	assert_null(strstr(page, "(null)"));
}

static void times_are_read_as_utc(void **state)
{
	(void)state;
	assert_true(html_time("2026-11-21T05:00:03.250Z") == 1795237203.25);
	assert_true(isnan(html_time("yesterday")));
	assert_true(isnan(html_time("2026-11-21T05:00:03+01:00")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_from_results_is_only_text),
		cmocka_unit_test(nothing_is_loaded_and_links_are_https),
		cmocka_unit_test(a_missing_part_says_which_command_makes_it),
		cmocka_unit_test(nodes_that_differ_are_marked),
		cmocka_unit_test(one_wrong_element_fails),
		cmocka_unit_test(one_bad_message_fails),
		cmocka_unit_test(a_gpu_that_did_not_answer_fails),
		cmocka_unit_test(one_sample_of_the_gpus_is_taken_too),
		cmocka_unit_test(a_text_that_was_cut_inside_a_character_stays_utf8),
		cmocka_unit_test(what_a_process_wrote_is_shown_and_not_judged),
		cmocka_unit_test(simulated_numbers_are_labelled_twice),
		cmocka_unit_test(malformed_files_name_file_line_and_cause),
		cmocka_unit_test(a_watch_that_saw_nothing_is_good_news),
		cmocka_unit_test(results_that_lack_fields_still_make_a_page),
		cmocka_unit_test(times_are_read_as_utc),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
