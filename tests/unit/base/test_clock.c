/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/clock.h"

static void test_wall_text(void **state)
{
	(void)state;
	char text[CLOCK_TEXT_BYTES];
	clock_text(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00Z");
	clock_text_ms(1763700947123999999LL, text);
	assert_string_equal(text, "2025-11-21T04:55:47.123Z");
	clock_text_ms(-1, text);
	assert_string_equal(text, "1969-12-31T23:59:59.999Z");
	clock_text(INT64_MAX, text);
	assert_string_equal(text, "2262-04-11T23:47:16Z");
}

static void test_duration_text(void **state)
{
	(void)state;
	static const struct {
		int64_t ns;
		const char *want;
	} rows[] = {
		{ 0, "0.0s" },
		{ 400000000, "0.4s" },
		{ 12340000000, "12.3s" },
		{ 59940000000, "59.9s" },
		{ 59960000000, "1m00s" },
		{ 125000000000, "2m05s" },
		{ 3599960000000, "1h00m" },
		{ 3720000000000, "1h02m" },
		{ 360000000000000, "100h00m" },
		{ -5, "0.0s" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[CLOCK_TEXT_BYTES];
		clock_duration_text(rows[i].ns, text);
		assert_string_equal(text, rows[i].want);
	}
}

static void test_parse_duration(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t ms;
	} good[] = { { "250ms", 250 },
		     { "10s", 10000 },
		     { "2m", 120000 },
		     { "1h", 3600000 },
		     { "90", 90000 },
		     { "0", 0 },
		     { "4294967295ms", UINT32_MAX } };
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint32_t ms = 1;
		assert_int_equal(clock_parse_duration(good[i].text, &ms), 0);
		assert_int_equal(ms, good[i].ms);
	}
	static const char *const bad[] = { "",
					   "s",
					   "-1s",
					   "+1s",
					   "1.5s",
					   "1 s",
					   " 1s",
					   "1d",
					   "10sec",
					   "4294967296ms",
					   "4294968",
					   "1194h",
					   "99999999999999999999999s",
					   "0x10" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint32_t ms = 77;
		assert_int_equal(clock_parse_duration(bad[i], &ms), -EINVAL);
		assert_int_equal(ms, 77);
	}
}

static void test_sleep_takes_at_least_its_time(void **state)
{
	(void)state;
	int64_t before = clock_mono_ns();
	clock_sleep_ms(20);
	assert_true(clock_mono_ns() - before >= 20000000);
	assert_true(clock_wall_ns() > 1700000000000000000LL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wall_text),
		cmocka_unit_test(test_duration_text),
		cmocka_unit_test(test_parse_duration),
		cmocka_unit_test(test_sleep_takes_at_least_its_time),
	};
	return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
