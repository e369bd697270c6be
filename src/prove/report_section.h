/* SPDX-License-Identifier: MIT */
/* A part of the report: one row in a file of its name, listed in report.c in the order of the page. */
#ifndef KILN_PROVE_REPORT_SECTION_H
#define KILN_PROVE_REPORT_SECTION_H

#include "base/buf.h"
#include "prove/report.h"
#include "prove/report_html.h"

struct report_summary {
	enum check_outcome outcome; /* CHECK_SKIP: nothing to judge */
	bool simulated;
	char text[256]; /* one short line: what passed, what did not */
};

struct report_section {
	const char *id; /* the page's anchor */
	const char *title;
	const char *how; /* the command whose result fills it */
	bool (*is_there)(const struct report *r);
	/* Only called when it is there. */
	void (*summarize)(const struct report *r, struct report_summary *ret);
	void (*write)(const struct report *r, struct buf *to);
};

extern const struct report_section report_image;
extern const struct report_section report_cluster;
extern const struct report_section report_node;
extern const struct report_section report_transfer;
extern const struct report_section report_collective;
extern const struct report_section report_events;
extern const struct report_section report_metrics;

/* <span class="mark pass">✓ pass</span> and so on; the word is always there beside the sign. */
void report_mark(struct buf *to, enum check_outcome o);
/* "pass" and so on as results have it, CHECK_SKIP for anything else. */
enum check_outcome report_outcome(const char *text);
/* The worse of the two, where a skip says nothing. */
enum check_outcome report_worse(enum check_outcome a, enum check_outcome b);
/* The label that goes with everything a stand-in fed. */
void report_simulated(struct buf *to);
extern const char report_style[]; /* the style sheet */

#endif
