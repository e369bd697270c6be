/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "watch/record.h"

static const struct record_origin origin = { "node-1", "b00t" };

/* The event that a kernel record becomes; NULL: not an event. */
static struct record *event_of(unsigned facility, const char *text)
{
	static struct kmsg_record k;
	struct xid x;
	k = (struct kmsg_record){ .seq = 17, .facility = facility };
	snprintf(k.text, sizeof(k.text), "%s", text);
	return xid_parse(text, &x) ? record_of_xid(&origin, 0, &k, &x) : NULL;
}

static void member(const struct record *r, const char *key, const char *want)
{
	AUTO_JSON j = json_loads(r->json, 0, NULL);
	const char *got = json_string_value(json_object_get(j, key));
	assert_string_equal(got ? got : "(none)", want);
}

static json_int_t number(const struct record *r, const char *key)
{
	AUTO_JSON j = json_loads(r->json, 0, NULL);
	const json_t *v = json_object_get(j, key);
	return v ? json_integer_value(v) : -1;
}

static void test_an_xid_with_its_meaning(void **state)
{
	AUTO(record) r = event_of(0, "NVRM: Xid (PCI:0000:52:1c): 63, pid=4711, name=train, Row Remapper: New row");
	(void)state;
	/* sink_file looks for exactly this beginning. */
	assert_memory_equal(r->json, "{\"kind\":\"event\",\"id\":\"b00t:17\",", 31);
	assert_string_equal(r->id, "b00t:17");
	assert_null(strchr(r->json, '\n'));
	member(r, "time", "1970-01-01T00:00:00.000Z");
	member(r, "host", "node-1");
	member(r, "boot_id", "b00t");
	member(r, "origin", "kernel");
	member(r, "source", "kmsg");
	member(r, "device", "0000:52:1c.0");
	member(r, "type", "xid");
	member(r, "name", "INFOROM_DRAM_RETIREMENT_EVENT");
	member(r, "severity", "warning");
	member(r, "process", "train");
	member(r, "text", "NVRM: Xid (PCI:0000:52:1c): 63, pid=4711, name=train, Row Remapper: New row");
	assert_int_equal(number(r, "code"), 63);
	assert_int_equal(number(r, "pid"), 4711);
	assert_int_equal(number(r, "link"), -1);
}

static void test_what_user_space_writes_is_said_to_be_so(void **state)
{
	AUTO(record) r = event_of(1, "NVRM: Xid (PCI:0000:52:00): 79, GPU has fallen off the bus.");
	AUTO_STR line = record_readable(r);
	(void)state;
	member(r, "origin", "user");
	assert_non_null(strstr(line, "Xid 79 on 0000:52:00.0"));
	assert_non_null(strstr(line, "not by the kernel"));
}

static void test_an_unknown_code_is_kept(void **state)
{
	AUTO(record) r = event_of(0, "NVRM: Xid (PCI:0000:52:00): 9999, what is this");
	(void)state;
	assert_int_equal(number(r, "code"), 9999);
	member(r, "name", "UNKNOWN");
	member(r, "severity", "error");
}

/* Xid 154 and NVLink 5 lines say more than the table can. */
static void test_the_line_overrides_the_table(void **state)
{
	static const struct {
		const char *line, *severity;
	} cases[] = {
		{ "NVRM: Xid (PCI:0000:52:00): 154, GPU recovery action changed from 0x4 (x) to 0x0 (None)", "info" },
		{ "NVRM: Xid (PCI:0000:52:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (x)", "fatal" },
		{ "NVRM: Xid (PCI:0000:52:00): 154, GPU recovery action changed from 0x0 (None) to 0x77 (x)", "error" },
		{ "NVRM: Xid (PCI:0000:52:00): 149, NETIR Nonfatal XC0 i0 Link 03 (0x0", "warning" },
		{ "NVRM: Xid (PCI:0000:52:00): 149, NETIR Fatal XC0 i0 Link 03 (0x0", "fatal" },
		{ "NVRM: Xid (PCI:0000:52:00): 79, pid=1, name=a, Nonfatal, GPU has fallen off the bus.", "fatal" },
		{ "nvidia-nvswitch0: SXid (PCI:0000:26:00.0): 12028, Non-fatal, Link 32 x", "warning" },
		{ "nvidia-nvswitch0: SXid (PCI:0000:26:00.0): 24007, Fatal, Link 28 x", "fatal" },
		{ "nvidia-nvswitch0: SXid (PCI:0000:26:00.0): 26006, SOE HALTED", "error" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(record) r = event_of(0, cases[i].line);
		member(r, "severity", cases[i].severity);
	}
}

static void test_a_gpu_that_is_lost_without_an_xid(void **state)
{
	AUTO(record) r =
		event_of(0, "NVRM: The NVIDIA GPU 0000:52:00.0\nNVRM: (PCI ID: 1:2) installed in this system has\n"
			    "NVRM: fallen off the bus and is not responding to commands.");
	(void)state;
	member(r, "type", "fell-off-bus");
	member(r, "severity", "fatal");
	assert_int_equal(number(r, "code"), -1);
	assert_null(strchr(r->json, '\n'));
}

/* Text that anyone may have written: not UTF-8, and escapes for the terminal. */
static void test_hostile_text(void **state)
{
	AUTO(record) r = event_of(1, "NVRM: Xid (PCI:0000:52:00): 13, pid=1, name=\xff\x1b[2J\", x\x1b]0;owned\x07");
	AUTO_JSON j = json_loads(r->json, JSON_REJECT_DUPLICATES, NULL);
	AUTO_STR line = record_readable(r);
	(void)state;
	assert_non_null(j);
	assert_null(strchr(line, '\x1b'));
	assert_null(strchr(line, '\x07'));
	assert_null(strchr(line, '\n'));
}

static void test_events_of_the_agent(void **state)
{
	AUTO(record) gap = record_of_gap(&origin, 0, 10, 19);
	AUTO(record) hung = record_of_hung_nvml(&origin, 5, 10000);
	(void)state;
	assert_string_equal(gap->id, "b00t:gap-10-19");
	member(gap, "type", "kmsg-gap");
	assert_int_equal(number(gap, "lost"), 10);
	assert_int_equal(number(gap, "first"), 10);
	assert_int_equal(number(gap, "last"), 19);
	member(hung, "type", "nvml-hung");
	member(hung, "severity", "error");
	assert_string_not_equal(hung->id, gap->id);
}

static void test_metrics_say_that_they_are_simulated(void **state)
{
	AUTO_JSON about = json_pack("{si s{sf}}", "gpu", 1, "values", "power_watts", 1.5);
	AUTO(record) r = record_of_metrics(&origin, 0, true, about);
	AUTO(record) real = record_of_metrics(&origin, 0, false, about);
	(void)state;
	assert_string_equal(r->json, "{\"kind\":\"metrics\",\"time\":\"1970-01-01T00:00:00.000Z\",\"host\":\"node-1\","
				     "\"simulated\":true,\"gpu\":1,\"values\":{\"power_watts\":1.5}}");
	assert_non_null(strstr(real->json, "\"simulated\":false"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_xid_with_its_meaning),
		cmocka_unit_test(test_what_user_space_writes_is_said_to_be_so),
		cmocka_unit_test(test_an_unknown_code_is_kept),
		cmocka_unit_test(test_the_line_overrides_the_table),
		cmocka_unit_test(test_a_gpu_that_is_lost_without_an_xid),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_events_of_the_agent),
		cmocka_unit_test(test_metrics_say_that_they_are_simulated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
