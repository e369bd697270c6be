/* SPDX-License-Identifier: MIT */
/* GPU metrics over time: one small plot per metric, one line per GPU, so that the odd one out is seen. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "catalog/metrics.h"
#include "prove/plot.h"
#include "prove/report_section.h"
#include "prove/report_series.h"

#define MAX_GPUS 64
#define MAX_METRICS 64
#define MAX_PLOTS 12
#define MAX_POINTS 300 /* per line; more are thinned, keeping each stretch's extremes */

struct gpu {
	const char *host;
	double index; /* -1: the sample does not say */
	const char *name;
	const char *error; /* the last one, when it once did not answer; else NULL */
};

struct view {
	size_t gpus, metrics, samples;
	size_t plotted; /* the first so many metrics are drawn, the others only listed */
	struct gpu gpu[MAX_GPUS];
	const char *metric[MAX_METRICS];
	bool simulated;
	double first; /* seconds since 1970 */
};

/* EFA devices are sampled as well; they are not this section's. */
static bool is_gpu(const json_t *sample)
{
	return !json_object_get(sample, "efa");
}

static bool is_there(const struct report *r)
{
	size_t i;
	json_t *sample;
	json_array_foreach (r->metrics, i, sample)
		if (is_gpu(sample))
			return true;
	return false;
}

static size_t gpu_of(struct view *v, const json_t *sample)
{
	const char *host = html_json_str(sample, "host");
	double index = fmax(-1, html_json_num(sample, "gpu"));
	for (size_t i = 0; i < v->gpus; i++)
		if (strcmp(v->gpu[i].host, host) == 0 && v->gpu[i].index == index)
			return i;
	if (v->gpus == MAX_GPUS)
		return MAX_GPUS;
	v->gpu[v->gpus] = (struct gpu){ .host = host, .index = index, .name = html_json_str(sample, "name") };
	return v->gpus++;
}

static void note_metric(struct view *v, const char *name)
{
	for (size_t i = 0; i < v->metrics; i++)
		if (strcmp(v->metric[i], name) == 0)
			return;
	if (v->metrics < MAX_METRICS)
		v->metric[v->metrics++] = name;
}

static void look(const struct report *r, struct view *v)
{
	size_t i;
	json_t *sample, *value;
	const char *key;
	*v = (struct view){ .first = INFINITY };
	json_array_foreach (r->metrics, i, sample) {
		double t = html_time(html_json_str(sample, "time"));
		if (!is_gpu(sample))
			continue;
		size_t gpu = gpu_of(v, sample);
		v->samples++;
		if (gpu < MAX_GPUS && *html_json_str(sample, "error"))
			v->gpu[gpu].error = html_json_str(sample, "error");
		v->simulated |= html_json_true(sample, "simulated") != 0;
		v->first = isnan(t) ? v->first : fmin(v->first, t);
		json_object_foreach (json_object_get(sample, "values"), key, value)
			if (json_is_number(value))
				note_metric(v, key);
	}
}

static void summarize(const struct report *r, struct report_summary *ret)
{
	struct view v;
	look(r, &v);
	ret->simulated = v.simulated;
	for (size_t i = 0; i < v.gpus; i++) {
		if (!v.gpu[i].error)
			continue;
		ret->outcome = CHECK_FAIL;
		snprintf(ret->text, sizeof(ret->text), "%s GPU %.0f did not answer", v.gpu[i].host, v.gpu[i].index);
		return;
	}
	snprintf(ret->text, sizeof(ret->text), "%zu sample%s of %zu GPU%s, %zu metrics", v.samples,
		 v.samples == 1 ? "" : "s", v.gpus, v.gpus == 1 ? "" : "s", v.metrics);
}

/* "clock sm" -> "Clock SM": what people write in capitals, and the first letter. */
static void spell(char *text)
{
	static const char *const acronyms[] = { "gpu", "sm", "ecc", "pcie", "nvlink", NULL };
	for (const char *const *a = acronyms; *a; a++) {
		size_t len = strlen(*a);
		for (char *at = strstr(text, *a); at; at = strstr(at + len, *a)) {
			bool begins = at == text || at[-1] == ' ', ends = !at[len] || at[len] == ' ' || at[len] == ',';
			for (size_t i = 0; begins && ends && i < len; i++)
				at[i] = (char)toupper((unsigned char)at[i]);
		}
	}
	*text = (char)toupper((unsigned char)*text);
}

