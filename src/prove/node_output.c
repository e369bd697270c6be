/* SPDX-License-Identifier: MIT */
/* A node's result as JSON and as JUnit XML. */
#include <stdio.h>

#include "prove/node.h"

static double seconds(int64_t ns)
{
	const int64_t us = ns / 1000; /* whole microseconds read better */
	return (double)us / 1e6;
}

static json_t *row_json(const struct node_row *row)
{
	bool bad = row->result.outcome == CHECK_WARN || row->result.outcome == CHECK_FAIL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:f}", "id", row->check->id, "what",
			 row->check->what, "result", check_outcome_text(row->result.outcome), "severity",
			 check_outcome_text(row->check->severity), "evidence", row->result.evidence, "mend",
			 bad ? node_row_mend(row) : "", "why", bad ? row->check->why : "", "source", row->check->source,
			 "simulated", row->result.simulated, "seconds", seconds(row->ns));
}

json_t *node_json(const struct node_report *n)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < n->count; i++) {
		json_t *row = row_json(&n->rows[i]);
		if (!row || json_array_append_new(rows, row) < 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return json_pack("{s:s, s:i, s:s, s:s, s:b, s:f, s:s, s:{s:i, s:i, s:i, s:i}, s:o}", "kiln", "prove node",
			 "version", 1, "host", n->host, "root", n->root, "simulated", n->simulated, "seconds",
			 seconds(n->ns), "verdict", check_outcome_text(node_verdict(n)), "counts", "pass",
			 n->counts[CHECK_PASS], "warn", n->counts[CHECK_WARN], "fail", n->counts[CHECK_FAIL], "skip",
			 n->counts[CHECK_SKIP], "checks", rows);
}

static void xml_text(struct buf *to, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			buf_str(to, "&lt;");
			break;
		case '>':
			buf_str(to, "&gt;");
			break;
		case '&':
			buf_str(to, "&amp;");
			break;
		case '"':
			buf_str(to, "&quot;");
			break;
		default:
			/* XML 1.0 has no form for the other control characters. */
			buf_add(to, (unsigned char)*text < ' ' ? "?" : text, 1);
		}
	}
}

int node_junit(const struct node_report *n, struct buf *to)
{
	buf_printf(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"kiln prove node\" hostname=\"");
	xml_text(to, n->host);
	buf_printf(to, "\" tests=\"%zu\" failures=\"%u\" skipped=\"%u\" time=\"%.3f\">\n", n->count,
		   n->counts[CHECK_FAIL], n->counts[CHECK_SKIP], seconds(n->ns));
	for (size_t i = 0; i < n->count; i++) {
		const struct node_row *row = &n->rows[i];
		const char *tag = row->result.outcome == CHECK_FAIL   ? "failure"
				  : row->result.outcome == CHECK_SKIP ? "skipped"
								      : NULL;
		buf_printf(to, "  <testcase classname=\"kiln.node\" name=\"%s\" time=\"%.3f\">", row->check->id,
			   seconds(row->ns));
		if (tag) {
			buf_printf(to, "<%s message=\"", tag);
			xml_text(to, row->result.evidence);
			buf_str(to, "\">");
			xml_text(to, row->result.outcome == CHECK_FAIL ? node_row_mend(row) : "");
			buf_printf(to, "</%s>", tag);
		} else {
			buf_printf(to, "<system-out>%s: ", check_outcome_text(row->result.outcome));
			xml_text(to, row->result.evidence);
			buf_str(to, "</system-out>");
		}
		buf_str(to, "</testcase>\n");
	}
	return buf_str(to, "</testsuite>\n");
}
