/* SPDX-License-Identifier: MIT */
/* Collectives: bus bandwidth and time over size, and the table that nccl-tests prints. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "prove/plot.h"
#include "prove/report_section.h"
#include "prove/report_series.h"

static bool is_there(const struct report *r)
{
	return json_array_size(r->collectives) > 0;
}

/* nccl-tests' own files have no "kiln" key and do not name the collective. */
static const char *name(const json_t *c)
{
	const char *kiln = html_json_str(c, "kiln");
	return strncmp(kiln, "prove ", 6) == 0 ? kiln + 6 : "collective";
}

static double wrong(const json_t *c)
{
	static const char *const halves[] = { "out_of_place", "in_place" };
	size_t i;
	json_t *row;
	double n = 0;
	json_array_foreach (json_object_get(c, "results"), i, row) {
		for (int h = 0; h < 2; h++) {
			double one = html_json_num(json_object_get(row, halves[h]), "nwrong");
			n += isnan(one) ? 0 : one;
		}
	}
	return n;
}

/* nccl-tests writes "okay" as a boolean, or as a string. */
static bool is_refused(const json_t *of)
{
	return json_is_false(json_object_get(of, "okay")) || strcmp(html_json_str(of, "okay"), "false") == 0;
}

static enum check_outcome judge(const json_t *c)
{
	const json_t *bounds = json_object_get(c, "out_of_bounds");
	const json_t *rate = json_object_get(c, "average_bus_bandwidth");
	if (wrong(c) > 0 || html_json_num(bounds, "count") > 0 || is_refused(bounds) || is_refused(rate) ||
	    report_outcome(html_json_str(c, "verdict")) == CHECK_FAIL)
		return CHECK_FAIL;
	return json_array_size(json_object_get(c, "results")) ? CHECK_PASS : CHECK_FAIL;
}

static void summarize(const struct report *r, struct report_summary *ret)
{
	char rate[HTML_TEXT_BYTES];
	size_t i;
	json_t *c;
	json_array_foreach (r->collectives, i, c)
		ret->outcome = i ? report_worse(ret->outcome, judge(c)) : judge(c);
	c = json_array_get(r->collectives, 0);
	html_number(html_json_num(json_object_get(c, "average_bus_bandwidth"), "bandwidth"), rate);
	snprintf(ret->text, sizeof(ret->text), "%s: %.0f wrong over %zu sizes; average bus bandwidth %s GB/s", name(c),
		 wrong(c), json_array_size(json_object_get(c, "results")), rate);
}

struct halves {
	const char *id, *title, *desc, *key;
	struct plot_axis y;
};

static void one_plot(const json_t *rows, size_t nth, const struct halves *h, struct buf *to)
{
	char id[40];
	size_t n = json_array_size(rows);
	AUTO_SERIES size = report_series_of(rows, NULL, "size");
	AUTO_SERIES out = report_series_of(rows, "out_of_place", h->key);
	AUTO_SERIES in = report_series_of(rows, "in_place", h->key);
	if (!size || !out || !in)
		return;
	snprintf(id, sizeof(id), "collective-%zu-%s", nth, h->id);
	const struct plot_series series[] = {
		{ .name = "out of place", .x = size, .y = out, .count = n, .colour = 0 },
		{ .name = "in place", .x = size, .y = in, .count = n, .colour = 1, .dashed = true },
	};
	const struct plot p = { .id = id,
				.title = h->title,
				.desc = h->desc,
				.x = { "size, bytes", PLOT_LOG2, PLOT_BYTES },
				.y = h->y,
				.series = series,
				.count = 2,
				.width = 520,
				.height = 310,
				.markers = true,
				.legend = true };
	buf_str(to, "<figure>");
	plot_svg(&p, to);
	buf_str(to, "</figure>\n");
}

static void plots(const json_t *rows, size_t nth, struct buf *to)
{
	static const struct halves both[] = {
		{ "busbw",
		  "Bus bandwidth, GB/s",
		  "Bus bandwidth over size, out of place and in place; size axis logarithmic",
		  "bus_bw",
		  { NULL, PLOT_LINEAR, PLOT_NUMBER, .from_zero = true } },
		{ "time",
		  "Time per operation",
		  "Time per operation over size, out of place and in place; both axes logarithmic",
		  "time",
		  { NULL, PLOT_LOG10, PLOT_MICROSECONDS } },
	};
	buf_str(to, "<div class=\"pair\">\n");
	for (int i = 0; i < 2; i++)
		one_plot(rows, nth, &both[i], to);
	buf_str(to, "</div>\n");
}

