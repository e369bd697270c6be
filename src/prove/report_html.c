/* SPDX-License-Identifier: MIT */
#include "prove/report_html.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Bytes of the UTF-8 character at c, 0 when it is none. */
static size_t character(const unsigned char *c)
{
	size_t n = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Bytes of a character that must not reach the page raw: C0 but tab and newline, DEL, C1, and the marks that turn the
 * direction of text (U+202A to U+202E, U+2066 to U+2069), which can make a name read as another. 0: fine. */
static size_t unsafe(const unsigned char *c)
{
	if (!character(c))
		return 1;
	if ((*c < 0x20 && *c != '\t' && *c != '\n') || *c == 0x7f)
		return 1;
	if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
		return 2;
	if (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae)
		return 3;
	if (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)
		return 3;
	return 0;
}

void html_text(struct buf *to, const char *text)
{
	for (const char *c = text ? text : ""; *c; c++) {
		size_t skip = unsafe((const unsigned char *)c);
		if (skip) {
			buf_str(to, "\xef\xbf\xbd");
			c += skip - 1;
		} else if (*c == '&') {
			buf_str(to, "&amp;");
		} else if (*c == '<') {
			buf_str(to, "&lt;");
		} else if (*c == '>') {
			buf_str(to, "&gt;");
		} else if (*c == '"') {
			buf_str(to, "&quot;");
		} else if (*c == '\'') {
			buf_str(to, "&#39;");
		} else {
			size_t n = character((const unsigned char *)c);
			buf_add(to, c, n);
			c += n - 1;
		}
	}
}

void html_tag(struct buf *to, const char *tag, const char *class, const char *fmt, ...)
{
	AUTO_BUF text;
	va_list ap;
	buf_init(&text, 1 << 20);
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	buf_printf(to, class ? "<%s class=\"%s\">" : "<%s>", tag, class ? class : "");
	html_text(to, buf_text(&text));
	buf_printf(to, "</%s>", tag);
}

void html_count_cell(struct buf *to, const char *tag, const char *class, double v)
{
	char text[HTML_TEXT_BYTES];
	html_count(v, text);
	html_tag(to, tag, class, "%s", text);
}

void html_link(struct buf *to, const char *url, const char *text)
{
	if (strncmp(url, "https://", 8) != 0) {
		html_text(to, text);
		return;
	}
	buf_str(to, "<a rel=\"noreferrer\" href=\"");
	html_text(to, url);
	buf_str(to, "\">");
	html_text(to, text);
	buf_str(to, "</a>");
}

const char *html_json_str(const json_t *of, const char *key)
{
	const char *s = json_string_value(json_object_get(of, key));
	return s ? s : "";
}

double html_json_num(const json_t *of, const char *key)
{
	const json_t *j = json_object_get(of, key);
	return json_is_number(j) ? json_number_value(j) : (double)NAN;
}

int html_json_true(const json_t *of, const char *key)
{
	return json_is_true(json_object_get(of, key));
}

void html_bytes(double v, char ret[HTML_TEXT_BYTES])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t at = 0;
	for (; v >= 1024 && at < 4; at++)
		v /= 1024;
	if (isnan(v))
		snprintf(ret, HTML_TEXT_BYTES, "–");
	else
		snprintf(ret, HTML_TEXT_BYTES, v < 10 && at ? "%.1f %s" : "%.0f %s", v, units[at]);
}

void html_seconds(double s, char ret[HTML_TEXT_BYTES])
{
	if (isnan(s))
		snprintf(ret, HTML_TEXT_BYTES, "–");
	else if (s < 60)
		snprintf(ret, HTML_TEXT_BYTES, s < 10 ? "%.2f s" : "%.1f s", s);
	else
		snprintf(ret, HTML_TEXT_BYTES, "%d min %02d s", (int)(s / 60), (int)fmod(s, 60));
}

void html_number(double v, char ret[HTML_TEXT_BYTES])
{
	if (isnan(v))
		snprintf(ret, HTML_TEXT_BYTES, "–");
	else if (fabs(v) >= 100 || v == 0)
		snprintf(ret, HTML_TEXT_BYTES, "%.0f", v);
	else
		snprintf(ret, HTML_TEXT_BYTES,
			 fabs(v) >= 10      ? "%.1f"
			 : fabs(v) >= 1     ? "%.2f"
			 : fabs(v) >= 0.001 ? "%.3f"
					    : "%.2g",
			 v);
}

void html_count(double v, char ret[HTML_TEXT_BYTES])
{
	if (isnan(v))
		snprintf(ret, HTML_TEXT_BYTES, "–");
	else
		snprintf(ret, HTML_TEXT_BYTES, "%.0f", v);
}

double html_time(const char *text)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return (double)NAN;
	double fraction = 0, place = 0.1;
	if (*rest == '.')
		for (rest++; *rest >= '0' && *rest <= '9'; rest++, place /= 10)
			fraction += (*rest - '0') * place;
	return *rest == 'Z' ? (double)timegm(&tm) + fraction : (double)NAN;
}
