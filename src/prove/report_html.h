/* SPDX-License-Identifier: MIT */
/*
 * Text into a page: everything that comes from a result file goes through here, for it may hold what any process on a
 * node chose to call itself. And values out of result files, which may lack any of them.
 */
#ifndef KILN_PROVE_REPORT_HTML_H
#define KILN_PROVE_REPORT_HTML_H

#include <jansson.h>

#include "base/buf.h"

/* Escaped for element content and for quoted attributes; control and bidi-override characters, and bytes that are not
 * UTF-8 (a text that was cut), become U+FFFD. */
void html_text(struct buf *to, const char *text);
/* <tag class="...">text</tag>; class may be NULL. tag and class are ours, the formatted text is escaped. */
void html_tag(struct buf *to, const char *tag, const char *class, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* html_tag of a count: no decimals, "–" for NAN. */
void html_count_cell(struct buf *to, const char *tag, const char *class, double v);
/* A link when it is https://, else plain text. */
void html_link(struct buf *to, const char *url, const char *text);

/* A string member; "" when it is not there or not a string. Borrowed. */
const char *html_json_str(const json_t *of, const char *key);
/* A number; NAN when it is not there or not a number. */
double html_json_num(const json_t *of, const char *key);
/* False when it is not there. */
int html_json_true(const json_t *of, const char *key);

#define HTML_TEXT_BYTES 32
/* 431214592 -> "411 MiB"; "–" for NAN. */
void html_bytes(double bytes, char ret[HTML_TEXT_BYTES]);
/* Seconds as "0.42 s", "12.3 s", "2 min 5 s"; "–" for NAN. */
void html_seconds(double seconds, char ret[HTML_TEXT_BYTES]);
/* Three or so significant digits, "–" for NAN. */
void html_number(double v, char ret[HTML_TEXT_BYTES]);
/* A count or a number of bytes, without decimals; "–" for NAN. */
void html_count(double v, char ret[HTML_TEXT_BYTES]);
/* RFC 3339 UTC to seconds since 1970, with its fraction; NAN when it is none. */
double html_time(const char *text);

#endif