/* "memory_used_bytes" -> "memory used", unit "bytes"; the unit is the last word of a metric's name. */
static void label(const char *metric, char *ret, size_t size, double *scale)
{
	static const struct {
		const char *suffix, *unit;
		double scale;
	} units[] = {
		{ "_percent", ", %", 1 },    { "_celsius", ", °C", 1 },
		{ "_watts", ", W", 1 },      { "_mhz", ", MHz", 1 },
		{ "_hertz", ", MHz", 1e-6 }, { "_bytes", ", GiB", 1.0 / (1 << 30) },
		{ "_joules", ", J", 1 },     { "_bytes_per_second", ", GB/s", 1e-9 },
		{ "_ratio", "", 1 },         { "_total", "", 1 },
	};
	*scale = 1;
	snprintf(ret, size, "%s", metric);
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		size_t len = strlen(metric), cut = strlen(units[i].suffix);
		if (len <= cut || strcmp(metric + len - cut, units[i].suffix) != 0)
			continue;
		snprintf(ret, size, "%.*s%s", (int)(len - cut), metric, units[i].unit);
		*scale = units[i].scale;
	}
	for (char *c = ret; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	spell(ret);
}

struct line {
	double *x, *y;
	size_t count;
};

static void thin(struct line *l)
{
	size_t n = l->count, kept = 0, buckets = MAX_POINTS / 2;
	if (n <= MAX_POINTS)
		return;
	for (size_t b = 0; b < buckets; b++) {
		size_t low = b * n / buckets, end = (b + 1) * n / buckets, high = low;
		size_t from = low;
		for (size_t i = from; i < end; i++) {
			low = l->y[i] < l->y[low] ? i : low;
			high = l->y[i] > l->y[high] ? i : high;
		}
		size_t a = low < high ? low : high, z = low < high ? high : low;
		double xs[2] = { l->x[a], l->x[z] }, ys[2] = { l->y[a], l->y[z] };
		for (int i = 0; i < (a == z ? 1 : 2); i++, kept++) {
			l->x[kept] = xs[i];
			l->y[kept] = ys[i];
		}
	}
	l->count = kept;
}

static void put_first(struct view *v, size_t m)
{
	const char *kept = v->metric[v->plotted];
	v->metric[v->plotted++] = v->metric[m];
	v->metric[m] = kept;
}

/* True when the metric has more than one value on some GPU, or on different ones. */
static bool moves(const struct report *r, const char *metric)
{
	size_t i;
	json_t *sample;
	double first = NAN;
	json_array_foreach (r->metrics, i, sample) {
		double value = html_json_num(json_object_get(sample, "values"), metric);
		if (isnan(value) || value == first || !is_gpu(sample))
			continue;
		if (!isnan(first))
			return true;
		first = value;
	}
	return false;
}

/* All samples of one metric of one GPU, in the files' order, which is time's. */
static bool gather(const struct report *r, struct view *v, size_t gpu, const char *metric, double scale, struct line *l)
{
	size_t i;
	json_t *sample;
	l->x = calloc(v->samples + 1, sizeof(double));
	l->y = calloc(v->samples + 1, sizeof(double));
	l->count = 0;
	if (!l->x || !l->y)
		return false;
	json_array_foreach (r->metrics, i, sample) {
		double value = html_json_num(json_object_get(sample, "values"), metric);
		double t = html_time(html_json_str(sample, "time"));
		if (isnan(value) || isnan(t) || !is_gpu(sample) || gpu_of(v, sample) != gpu)
			continue;
		l->x[l->count] = t;
		l->y[l->count++] = value * scale;
	}
	thin(l);
	return true;
}

static void one_plot(const struct report *r, struct view *v, size_t metric, struct buf *to)
{
	struct line lines[PLOT_COLOURS] = { 0 };
	struct plot_series series[PLOT_COLOURS] = { 0 };
	char names[PLOT_COLOURS][96], title[96], id[32];
	double scale;
	size_t n = v->gpus < PLOT_COLOURS ? v->gpus : PLOT_COLOURS;
	bool ok = true;
	label(v->metric[metric], title, sizeof(title), &scale);
	snprintf(id, sizeof(id), "metric-%zu", metric);
	for (size_t i = 0; i < n; i++) {
		ok &= gather(r, v, i, v->metric[metric], scale, &lines[i]);
		snprintf(names[i], sizeof(names[i]), "%s GPU %.0f", v->gpu[i].host, v->gpu[i].index);
		series[i] = (struct plot_series){ .name = names[i],
						  .x = lines[i].x,
						  .y = lines[i].y,
						  .count = lines[i].count,
						  .colour = (unsigned)i,
						  .dashed = i % 2 == 1 };
	}
	const struct metrics_row *row = metrics_find(v->metric[metric]);
	bool percent = strstr(v->metric[metric], "percent") != NULL;
	const struct plot p = { .id = id,
				.title = title,
				.desc = row ? row->help : "One line per GPU over time",
				.x = { NULL, PLOT_LINEAR, PLOT_CLOCK },
				.y = { NULL, PLOT_LINEAR, PLOT_NUMBER, .from_zero = true, 0, percent ? 100 : 0 },
				.series = series,
				.count = n,
				.width = 340,
				.height = 170,
				.markers = v->samples / (v->gpus ? v->gpus : 1) < 16 };
	if (ok) {
		buf_str(to, "<figure>");
		plot_svg(&p, to);
		buf_str(to, "</figure>\n");
	}
	for (size_t i = 0; i < n; i++) {
		free(lines[i].x);
		free(lines[i].y);
	}
}