/* As nccl-tests prints them: time in µs and rates with 2 decimals, fewer as they grow. */
static void half(const json_t *h, struct buf *to)
{
	static const char *const keys[] = { "time", "alg_bw", "bus_bw" };
	for (int i = 0; i < 3; i++) {
		double v = html_json_num(h, keys[i]);
		const char *class = i == 0 ? "n b" : "n";
		if (isnan(v))
			html_tag(to, "td", class, "–");
		else
			html_tag(to, "td", class, v >= 10000 ? "%.0f" : v >= 1000 ? "%.1f" : "%.2f", v);
	}
	double bad = html_json_num(h, "nwrong");
	if (isnan(bad))
		html_tag(to, "td", "n wrong", "N/A");
	else
		html_tag(to, "td", "n wrong", "%.0f", bad);
}

static void table(const json_t *rows, struct buf *to)
{
	size_t i;
	json_t *row;
	buf_str(to,
		"<div class=\"scroll\"><table class=\"dense\"><caption>As nccl-tests prints it: time in µs, algbw and "
		"busbw in GB/s</caption><thead>"
		"<tr><th class=\"g\" colspan=\"5\"></th><th class=\"g\" colspan=\"4\" scope=\"colgroup\">Out of "
		"place</th>"
		"<th class=\"g\" colspan=\"4\" scope=\"colgroup\">In place</th></tr><tr><th class=\"n\">Size (B)</th>"
		"<th class=\"n\">Count</th><th class=\"n\">Type</th><th class=\"n\">Redop</th><th "
		"class=\"n\">Root</th>");
	for (int h = 0; h < 2; h++)
		buf_str(to, "<th class=\"n b\">Time</th><th class=\"n\">algbw</th><th class=\"n\">busbw</th><th "
			    "class=\"n\">#wrong</th>");
	buf_str(to, "</tr></thead><tbody>\n");
	json_array_foreach (rows, i, row) {
		const json_t *out = json_object_get(row, "out_of_place"), *in = json_object_get(row, "in_place");
		const json_t *root = json_object_get(row, "root");
		bool bad = html_json_num(out, "nwrong") > 0 || html_json_num(in, "nwrong") > 0;
		buf_str(to, bad ? "<tr class=\"bad\">" : "<tr>");
		html_count_cell(to, "th", "n", html_json_num(row, "size"));
		html_count_cell(to, "td", "n", html_json_num(row, "count"));
		html_tag(to, "td", "n", "%s", html_json_str(row, "type"));
		html_tag(to, "td", "n", "%s", html_json_str(row, "redop"));
		if (json_is_string(root))
			html_tag(to, "td", "n", "%s", json_string_value(root) + strspn(json_string_value(root), " "));
		else
			html_tag(to, "td", "n", "%lld",
				 json_is_integer(root) ? (long long)json_integer_value(root) : -1LL);
		half(out, to);
		half(in, to);
		buf_str(to, "</tr>\n");
	}
	buf_str(to, "</tbody></table></div>\n");
}

static void facts(const json_t *c, struct buf *to)
{
	char rate[HTML_TEXT_BYTES];
	const json_t *ranks = json_object_get(c, "ranks");
	html_number(html_json_num(json_object_get(c, "average_bus_bandwidth"), "bandwidth"), rate);
	buf_str(to, "<dl class=\"facts\"><dt>Result</dt><dd>");
	report_mark(to, judge(c));
	buf_printf(to, " %.0f wrong, %.0f out of bounds", wrong(c),
		   fmax(0, html_json_num(json_object_get(c, "out_of_bounds"), "count")));
	buf_str(to, "</dd><dt>Average bus bandwidth</dt>");
	html_tag(to, "dd", NULL, "%s GB/s", rate);
	if (*html_json_str(c, "provider")) {
		buf_str(to, "<dt>Provider</dt>");
		html_tag(to, "dd", NULL, "%s", html_json_str(c, "provider"));
	}
	if (json_is_array(ranks) || json_is_integer(ranks)) {
		buf_str(to, "<dt>Ranks</dt>");
		html_tag(to, "dd", NULL, "%lld",
			 json_is_array(ranks) ? (long long)json_array_size(ranks)
					      : (long long)json_integer_value(ranks));
	}
	buf_str(to, "</dl>\n");
}

static void write_section(const struct report *r, struct buf *to)
{
	size_t i;
	json_t *c;
	json_array_foreach (r->collectives, i, c) {
		const json_t *rows = json_object_get(c, "results");
		if (json_array_size(r->collectives) > 1 || strcmp(name(c), "all_reduce") != 0)
			html_tag(to, "h3", NULL, "%s", name(c));
		facts(c, to);
		if (!json_array_size(rows))
			continue;
		plots(rows, i, to);
		table(rows, to);
	}
}

const struct report_section report_collective = {
	.id = "collective",
	.title = "all_reduce",
	.how = "mpirun ... all_reduce_perf --json",
	.is_there = is_there,
	.summarize = summarize,
	.write = write_section,
};
