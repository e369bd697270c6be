/* SPDX-License-Identifier: MIT */
/*
 * The checks of all nodes side by side. What all nodes say alike is said once; where they differ the row is marked, for
 * the node that is unlike the others is the one to look at.
 */
#include <stdio.h>
#include <string.h>

#include "prove/report_section.h"

#define MAX_COLUMNS 16 /* more nodes than this are told in the evidence only */

static bool is_there(const struct report *r)
{
	return json_array_size(r->nodes) > 0;
}

static const json_t *find(const json_t *node, const char *id)
{
	size_t i;
	json_t *check;
	json_array_foreach (json_object_get(node, "checks"), i, check)
		if (strcmp(html_json_str(check, "id"), id) == 0)
			return check;
	return NULL;
}

static void summarize(const struct report *r, struct report_summary *ret)
{
	size_t i, k, n[CHECK_OUTCOMES] = { 0 };
	json_t *node, *check;
	json_array_foreach (r->nodes, i, node) {
		ret->simulated |= html_json_true(node, "simulated") != 0;
		json_array_foreach (json_object_get(node, "checks"), k, check)
			n[report_outcome(html_json_str(check, "result"))]++;
	}
	ret->outcome = n[CHECK_FAIL]   ? CHECK_FAIL
		       : n[CHECK_WARN] ? CHECK_WARN
		       : n[CHECK_PASS] ? CHECK_PASS
				       : CHECK_SKIP;
	snprintf(ret->text, sizeof(ret->text), "%zu node%s: %zu pass, %zu warn, %zu fail, %zu skip", i,
		 i == 1 ? "" : "s", n[CHECK_PASS], n[CHECK_WARN], n[CHECK_FAIL], n[CHECK_SKIP]);
}

static bool says_the_same(const json_t *a, const json_t *b)
{
	return strcmp(html_json_str(a, "result"), html_json_str(b, "result")) == 0 &&
	       strcmp(html_json_str(a, "evidence"), html_json_str(b, "evidence")) == 0;
}

/* Another outcome on another node; evidence alone often differs for good reasons (free space, addresses). */
static bool differs(const struct report *r, const char *id)
{
	size_t i;
	json_t *node;
	const json_t *first = find(json_array_get(r->nodes, 0), id);
	json_array_foreach (r->nodes, i, node) {
		const json_t *check = find(node, id);
		if (!check || !first || strcmp(html_json_str(check, "result"), html_json_str(first, "result")) != 0)
			return true;
	}
	return false;
}

/* Each different evidence once, with the nodes that gave it. */
static void evidence(const struct report *r, const char *id, struct buf *to)
{
	size_t i, k, nodes = json_array_size(r->nodes);
	json_t *node;
	buf_str(to, "<ul class=\"evidence\">");
	json_array_foreach (r->nodes, i, node) {
		const json_t *check = find(node, id);
		bool told = false;
		size_t same = 0;
		for (k = 0; k < nodes; k++) {
			const json_t *other = find(json_array_get(r->nodes, k), id);
			bool alike = check && other && says_the_same(check, other);
			told |= alike && k < i;
			same += alike;
		}
		if (told)
			continue;
		buf_str(to, "<li>");
		for (k = i; nodes > 1 && same < nodes && k < nodes; k++) {
			const json_t *at = json_array_get(r->nodes, k);
			const json_t *other = find(at, id);
			if (k == i || (check && other && says_the_same(check, other)))
				html_tag(to, "b", NULL, "%s%s", k > i ? ", " : "", html_json_str(at, "host"));
		}
		if (nodes > 1 && same < nodes)
			buf_str(to, ": ");
		html_text(to, check ? html_json_str(check, "evidence") : "was not checked");
		if (check && html_json_true(check, "simulated"))
			report_simulated(to);
		buf_str(to, "</li>");
	}
	buf_str(to, "</ul>");
}

/* Why and mend, once, when some node has something to mend. */
static void advice(const struct report *r, const char *id, struct buf *to)
{
	size_t i;
	json_t *node;
	json_array_foreach (r->nodes, i, node) {
		const json_t *check = find(node, id);
		enum check_outcome o = report_outcome(html_json_str(check, "result"));
		if (o != CHECK_WARN && o != CHECK_FAIL)
			continue;
		buf_str(to, "<p class=\"mend\">");
		html_text(to, html_json_str(check, "mend"));
		if (*html_json_str(check, "why")) {
			buf_str(to, "<br/><span class=\"why\">Otherwise: ");
			html_text(to, html_json_str(check, "why"));
			buf_str(to, ".</span>");
		}
		if (*html_json_str(check, "source")) {
			buf_str(to, " ");
			html_link(to, html_json_str(check, "source"), "source");
		}
		buf_str(to, "</p>");
		return;
	}
}

static void row(const struct report *r, const json_t *check, struct buf *to)
{
	const char *id = html_json_str(check, "id");
	size_t i, nodes = json_array_size(r->nodes);
	json_t *node;
	bool unlike = nodes > 1 && differs(r, id);
	buf_str(to, unlike ? "<tr class=\"differs\"><th scope=\"row\">" : "<tr><th scope=\"row\">");
	html_text(to, id);
	if (unlike)
		buf_str(to, "<br/><span class=\"differs-note\">nodes differ</span>");
	buf_str(to, "</th>");
	json_array_foreach (r->nodes, i, node) {
		if (i == MAX_COLUMNS)
			break;
		buf_str(to, "<td>");
		report_mark(to, report_outcome(html_json_str(find(node, id), "result")));
		buf_str(to, "</td>");
	}
	buf_str(to, "<td class=\"t\">");
	evidence(r, id, to);
	advice(r, id, to);
	buf_str(to, "</td></tr>\n");
}

static void write_section(const struct report *r, struct buf *to)
{
	size_t i, k, nodes = json_array_size(r->nodes);
	json_t *node, *check;
	buf_printf(to, "<div class=\"scroll\"><table><caption>%s</caption><thead><tr><th>Check</th>",
		   nodes > 1 ? "Every check on every node; rows on which the nodes differ are marked"
			     : "Every check on the node");
	json_array_foreach (r->nodes, i, node)
		if (i < MAX_COLUMNS)
			html_tag(to, "th", NULL, "%s", html_json_str(node, "host"));
	buf_str(to, "<th>Seen</th></tr></thead><tbody>\n");
	/* Every id once, in the order of the first node that has it. */
	json_array_foreach (r->nodes, i, node) {
		json_array_foreach (json_object_get(node, "checks"), k, check) {
			bool before = false;
			for (size_t j = 0; j < i; j++)
				before |= find(json_array_get(r->nodes, j), html_json_str(check, "id")) != NULL;
			if (!before)
				row(r, check, to);
		}
	}
	buf_str(to, "</tbody></table></div>\n");
}

const struct report_section report_node = {
	.id = "nodes",
	.title = "Node checks",
	.how = "kiln prove node --json, on each node",
	.is_there = is_there,
	.summarize = summarize,
	.write = write_section,
};