/* What people ask for first, and then whatever moved; limits and modes that stay as they are go into the table only. */
static void choose(const struct report *r, struct view *v)
{
	static const char *const wanted[] = { "utilization_gpu_percent",
					      "memory_used_bytes",
					      "temperature_celsius",
					      "power_watts",
					      "clock_sm_hertz",
					      "utilization_memory_percent",
					      NULL };
	for (const char *const *w = wanted; *w; w++)
		for (size_t m = v->plotted; m < v->metrics; m++)
			if (strcmp(v->metric[m], *w) == 0)
				put_first(v, m);
	for (size_t m = v->plotted; m < v->metrics && v->plotted < MAX_PLOTS; m++)
		if (moves(r, v->metric[m]))
			put_first(v, m);
}

static void legend(const struct view *v, struct buf *to)
{
	size_t n = v->gpus < PLOT_COLOURS ? v->gpus : PLOT_COLOURS;
	buf_str(to, "<p>");
	for (size_t i = 0; i < n; i++) {
		buf_printf(to,
			   "<span class=\"nowrap\"><svg aria-hidden=\"true\" viewBox=\"0 0 24 10\" "
			   "style=\"display:inline-block;width:24px;margin:0 6px 0 0\">"
			   "<line class=\"l s%zu%s\" x1=\"1\" x2=\"23\" y1=\"5\" y2=\"5\"/></svg>",
			   i, i % 2 ? " dash" : "");
		html_text(to, v->gpu[i].host);
		buf_printf(to, " GPU %.0f (", v->gpu[i].index);
		html_text(to, v->gpu[i].name);
		buf_str(to, ")&#160;&#160;</span> ");
	}
	if (v->gpus > n)
		buf_printf(to, "and %zu more that are not drawn", v->gpus - n);
	buf_str(to, "</p>\n");
}

static void last_values(const struct report *r, struct view *v, struct buf *to)
{
	char text[HTML_TEXT_BYTES], title[96];
	buf_str(to,
		"<details><summary>All metrics, smallest, largest and last value</summary><div class=\"scroll\"><table>"
		"<caption>Over the time of the samples</caption><thead><tr><th>Metric</th><th>GPU</th><th "
		"class=\"n\">Min</th>"
		"<th class=\"n\">Max</th><th class=\"n\">Last</th></tr></thead><tbody>\n");
	for (size_t m = 0; m < v->metrics; m++) {
		double scale;
		label(v->metric[m], title, sizeof(title), &scale);
		for (size_t g = 0; g < v->gpus; g++) {
			struct line l;
			double stats[3] = { INFINITY, -INFINITY, NAN };
			if (gather(r, v, g, v->metric[m], scale, &l) && l.count) {
				buf_str(to, "<tr>");
				html_tag(to, "th", NULL, "%s", title);
				html_tag(to, "td", NULL, "%s GPU %.0f", v->gpu[g].host, v->gpu[g].index);
				for (size_t i = 0; i < l.count; i++) {
					stats[0] = fmin(stats[0], l.y[i]);
					stats[1] = fmax(stats[1], l.y[i]);
					stats[2] = l.y[i];
				}
				for (int i = 0; i < 3; i++) {
					html_number(stats[i], text);
					html_tag(to, "td", "n", "%s", text);
				}
				buf_str(to, "</tr>\n");
			}
			free(l.x);
			free(l.y);
		}
	}
	buf_str(to, "</tbody></table></div></details>\n");
}

static void write_section(const struct report *r, struct buf *to)
{
	struct view v;
	look(r, &v);
	if (v.simulated) {
		buf_str(to, "<p>");
		report_simulated(to);
		buf_str(to, " These numbers come from a stand-in for NVIDIA's library, not from a GPU.</p>\n");
	}
	for (size_t i = 0; i < v.gpus; i++) {
		if (!v.gpu[i].error)
			continue;
		buf_str(to, "<p>");
		report_mark(to, CHECK_FAIL);
		buf_str(to, " ");
		html_text(to, v.gpu[i].host);
		buf_printf(to, " GPU %.0f: ", v.gpu[i].index);
		html_text(to, v.gpu[i].error);
		buf_str(to, "</p>\n");
	}
	legend(&v, to);
	buf_str(to, "<div class=\"multiples\">\n");
	choose(r, &v);
	for (size_t m = 0; m < v.plotted; m++)
		one_plot(r, &v, m, to);
	buf_str(to, "</div>\n");
	last_values(r, &v, to);
}

const struct report_section report_metrics = {
	.id = "metrics",
	.title = "GPU metrics",
	.how = "kiln watch run --json, or kiln watch once --json",
	.is_there = is_there,
	.summarize = summarize,
	.write = write_section,
};
