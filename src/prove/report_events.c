/* SPDX-License-Identifier: MIT */
/* What the kernel said about GPUs, NVSwitches and EFA: a timeline and a table with the meaning and what to do. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "prove/plot.h"
#include "prove/report_section.h"

#define MAX_ROWS 500 /* in the table; the rest is counted */
#define MAX_LANES 24 /* devices in the timeline */
#define WIDTH 1060
#define LANE_HEIGHT 30
#define LANES_LEFT 210

static bool is_there(const struct report *r)
{
	return r->has_watch;
}

/* What a process wrote into the kernel's log is a test or a forgery: shown, and not judged. */
static bool is_judged(const json_t *event)
{
	return strcmp(html_json_str(event, "origin"), "user") != 0;
}

/* The catalogue's words (catalog/xids.h): a fatal one costs the GPU or the node, an error costs an application. */
static enum check_outcome severity(const json_t *event)
{
	const char *s = html_json_str(event, "severity");
	if (strcmp(s, "fatal") == 0)
		return CHECK_FAIL;
	return strcmp(s, "error") == 0 || strcmp(s, "warning") == 0 ? CHECK_WARN : CHECK_PASS;
}

static void summarize(const struct report *r, struct report_summary *ret)
{
	size_t i, kernel = 0, user = 0;
	json_t *event;
	ret->outcome = CHECK_PASS;
	json_array_foreach (r->events, i, event) {
		if (!is_judged(event)) {
			user++;
			continue;
		}
		kernel++;
		ret->outcome = report_worse(ret->outcome, severity(event));
	}
	if (!kernel && !user)
		snprintf(ret->text, sizeof(ret->text), "none seen");
	else if (!user)
		snprintf(ret->text, sizeof(ret->text), "%zu from the kernel", kernel);
	else
		snprintf(ret->text, sizeof(ret->text),
			 "%zu from the kernel, %zu written by a process (a test, not judged)", kernel, user);
}

static void lane_name(const json_t *event, char *ret, size_t size)
{
	const char *host = html_json_str(event, "host"), *device = html_json_str(event, "device");
	snprintf(ret, size, "%s%s%s", host, *device && *host ? "  " : "", device);
}

struct lanes {
	size_t count;
	char name[MAX_LANES][160];
	double first, last; /* seconds since 1970 */
};

static size_t lane_of(struct lanes *l, const json_t *event)
{
	char name[160];
	lane_name(event, name, sizeof(name));
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->name[i], name) == 0)
			return i;
	if (l->count == MAX_LANES)
		return MAX_LANES;
	snprintf(l->name[l->count], sizeof(l->name[0]), "%s", name);
	return l->count++;
}

static void make_lanes(const struct report *r, struct lanes *l)
{
	size_t i;
	json_t *event;
	*l = (struct lanes){ .first = INFINITY, .last = -INFINITY };
	json_array_foreach (r->events, i, event) {
		double t = html_time(html_json_str(event, "time"));
		if (isnan(t))
			continue;
		lane_of(l, event);
		l->first = fmin(l->first, t);
		l->last = fmax(l->last, t);
	}
	/* Room at both ends, and an axis also when everything came at once. */
	double room = fmax(2, (l->last - l->first) * 0.08);
	l->first -= room;
	l->last += room * 2;
}

static void event_text(const json_t *event, char *ret, size_t size)
{
	const char *type = html_json_str(event, "type");
	double code = html_json_num(event, "code");
	if (strcmp(type, "fell-off-bus") == 0)
		snprintf(ret, size, "fell off the bus");
	else if (isnan(code))
		snprintf(ret, size, "%s", *type ? type : "event");
	else
		snprintf(ret, size, "%s %.0f",
			 strcasecmp(type, "sxid") == 0            ? "SXid"
			 : !*type || strcasecmp(type, "xid") == 0 ? "Xid"
								  : type,
			 code);
}

static void axis(const struct lanes *l, const struct plot_axis *a, const struct plot_ticks *t, double bottom,
		 struct buf *to)
{
	for (size_t i = 0; i < t->count; i++) {
		double x = LANES_LEFT + plot_ticks_place(a, t, t->at[i]) * (WIDTH - LANES_LEFT);
		buf_printf(to,
			   "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"4\" y2=\"%.1f\"/><text class=\"tick "
			   "mid\" x=\"%.1f\" y=\"%.1f\">%s</text>",
			   x, x, bottom, x, bottom + 17, t->label[i]);
	}
	for (size_t i = 0; i < l->count; i++) {
		double y = 4 + LANE_HEIGHT * ((double)i + 0.5);
		buf_printf(to,
			   "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" opacity=\".45\"/><text "
			   "class=\"small end\" x=\"%d\" y=\"%.1f\">",
			   LANES_LEFT, WIDTH, y, y, LANES_LEFT - 12, y + 4);
		html_text(to, l->name[i]);
		buf_str(to, "</text>");
	}
}

