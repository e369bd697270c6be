/* SPDX-License-Identifier: MIT */
/* The page: head, verdict, one section after the other. */
#include "prove/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "prove/report_section.h"

#define MAX_PAGE_BYTES (64 << 20)

static const struct report_section *const sections[] = {
	&report_image,      &report_cluster, &report_node,    &report_transfer,
	&report_collective, &report_events,  &report_metrics, NULL,
};

int report_new(const char *title, int64_t made_ns, struct report **ret, struct err *e)
{
	AUTO(report) r = calloc(1, sizeof(*r));
	if (!r)
		return err_set(e, -ENOMEM, "report");
	json_t **const arrays[] = { &r->plans,     &r->bakes,       &r->clusters, &r->nodes,
				    &r->transfers, &r->collectives, &r->events,   &r->metrics };
	for (size_t i = 0; i < COUNT_OF(arrays); i++) {
		*arrays[i] = json_array();
		if (!*arrays[i])
			return err_set(e, -ENOMEM, "report");
	}
	r->title = strdup(title);
	r->event_ids = json_object();
	r->made_ns = made_ns;
	if (!r->title || !r->event_ids)
		return err_set(e, -ENOMEM, "report");
	*ret = steal(r);
	return 0;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	json_t *const all[] = { r->plans,       r->bakes,  r->clusters, r->nodes,    r->transfers,
				r->collectives, r->events, r->metrics,  r->event_ids };
	for (size_t i = 0; i < COUNT_OF(all); i++)
		json_decref(all[i]);
	free(r->title);
	free(r);
}

enum check_outcome report_outcome(const char *text)
{
	return strcmp(text, "pass") == 0   ? CHECK_PASS
	       : strcmp(text, "warn") == 0 ? CHECK_WARN
	       : strcmp(text, "fail") == 0 ? CHECK_FAIL
					   : CHECK_SKIP;
}

enum check_outcome report_worse(enum check_outcome a, enum check_outcome b)
{
	static const int badness[CHECK_OUTCOMES] = {
		[CHECK_SKIP] = 0, [CHECK_PASS] = 1, [CHECK_WARN] = 2, [CHECK_FAIL] = 3
	};
	return badness[b] > badness[a] ? b : a;
}

enum check_outcome report_verdict(const struct report *r)
{
	enum check_outcome worst = CHECK_SKIP;
	for (const struct report_section *const *s = sections; *s; s++) {
		struct report_summary one = { .outcome = CHECK_SKIP };
		if ((*s)->is_there(r))
			(*s)->summarize(r, &one);
		worst = report_worse(worst, one.outcome);
	}
	return worst;
}

void report_mark(struct buf *to, enum check_outcome o)
{
	static const char *const signs[CHECK_OUTCOMES] = { "✓", "▲", "✕", "–" };
	buf_printf(to, "<span class=\"mark %s\"><span aria-hidden=\"true\">%s</span> %s</span>", check_outcome_text(o),
		   signs[o], check_outcome_text(o));
}

void report_simulated(struct buf *to)
{
	buf_str(to, "<span class=\"simulated\">simulated</span>");
}

static void page_head(const struct report *r, struct buf *to)
{
	char made[CLOCK_TEXT_BYTES];
	clock_text(r->made_ns, made);
	buf_str(to, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		    "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
		    "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
		    /* Nothing is loaded and nothing runs, whatever a result file holds. */
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
		    "'unsafe-inline'\"/>\n"
		    "<meta name=\"generator\" content=\"kiln " KILN_VERSION "\"/>\n");
	html_tag(to, "title", NULL, "%s", r->title);
	buf_str(to, "\n<style>\n");
	buf_str(to, report_style);
	buf_str(to, "</style>\n</head>\n<body>\n<header>\n");
	html_tag(to, "h1", NULL, "%s", r->title);
	buf_printf(to,
		   "<p class=\"muted\">Made by kiln " KILN_VERSION
		   " on <time datetime=\"%s\">%.10s %.5s UTC</time> from %zu result%s.</p>\n",
		   made, made, made + 11,
		   json_array_size(r->plans) + json_array_size(r->bakes) + json_array_size(r->clusters) +
			   json_array_size(r->nodes) + json_array_size(r->transfers) + json_array_size(r->collectives) +
			   r->has_watch,
		   "s");
	buf_str(to, "</header>\n<main>\n");
}

static void verdict(const struct report *r, struct buf *to)
{
	static const char *const words[CHECK_OUTCOMES] = { "Everything that was checked passed",
							   "Passed, with warnings", "Something failed",
							   "Nothing here has a verdict" };
	enum check_outcome worst = report_verdict(r);
	buf_printf(to, "<section class=\"verdict %s\" id=\"verdict\" aria-label=\"Verdict\">\n<h2>",
		   check_outcome_text(worst));
	report_mark(to, worst);
	buf_printf(to, " <span class=\"words\">%s</span></h2>\n<ul class=\"cards\">\n", words[worst]);
	for (const struct report_section *const *s = sections; *s; s++) {
		struct report_summary one = { .outcome = CHECK_SKIP };
		bool there = (*s)->is_there(r);
		if (there)
			(*s)->summarize(r, &one);
		buf_printf(to, "<li class=\"card %s\"><a href=\"#%s\"><b>%s</b>",
			   there ? check_outcome_text(one.outcome) : "absent", (*s)->id, (*s)->title);
		if (there && one.outcome != CHECK_SKIP)
			report_mark(to, one.outcome);
		buf_str(to, "</a> ");
		if (one.simulated)
			report_simulated(to);
		html_tag(to, "p", NULL, "%s", there ? one.text : "not in this report");
		buf_str(to, "</li>\n");
	}
	buf_str(to, "</ul>\n</section>\n");
}

int report_page(const struct report *r, struct buf *to, struct err *e)
{
	page_head(r, to);
	verdict(r, to);
	for (const struct report_section *const *s = sections; *s; s++) {
		buf_printf(to, "<section id=\"%s\">\n<h2>%s</h2>\n", (*s)->id, (*s)->title);
		if ((*s)->is_there(r)) {
			(*s)->write(r, to);
		} else {
			buf_str(to, "<p class=\"muted\">No result was given. It comes from ");
			html_tag(to, "code", NULL, "%s", (*s)->how);
			buf_str(to, ".</p>\n");
		}
		buf_str(to, "</section>\n");
	}
	int rc = buf_str(to, "</main>\n<footer>Readable offline: this file refers to nothing outside itself but by "
			     "links to sources.</footer>\n"
			     "</body>\n</html>\n");
	return rc < 0 ? err_set(e, rc, "report: %s",
				rc == -E2BIG ? "the page would be larger than 64 MiB" : "out of memory")
		      : 0;
}

int report_write(const struct report *r, const char *path, struct err *e)
{
	AUTO_BUF page;
	buf_init(&page, MAX_PAGE_BYTES);
	int rc = report_page(r, &page, e);
	return rc < 0 ? rc : fdio_write_file(AT_FDCWD, path, page.data, page.len, 0644, e);
}
