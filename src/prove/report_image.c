/* SPDX-License-Identifier: MIT */
/* What was planned and baked: layers with their sizes, which of them were cached, the digest. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "prove/report_section.h"

#define BAR_WIDTH 1000
#define BAR_HEIGHT 34

static bool is_there(const struct report *r)
{
	return json_array_size(r->bakes) || json_array_size(r->plans);
}

static double sum(const json_t *list, const char *key)
{
	size_t i;
	json_t *one;
	double total = 0;
	json_array_foreach (list, i, one) {
		double v = html_json_num(one, key);
		total += isnan(v) ? 0 : v;
	}
	return total;
}

static size_t count_cached(const json_t *list)
{
	size_t i, n = 0;
	json_t *one;
	json_array_foreach (list, i, one)
		n += html_json_true(one, "cached") != 0;
	return n;
}

static void summarize(const struct report *r, struct report_summary *ret)
{
	char size[HTML_TEXT_BYTES];
	const json_t *bake = json_array_get(r->bakes, 0);
	const json_t *layers = json_object_get(bake, "layers");
	const json_t *plan = json_array_get(r->plans, 0);
	if (!bake) {
		snprintf(ret->text, sizeof(ret->text), "%s: planned, %zu steps; not baked",
			 html_json_str(plan, "stack"), json_array_size(json_object_get(plan, "steps")));
		return;
	}
	ret->outcome = CHECK_PASS;
	html_bytes(html_json_num(bake, "bytes"), size);
	snprintf(ret->text, sizeof(ret->text), "%s: %zu layers, %zu from the store, %s", html_json_str(bake, "stack"),
		 json_array_size(layers), count_cached(layers), size);
}

static void fact(struct buf *to, const char *name, const char *value, bool mono)
{
	if (!value || !*value)
		return;
	html_tag(to, "dt", NULL, "%s", name);
	html_tag(to, "dd", mono ? "mono" : NULL, "%s", value);
}

static void bar(const json_t *layers, struct buf *to)
{
	size_t i;
	json_t *layer;
	double total = sum(layers, "bytes"), x = 0;
	char size[HTML_TEXT_BYTES];
	if (total <= 0)
		return;
	buf_printf(
		to,
		"<figure><svg role=\"img\" aria-labelledby=\"layers-t\" viewBox=\"0 0 %d %d\" "
		"xmlns=\"http://www.w3.org/2000/svg\">"
		"<title id=\"layers-t\">The image's layers by compressed size; paler ones came from the store</title>",
		BAR_WIDTH, BAR_HEIGHT);
	json_array_foreach (layers, i, layer) {
		double bytes = html_json_num(layer, "bytes");
		double width = isnan(bytes) ? 0 : bytes / total * BAR_WIDTH;
		const char *name = html_json_str(layer, "component");
		html_bytes(bytes, size);
		buf_printf(to, "<g><title>");
		html_text(to, name);
		buf_printf(to,
			   ": %s</title><rect class=\"bar f s%zu%s\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\" "
			   "rx=\"3\"/>",
			   size, i % 8, html_json_true(layer, "cached") ? " cached" : "", x, width > 1 ? width : 1,
			   BAR_HEIGHT);
		if (width > 7.5 * (double)strlen(name) + 12) {
			buf_printf(to, "<text class=\"on\" x=\"%.1f\" y=\"21\">", x + 8);
			html_text(to, name);
			buf_str(to, "</text>");
		}
		buf_str(to, "</g>");
		x += width;
	}
	buf_str(to, "</svg></figure>\n");
}

static void layers_table(const json_t *layers, struct buf *to)
{
	size_t i;
	json_t *layer;
	char size[HTML_TEXT_BYTES], full[HTML_TEXT_BYTES], took[HTML_TEXT_BYTES];
	buf_str(to, "<div class=\"scroll\"><table><caption>Layers, bottom "
		    "first</caption><thead><tr><th>Component</th><th>Version</th>"
		    "<th class=\"n\">Compressed</th><th class=\"n\">Unpacked</th><th class=\"n\">Built in</th><th "
		    "class=\"b\">Digest</th></tr></thead><tbody>\n");
	json_array_foreach (layers, i, layer) {
		html_bytes(html_json_num(layer, "bytes"), size);
		html_bytes(html_json_num(layer, "uncompressed_bytes"), full);
		html_seconds(html_json_num(layer, "seconds"), took);
		const char *digest = html_json_str(layer, "digest");
		buf_printf(to,
			   "<tr><th scope=\"row\"><svg width=\"10\" height=\"10\" viewBox=\"0 0 10 10\" "
			   "aria-hidden=\"true\" "
			   "style=\"display:inline-block;width:10px;margin-right:7px\"><rect class=\"f s%zu\" "
			   "width=\"10\" height=\"10\" rx=\"2\"/></svg>",
			   i % 8);
		html_text(to, html_json_str(layer, "component"));
		buf_str(to, "</th>");
		html_tag(to, "td", "t", "%s", html_json_str(layer, "version"));
		html_tag(to, "td", "n", "%s", size);
		html_tag(to, "td", "n", "%s", full);
		html_tag(to, "td", "n", "%s", html_json_true(layer, "cached") ? "from the store" : took);
		html_tag(to, "td", "b mono", "%.12s", strncmp(digest, "sha256:", 7) == 0 ? digest + 7 : digest);
		buf_str(to, "</tr>\n");
	}
	buf_str(to, "</tbody></table></div>\n");
}

static void one_bake(const json_t *bake, struct buf *to)
{
	char size[HTML_TEXT_BYTES], took[HTML_TEXT_BYTES];
	html_bytes(html_json_num(bake, "bytes"), size);
	html_seconds(html_json_num(bake, "seconds"), took);
	html_tag(to, "h3", NULL, "%s image of %s", html_json_str(bake, "target"), html_json_str(bake, "stack"));
	buf_str(to, "<dl class=\"facts\">");
	fact(to, "Digest", html_json_str(bake, "digest"), true);
	fact(to, "Output", html_json_str(bake, "output"), true);
	fact(to, "Size", size, false);
	buf_str(to, "<dt>Took</dt>");
	html_tag(to, "dd", NULL, "%s%s", took, html_json_true(bake, "unchanged") ? ", nothing had changed" : "");
	buf_str(to, "</dl>\n");
	const json_t *layers = json_object_get(bake, "layers");
	if (!json_array_size(layers))
		return;
	bar(layers, to);
	layers_table(layers, to);
}

static void one_plan(const json_t *plan, struct buf *to)
{
	const json_t *steps = json_object_get(plan, "steps");
	const json_t *snapshot = json_object_get(plan, "snapshot");
	char size[HTML_TEXT_BYTES];
	size_t i;
	json_t *step;
	buf_str(to, "<details><summary>The plan: ");
	html_text(to, html_json_str(plan, "stack"));
	buf_printf(to, " on ");
	html_text(to, html_json_str(plan, "os"));
	buf_printf(to, ", %zu steps</summary>\n<dl class=\"facts\">", json_array_size(steps));
	fact(to, "Package snapshot", html_json_str(snapshot, "digest"), true);
	fact(to, "of", html_json_str(snapshot, "date"), false);
	fact(to, "Key", html_json_str(plan, "key"), true);
	buf_str(to, "</dl>\n<div class=\"scroll\"><table><caption>Steps in their "
		    "order</caption><thead><tr><th>Component</th><th>Version</th>"
		    "<th>Needs</th><th class=\"n\">Packages</th><th class=\"n\">Download</th></tr></thead><tbody>\n");
	json_array_foreach (steps, i, step) {
		size_t k;
		json_t *need;
		html_bytes(html_json_num(step, "download_bytes"), size);
		buf_str(to, "<tr>");
		html_tag(to, "th", NULL, "%s", html_json_str(step, "component"));
		html_tag(to, "td", "t", "%s", html_json_str(step, "version"));
		buf_str(to, "<td>");
		json_array_foreach (json_object_get(step, "needs"), k, need) {
			html_text(to, k ? ", " : "");
			html_text(to, json_string_value(need));
		}
		buf_str(to, "</td>");
		html_tag(to, "td", "n", "%.0f", fmax(0, html_json_num(step, "debs")));
		html_tag(to, "td", "n", "%s", size);
		buf_str(to, "</tr>\n");
	}
	buf_str(to, "</tbody></table></div></details>\n");
}

static void write_section(const struct report *r, struct buf *to)
{
	size_t i;
	json_t *one;
	json_array_foreach (r->bakes, i, one)
		one_bake(one, to);
	json_array_foreach (r->plans, i, one)
		one_plan(one, to);
}

const struct report_section report_image = {
	.id = "image",
	.title = "Image",
	.how = "kiln bake oci STACK --json",
	.is_there = is_there,
	.summarize = summarize,
	.write = write_section,
};