static void timeline(const struct report *r, struct buf *to)
{
	struct lanes l;
	size_t i;
	json_t *event;
	double labelled[MAX_LANES];
	make_lanes(r, &l);
	if (!l.count)
		return;
	for (i = 0; i < MAX_LANES; i++)
		labelled[i] = -INFINITY;
	const struct plot_axis a = { .scale = PLOT_LINEAR, .unit = PLOT_CLOCK, .min = l.first, .max = l.last };
	struct plot_ticks t;
	plot_ticks_make(&a, l.first, l.last, 8, &t);
	double bottom = 8 + LANE_HEIGHT * (double)l.count;
	buf_printf(to,
		   "<figure><svg role=\"img\" aria-labelledby=\"timeline-t\" viewBox=\"0 0 %d %.0f\" "
		   "xmlns=\"http://www.w3.org/2000/svg\">"
		   "<title id=\"timeline-t\">Events over time (UTC), one line per device; hollow marks were written by "
		   "a process</title>",
		   WIDTH, bottom + 24);
	axis(&l, &a, &t, bottom, to);
	json_array_foreach (r->events, i, event) {
		char text[64];
		double when = html_time(html_json_str(event, "time"));
		size_t lane = isnan(when) ? MAX_LANES : lane_of(&l, event);
		if (lane == MAX_LANES)
			continue;
		double x = LANES_LEFT + plot_ticks_place(&a, &t, when) * (WIDTH - LANES_LEFT);
		double y = 4 + LANE_HEIGHT * ((double)lane + 0.5);
		event_text(event, text, sizeof(text));
		buf_printf(to, "<g><title>");
		html_text(to, html_json_str(event, "time"));
		buf_str(to, " ");
		html_text(to, text);
		buf_str(to, ": ");
		html_text(to, html_json_str(event, "meaning"));
		buf_printf(to, "</title><path class=\"ev %s%s\" d=\"M%.1f %.1fl6 6l-6 6l-6 -6z\"/>",
			   check_outcome_text(severity(event)), is_judged(event) ? "" : " user", x, y - 6);
		/* A label only where it does not run into the one before. */
		if (x - labelled[lane] > 7.0 * (double)strlen(text) + 22) {
			buf_printf(to, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">", x + 10, y - 5);
			html_text(to, text);
			buf_str(to, "</text>");
			labelled[lane] = x;
		}
		buf_str(to, "</g>");
	}
	buf_str(to, "</svg></figure>\n");
}

static void table_row(const json_t *event, struct buf *to)
{
	char text[64];
	double pid = html_json_num(event, "pid");
	event_text(event, text, sizeof(text));
	buf_str(to, "<tr>");
	const char *when = html_json_str(event, "time");
	if (isnan(html_time(when))) {
		html_tag(to, "td", "mono", "%s", when);
	} else {
		buf_str(to, "<td class=\"mono nowrap\">");
		html_text(to, when + 11);
		html_tag(to, "div", "muted", "%.10s", when);
		buf_str(to, "</td>");
	}
	buf_str(to, "<td>");
	html_text(to, html_json_str(event, "host"));
	buf_str(to, "<br/>");
	html_tag(to, "span", "mono muted", "%s", html_json_str(event, "device"));
	buf_str(to, "</td><th scope=\"row\">");
	html_text(to, text);
	html_tag(to, "div", "why", "%s", html_json_str(event, "severity"));
	buf_str(to, "</th><td class=\"t\">");
	html_text(to, html_json_str(event, "meaning"));
	if (*html_json_str(event, "name"))
		html_tag(to, "div", "why mono", "%s", html_json_str(event, "name"));
	if (*html_json_str(event, "process") || pid >= 0) {
		buf_str(to, "<div class=\"why\">process ");
		html_text(to, html_json_str(event, "process"));
		if (pid >= 0)
			buf_printf(to, " (pid %.0f)", pid);
		buf_str(to, "</div>");
	}
	buf_str(to, "</td>");
	html_tag(to, "td", "t", "%s", html_json_str(event, "nvidia_action"));
	html_tag(to, "td", "t", "%s", html_json_str(event, "ec2_action"));
	html_tag(to, "td", "nowrap", "%s", is_judged(event) ? html_json_str(event, "origin") : "a process");
	buf_str(to, "</tr>\n");
}

static void write_section(const struct report *r, struct buf *to)
{
	size_t i, all = json_array_size(r->events);
	json_t *event;
	if (!all) {
		buf_str(to, "<p>No event was seen while kiln watch ran.</p>\n");
		return;
	}
	timeline(r, to);
	buf_str(to, "<div class=\"scroll\"><table><caption>Events; times are UTC. What a process wrote to /dev/kmsg is "
		    "marked so and not judged: "
		    "it is a test or a forgery.</caption><thead><tr><th>Time</th><th>Node, "
		    "device</th><th>Code</th><th>Meaning</th>"
		    "<th>NVIDIA says</th><th>On EC2</th><th>Origin</th></tr></thead><tbody>\n");
	json_array_foreach (r->events, i, event)
		if (i < MAX_ROWS)
			table_row(event, to);
	buf_str(to, "</tbody></table></div>\n");
	if (all > MAX_ROWS)
		buf_printf(to, "<p class=\"muted\">%zu more are not shown.</p>\n", all - MAX_ROWS);
}

const struct report_section report_events = {
	.id = "events",
	.title = "Events",
	.how = "kiln watch run (the file of events that it writes)",
	.is_there = is_there,
	.summarize = summarize,
	.write = write_section,
};
