/* SPDX-License-Identifier: MIT */
#include "stack/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

int words_add(char ***words, char *word, struct err *e)
{
	AUTO_STR taken = word;
	if (!taken)
		return err_set(e, -ENOMEM, "out of memory");
	size_t n = words_count(*words);
	char **grown = realloc(*words, (n + 2) * sizeof(*grown));
	if (!grown)
		return err_set(e, -ENOMEM, "out of memory");
	grown[n] = steal(taken);
	grown[n + 1] = NULL;
	*words = grown;
	return 0;
}

int words_add_json(char ***words, const json_t *array, struct err *e)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *text = json_string_value(json_array_get(array, i));
		int rc = words_add(words, strdup(text ? text : ""), e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int words_add_env(char ***words, const json_t *object, struct err *e)
{
	const char *name;
	json_t *value;
	json_object_foreach ((json_t *)object, name, value) {
		int rc = words_add(words, str_printf("%s=%s", name, json_string_value(value)), e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

size_t words_count(char *const *words)
{
	size_t n = 0;
	while (words && words[n])
		n++;
	return n;
}

bool words_has(char *const *words, const char *word)
{
	for (char *const *w = words; w && *w; w++)
		if (strcmp(*w, word) == 0)
			return true;
	return false;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void words_sort(char **words)
{
	if (words)
		qsort(words, words_count(words), sizeof(*words), by_bytes);
}

char *words_join(char *const *words, const char *between)
{
	AUTO_BUF b;
	buf_init(&b, 1 << 20);
	buf_str(&b, "");
	for (char *const *w = words; w && *w; w++) {
		if (w != words)
			buf_str(&b, between);
		buf_str(&b, *w);
	}
	return buf_steal(&b);
}

int words_unknown(const struct json_doc *d, const char *at, const char *kind, const char *word, char *const *known,
		  struct err *e)
{
	AUTO_STR all = words_join(known, ", ");
	const char *near = known ? str_nearest(word, (const char *const *)known) : NULL;
	if (near)
		return json_doc_error(d, at, e, "unknown %s '%s' (did you mean '%s'?); known: %s", kind, word, near,
				      all ? all : "");
	return json_doc_error(d, at, e, "unknown %s '%s'; known: %s", kind, word, all ? all : "");
}

bool words_are_plain(const json_t *array, const char *allowed, size_t *ret_bad)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *text = json_string_value(json_array_get(array, i));
		if (!text || !isalnum((unsigned char)text[0]) || text[strspn(text, allowed)]) {
			*ret_bad = i;
			return false;
		}
	}
	return true;
}
