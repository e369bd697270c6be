/* SPDX-License-Identifier: MIT */
/* The message-transfer test: what was verified, and latency and bandwidth over size for each pair of ranks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "prove/plot.h"
#include "prove/report_section.h"
#include "prove/report_series.h"

static bool is_there(const struct report *r)
{
	return json_array_size(r->transfers) > 0;
}

/* Messages that should have arrived and those that did, whole: every burst is `messages` one way. */
static void count(const json_t *t, double *ret_sent, double *ret_good)
{
	const json_t *bursts = json_object_get(t, "bursts");
	size_t i;
	json_t *burst;
	*ret_sent = html_json_num(t, "messages");
	*ret_good = html_json_true(t, "verified") ? *ret_sent : html_json_num(t, "verified");
	if (!json_array_size(bursts))
		return;
	*ret_sent *= (double)json_array_size(bursts);
	*ret_good = 0;
	json_array_foreach (bursts, i, burst)
		*ret_good += fmax(0, html_json_num(burst, "received")) - fmax(0, html_json_num(burst, "bad"));
}

static enum check_outcome judge(const json_t *t)
{
	double sent, good;
	enum check_outcome said = report_outcome(html_json_str(t, "verdict"));
	count(t, &sent, &good);
	if (json_is_false(json_object_get(t, "verified")) || (!isnan(sent) && !(good >= sent)))
		return CHECK_FAIL;
	return said == CHECK_SKIP && sent > 0 ? CHECK_PASS : said;
}

static double best(const json_t *sizes, const char *key, double (*better)(double, double))
{
	size_t i;
	json_t *one;
	double most = NAN;
	json_array_foreach (sizes, i, one)
		most = better(most, html_json_num(one, key));
	return most;
}

static void summarize(const struct report *r, struct report_summary *ret)
{
	char gb[HTML_TEXT_BYTES], us[HTML_TEXT_BYTES], good_text[HTML_TEXT_BYTES], sent_text[HTML_TEXT_BYTES];
	double sent, good;
	size_t i;
	json_t *t;
	json_array_foreach (r->transfers, i, t)
		ret->outcome = i ? report_worse(ret->outcome, judge(t)) : judge(t);
	t = json_array_get(r->transfers, 0);
	count(t, &sent, &good);
	html_number(best(json_object_get(t, "sizes"), "bandwidth_gb_s", fmax), gb);
	html_number(best(json_object_get(t, "sizes"), "latency_p50_us", fmin), us);
	html_count(good, good_text);
	html_count(sent, sent_text);
	snprintf(ret->text, sizeof(ret->text), "%s of %s messages verified over %.60s; %s µs, %s GB/s", good_text,
		 sent_text, html_json_str(t, "provider"), us, gb);
}

/* One pair of ranks: its rows of the list of sizes, which names the pair in each row. */
struct pair {
	double from, to;
	json_t *rows;
	double *bytes, *p50, *p99, *rate;
	char name[48];
};

static void pair_fini(struct pair *p)
{
	json_decref(p->rows);
	free(p->bytes);
	free(p->p50);
	free(p->p99);
	free(p->rate);
}

static size_t split(const json_t *sizes, struct pair pairs[PLOT_COLOURS])
{
	size_t i, n = 0;
	json_t *one;
	json_array_foreach (sizes, i, one) {
		/* Files without pairs have one. */
		double from = fmax(0, html_json_num(one, "from")), to = fmax(0, html_json_num(one, "to"));
		size_t k = 0;
		while (k < n && (pairs[k].from != from || pairs[k].to != to))
			k++;
		if (k == PLOT_COLOURS)
			continue;
		if (k == n)
			pairs[n++] = (struct pair){ .from = from, .to = to, .rows = json_array() };
		json_array_append(pairs[k].rows, one);
	}
	for (i = 0; i < n; i++) {
		pairs[i].bytes = report_series_of(pairs[i].rows, NULL, "bytes");
		pairs[i].p50 = report_series_of(pairs[i].rows, NULL, "latency_p50_us");
		pairs[i].p99 = report_series_of(pairs[i].rows, NULL, "latency_p99_us");
		pairs[i].rate = report_series_of(pairs[i].rows, NULL, "bandwidth_gb_s");
		snprintf(pairs[i].name, sizeof(pairs[i].name), "ranks %.0f and %.0f", pairs[i].from, pairs[i].to);
	}
	return n;
}

/* Of one pair the median and the 99th percentile; of many the medians, so that the odd pair out is seen. */
static void latency_plot(const struct pair *pairs, size_t n, size_t nth, struct buf *to)
{
	struct plot_series s[PLOT_COLOURS];
	char id[40];
	for (unsigned i = 0; i < n; i++)
		s[i] = (struct plot_series){ .name = n == 1 ? "p50" : pairs[i].name,
					     .x = pairs[i].bytes,
					     .y = pairs[i].p50,
					     .count = json_array_size(pairs[i].rows),
					     .colour = i };
	if (n == 1)
		s[1] = (struct plot_series){ .name = "p99",
					     .x = pairs[0].bytes,
					     .y = pairs[0].p99,
					     .count = s[0].count,
					     .colour = 1,
					     .dashed = true };
	snprintf(id, sizeof(id), "transfer-%zu-latency", nth);
	const struct plot p = { .id = id,
				.title = n == 1 ? "Latency, one way" : "Latency, one way, p50",
				.desc = "One-way latency over message size, both axes logarithmic",
				.x = { "message size, bytes", PLOT_LOG2, PLOT_BYTES },
				.y = { NULL, PLOT_LOG10, PLOT_MICROSECONDS },
				.series = s,
				.count = n == 1 ? 2 : n,
				.width = 520,
				.height = 300,
				.markers = true,
				.legend = true };
	plot_svg(&p, to);
}

