/* SPDX-License-Identifier: MIT */
/* Ticks that people would choose, and plots that stay inside their frame whatever the numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prove/plot.h"

static void labels(const struct plot_axis *axis, double min, double max, unsigned wanted, const char *expected)
{
	struct plot_ticks t;
	char all[512] = "";
	plot_ticks_make(axis, min, max, wanted, &t);
	for (size_t i = 0; i < t.count; i++) {
		size_t n = strlen(t.label[i]);
		while (n && t.label[i][n - 1] == ' ')
			n--;
		strncat(all, i ? "|" : "", 2);
		strncat(all, t.label[i], n);
		assert_true(plot_ticks_place(axis, &t, t.at[i]) > -1e-6 &&
			    plot_ticks_place(axis, &t, t.at[i]) < 1 + 1e-6);
	}
	assert_string_equal(all, expected);
}

static void ticks_are_round(void **state)
{
	(void)state;
	const struct plot_axis bytes = { .scale = PLOT_LOG2, .unit = PLOT_BYTES };
	const struct plot_axis us = { .scale = PLOT_LOG10, .unit = PLOT_MICROSECONDS };
	const struct plot_axis rate = { .scale = PLOT_LINEAR, .from_zero = true };
	const struct plot_axis clock = { .scale = PLOT_LINEAR, .unit = PLOT_CLOCK };
	labels(&bytes, 8, 64 << 20, 8, "8|64|512|4K|32K|256K|2M|16M");
	labels(&bytes, 8, 64, 8, "8|16|32|64");
	labels(&us, 7.3, 4200, 5, "1 µs|10 µs|100 µs|1 ms|10 ms");
	labels(&rate, 0.2, 1.83, 5, "0|0.5|1|1.5|2");
	labels(&rate, 300, 300, 3, "0|100|200|300");
	labels(&clock, 1795237203, 1795237290, 4, "05:00:30|05:01:00|05:01:30");
}

static double attribute(const char *at, const char *name)
{
	const char *found = strstr(at, name);
	return found ? atof(found + strlen(name)) : (double)NAN;
}

static void odd_numbers_leave_gaps_and_never_leave_the_frame(void **state)
{
	const double x[] = { 1, 2, 0, 8, 16, 32, -1 }, y[] = { NAN, 5, 6, INFINITY, -3, 9, 9 };
	const struct plot_series s = { .name = "<b>&", .x = x, .y = y, .count = 7 };
	const struct plot p = { .id = "p",
				.title = "a <title>",
				.x = { "x", PLOT_LOG2, PLOT_BYTES },
				.y = { NULL, PLOT_LOG10 },
				.series = &s,
				.count = 1,
				.width = 300,
				.height = 200,
				.markers = true,
				.legend = true };
	AUTO_BUF b;
	(void)state;
	buf_init(&b, 1 << 16);
	assert_int_equal(plot_svg(&p, &b), 0);
	assert_null(strstr(b.data, "nan"));
	assert_null(strstr(b.data, "inf"));
	assert_null(strstr(b.data, "<b>"));
	assert_non_null(strstr(b.data, "&lt;b&gt;&amp;"));
	unsigned dots = 0;
	for (const char *c = strstr(b.data, "<circle"); c; c = strstr(c + 1, "<circle"), dots++) {
		assert_true(attribute(c, "cx=\"") >= 0 && attribute(c, "cx=\"") <= 300);
		assert_true(attribute(c, "cy=\"") >= 0 && attribute(c, "cy=\"") <= 200);
	}
	assert_int_equal(dots, 2 + 1); /* (2, 5), (32, 9) and the legend's */
}

static void nothing_to_draw_says_so(void **state)
{
	const double x[] = { 1 }, y[] = { NAN };
	const struct plot_series s = { .name = "s", .x = x, .y = y, .count = 1 };
	const struct plot p = { .id = "p", .title = "t", .series = &s, .count = 1, .width = 300, .height = 200 };
	AUTO_BUF b;
	(void)state;
	buf_init(&b, 1 << 16);
	assert_int_equal(plot_svg(&p, &b), 0);
	assert_non_null(strstr(b.data, "no data"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_round),
		cmocka_unit_test(odd_numbers_leave_gaps_and_never_leave_the_frame),
		cmocka_unit_test(nothing_to_draw_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
