/* SPDX-License-Identifier: MIT */
/* The nodes that the image was placed on. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "prove/report_section.h"

static bool is_there(const struct report *r)
{
	return json_array_size(r->clusters) > 0;
}

/* `up` says how long it took and `status` how the nodes are now: the last file of a cluster is the one to show. */
static const json_t *latest(const struct report *r)
{
	return json_array_get(r->clusters, json_array_size(r->clusters) - 1);
}

static bool is_up(const json_t *node)
{
	const char *state = html_json_str(node, "state");
	return !*state || strcmp(state, "up") == 0 || strcmp(state, "running") == 0 || strcmp(state, "ready") == 0;
}

static void summarize(const struct report *r, struct report_summary *ret)
{
	const json_t *nodes = json_object_get(latest(r), "nodes");
	size_t i, up = 0, all = json_array_size(nodes);
	json_t *node;
	json_array_foreach (nodes, i, node)
		up += is_up(node);
	ret->outcome = up == all && all ? CHECK_PASS : CHECK_FAIL;
	snprintf(ret->text, sizeof(ret->text), "%s: %zu of %zu node%s up", html_json_str(latest(r), "cluster"), up, all,
		 all == 1 ? "" : "s");
}

static double started_in(const struct report *r)
{
	size_t i;
	json_t *one;
	json_array_foreach (r->clusters, i, one)
		if (strcmp(html_json_str(one, "kiln"), "launch up") == 0)
			return html_json_num(one, "seconds");
	return (double)NAN;
}

static void write_section(const struct report *r, struct buf *to)
{
	const json_t *cluster = latest(r);
	const json_t *image = json_object_get(cluster, "image");
	char took[HTML_TEXT_BYTES];
	size_t i;
	json_t *node;
	html_seconds(started_in(r), took);
	buf_str(to, "<dl class=\"facts\">");
	buf_str(to, "<dt>Cluster</dt>");
	html_tag(to, "dd", NULL, "%s", html_json_str(cluster, "cluster"));
	buf_str(to, "<dt>Image</dt>");
	html_tag(to, "dd", "mono", "%s %s", html_json_str(image, "path"), html_json_str(image, "digest"));
	buf_str(to, "<dt>Started in</dt>");
	html_tag(to, "dd", NULL, "%s", took);
	buf_str(to, "</dl>\n<div "
		    "class=\"scroll\"><table><caption>Nodes</caption><thead><tr><th>Node</th><th>Address</th><th "
		    "class=\"n\">Slots</th>"
		    "<th class=\"b\">State</th></tr></thead><tbody>\n");
	json_array_foreach (json_object_get(cluster, "nodes"), i, node) {
		buf_str(to, "<tr>");
		html_tag(to, "th", NULL, "%s", html_json_str(node, "name"));
		html_tag(to, "td", "mono", "%s", html_json_str(node, "address"));
		html_count_cell(to, "td", "n", html_json_num(node, "slots"));
		html_tag(to, "td", "b", "%s", html_json_str(node, "state"));
		buf_str(to, "</tr>\n");
	}
	buf_str(to, "</tbody></table></div>\n");
}

const struct report_section report_cluster = {
	.id = "cluster",
	.title = "Cluster",
	.how = "kiln launch up NAME --json, or kiln launch status NAME --json",
	.is_there = is_there,
	.summarize = summarize,
	.write = write_section,
};