static void bandwidth_plot(const struct pair *pairs, size_t n, size_t nth, struct buf *to)
{
	struct plot_series s[PLOT_COLOURS];
	char id[40];
	for (unsigned i = 0; i < n; i++)
		s[i] = (struct plot_series){ .name = pairs[i].name,
					     .x = pairs[i].bytes,
					     .y = pairs[i].rate,
					     .count = json_array_size(pairs[i].rows),
					     .colour = n == 1 ? 2 : i };
	snprintf(id, sizeof(id), "transfer-%zu-bandwidth", nth);
	const struct plot p = { .id = id,
				.title = "Bandwidth, GB/s",
				.desc = "Bandwidth over message size, size axis logarithmic",
				.x = { "message size, bytes", PLOT_LOG2, PLOT_BYTES },
				.y = { NULL, PLOT_LINEAR, PLOT_NUMBER, .from_zero = true },
				.series = s,
				.count = n,
				.width = 520,
				.height = 300,
				.markers = true,
				.legend = n > 1 };
	plot_svg(&p, to);
}

static void plots(const json_t *sizes, size_t nth, struct buf *to)
{
	struct pair pairs[PLOT_COLOURS];
	size_t n = split(sizes, pairs);
	bool ok = n > 0;
	for (size_t i = 0; i < n; i++)
		ok &= pairs[i].bytes && pairs[i].p50 && pairs[i].p99 && pairs[i].rate;
	if (ok) {
		buf_str(to, "<div class=\"pair\">\n<figure>");
		latency_plot(pairs, n, nth, to);
		buf_str(to, "</figure>\n<figure>");
		bandwidth_plot(pairs, n, nth, to);
		buf_str(to, "</figure>\n</div>\n");
	}
	for (size_t i = 0; i < n; i++)
		pair_fini(&pairs[i]);
}

static void table(const json_t *sizes, struct buf *to)
{
	static const char *const keys[] = { "latency_min_us", "latency_p50_us", "latency_p99_us", "bandwidth_gb_s" };
	char text[HTML_TEXT_BYTES];
	size_t i;
	json_t *one;
	bool has_pairs = json_object_get(json_array_get(sizes, 0), "from") != NULL;
	buf_str(to, "<div class=\"scroll\"><table class=\"dense\"><caption>One-way latency in µs, bandwidth in GB/s "
		    "(10⁹ bytes)</caption><thead><tr>"
		    "<th class=\"n\">Bytes</th>");
	if (has_pairs)
		buf_str(to, "<th class=\"n\">From</th><th class=\"n\">To</th>");
	buf_str(to, "<th class=\"n\">Iterations</th><th class=\"n\">Min</th><th class=\"n\">p50</th><th "
		    "class=\"n\">p99</th>"
		    "<th class=\"n\">GB/s</th></tr></thead><tbody>\n");
	json_array_foreach (sizes, i, one) {
		buf_str(to, "<tr>");
		html_count_cell(to, "th", "n", html_json_num(one, "bytes"));
		if (has_pairs) {
			html_count_cell(to, "td", "n", html_json_num(one, "from"));
			html_count_cell(to, "td", "n", html_json_num(one, "to"));
		}
		html_count_cell(to, "td", "n", html_json_num(one, "iterations"));
		for (size_t k = 0; k < COUNT_OF(keys); k++) {
			html_number(html_json_num(one, keys[k]), text);
			html_tag(to, "td", "n", "%s", text);
		}
		buf_str(to, "</tr>\n");
	}
	buf_str(to, "</tbody></table></div>\n");
}

static void facts(const json_t *t, struct buf *to)
{
	char good_text[HTML_TEXT_BYTES], sent_text[HTML_TEXT_BYTES], text[HTML_TEXT_BYTES];
	double sent, good;
	size_t i;
	json_t *rank;
	count(t, &sent, &good);
	html_count(good, good_text);
	html_count(sent, sent_text);
	html_count(html_json_num(t, "message_bytes"), text);
	buf_str(to, "<dl class=\"facts\"><dt>Messages</dt><dd>");
	report_mark(to, judge(t));
	buf_printf(to, " %s of %s arrived whole, %s bytes each, every byte checked", good_text, sent_text, text);
	buf_str(to, "</dd><dt>Provider</dt>");
	html_tag(to, "dd", NULL, "%s, domain %s, fabric %s", html_json_str(t, "provider"), html_json_str(t, "domain"),
		 html_json_str(t, "fabric"));
	buf_str(to, "<dt>Library</dt>");
	html_tag(to, "dd", NULL, "%s %s", html_json_str(t, "library"), html_json_str(t, "library_path"));
	buf_str(to, "<dt>Ranks</dt><dd>");
	json_array_foreach (json_object_get(t, "ranks"), i, rank) {
		html_count(html_json_num(rank, "rank"), text);
		buf_printf(to, "%s%s on ", i ? ", " : "", text);
		html_text(to, html_json_str(rank, "host"));
	}
	buf_str(to, "</dd></dl>\n");
}

static void write_section(const struct report *r, struct buf *to)
{
	size_t i;
	json_t *t;
	json_array_foreach (r->transfers, i, t) {
		const json_t *sizes = json_object_get(t, "sizes");
		facts(t, to);
		if (!json_array_size(sizes))
			continue;
		plots(sizes, i, to);
		table(sizes, to);
	}
}

const struct report_section report_transfer = {
	.id = "transfer",
	.title = "Message transfer",
	.how = "mpirun ... kiln prove transfer --json",
	.is_there = is_there,
	.summarize = summarize,
	.write = write_section,
};
