/* SPDX-License-Identifier: MIT */
/*
 * json_doc_line: walks the text again to where a pointer leads. The text has been accepted by jansson, so only its
 * shape has to be followed; every loop still ends at the NUL.
 */
#include <string.h>

#include "base/json.h"

static const char *skip_blank(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* p is at the opening quote; gives what is behind the closing one. */
static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

static const char *skip_value(const char *p)
{
	unsigned depth = 0;
	do {
		p = skip_blank(p);
		if (*p == '"') {
			p = skip_string(p);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ']')
			depth--;
		else if (depth == 0)
			return p + strcspn(p, ",]} \t\r\n");
		if (*p)
			p++;
	} while (depth > 0 && *p);
	return p;
}

/* Whether the key that stands at p (a quoted string, maybe with escapes) reads as `want`. */
static bool is_key(const char *p, const char *want)
{
	json_t *key = json_loadb(p, (size_t)(skip_string(p) - p), JSON_DECODE_ANY, NULL);
	bool same = json_is_string(key) && strcmp(json_string_value(key), want) == 0;
	json_decref(key);
	return same;
}

/* One step down from the value at p. Gives where the member's key (ret_mark) and value are; NULL: there is none. */
static const char *step(const char *p, const char *want, const char **ret_mark)
{
	p = skip_blank(p);
	bool object = *p == '{';
	if (!object && *p != '[')
		return NULL;
	char *end;
	unsigned long index = strtoul(want, &end, 10);
	if (!object && (*end || end == want))
		return NULL;
	p = skip_blank(p + 1);
	for (unsigned long i = 0; *p && *p != '}' && *p != ']'; i++) {
		const char *mark = p;
		bool here = object ? is_key(p, want) : i == index;
		if (object) {
			p = skip_blank(skip_string(p));
			p = skip_blank(*p == ':' ? p + 1 : p);
		}
		if (here) {
			*ret_mark = mark;
			return p;
		}
		p = skip_blank(skip_value(p));
		if (*p == ',')
			p = skip_blank(p + 1);
	}
	return NULL;
}

/* Takes the next "/word" off a pointer, with ~1 and ~0 read. False at its end. */
static bool next_word(const char **pointer, char *word, size_t room)
{
	const char *p = *pointer;
	size_t n = 0;
	if (*p != '/')
		return false;
	for (p++; *p && *p != '/'; p++) {
		char c = *p;
		if (c == '~' && (p[1] == '0' || p[1] == '1'))
			c = *++p == '0' ? '~' : '/';
		if (n + 1 < room)
			word[n++] = c;
	}
	word[n] = '\0';
	*pointer = p;
	return true;
}

int json_doc_line(const struct json_doc *d, const char *pointer)
{
	const char *at = d->text, *mark = d->text;
	char word[256];
	while (next_word(&pointer, word, sizeof(word))) {
		at = step(at, word, &mark);
		if (!at)
			break;
	}
	int line = 1;
	for (const char *p = d->text; p < mark; p++)
		line += *p == '\n';
	return line;
}
