/* SPDX-License-Identifier: MIT */
#include "stack/os.h"

#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/state.h"
#include "stack/words.h"

static const struct json_field file_fields[] = {
	{ "os", JSON_KIND_INT, true },
	{ "rows", JSON_KIND_ARRAY, true },
	{ 0 },
};

static const struct json_field row_fields[] = {
	{ "name", JSON_KIND_STRING, true },
	{ "title", JSON_KIND_STRING, true },
	{ "suite", JSON_KIND_STRING, true },
	{ "family", JSON_KIND_STRING, true },
	{ "keyring", JSON_KIND_STRING, true },
	{ "keyring_package", JSON_KIND_STRING, true },
	{ "mirrors", JSON_KIND_ARRAY, true },
	{ "source", JSON_KIND_STRING, true }, /* where the row's facts come from, and when they were read */
	{ "date", JSON_KIND_STRING, true },
	{ 0 },
};

static const struct json_field mirror_fields[] = {
	{ "uri", JSON_KIND_STRING, true },
	{ "suites", JSON_KIND_ARRAY, true },
	{ "components", JSON_KIND_ARRAY, true },
	{ 0 },
};

static int check_words(const struct json_doc *d, const char *at, const json_t *list, struct err *e)
{
	if (json_array_size(list) == 0)
		return json_doc_error(d, at, e, "this list is empty; it needs at least one name");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));
		if (!word || !word[0] || strpbrk(word, " \t\n"))
			return json_doc_error(d, at, e, "this list holds something that is not a name without blanks");
	}
	return 0;
}

static int check_row(const struct json_doc *d, size_t i, const json_t *row, struct err *e)
{
	AUTO_STR at = str_printf("/rows/%zu", i);
	if (!at)
		return err_set(e, -ENOMEM, "out of memory");
	int rc = json_doc_check(d, at, row_fields, e);
	if (rc < 0)
		return rc;
	const json_t *mirrors = json_object_get(row, "mirrors");
	if (json_array_size(mirrors) == 0)
		return json_doc_error(d, at, e, "a row needs at least one mirror");
	for (size_t m = 0; m < json_array_size(mirrors); m++) {
		AUTO_STR where = str_printf("/rows/%zu/mirrors/%zu", i, m);
		const json_t *mirror = json_array_get(mirrors, m);
		if (!where)
			return err_set(e, -ENOMEM, "out of memory");
		if ((rc = json_doc_check(d, where, mirror_fields, e)) < 0 ||
		    (rc = check_words(d, where, json_object_get(mirror, "suites"), e)) < 0 ||
		    (rc = check_words(d, where, json_object_get(mirror, "components"), e)) < 0)
			return rc;
	}
	return 0;
}

static int load_file(struct json_doc **ret, struct err *e)
{
	AUTO_STR dir = NULL;
	int rc = state_data("catalog", &dir, e);
	if (rc < 0)
		return rc;
	AUTO_STR path = fdio_join(dir, "os.json");
	AUTO(json_doc) d = NULL;
	if (!path)
		return err_set(e, -ENOMEM, "out of memory");
	if ((rc = json_doc_load(path, &d, e)) < 0 || (rc = json_doc_check(d, "", file_fields, e)) < 0)
		return rc;
	const json_t *rows = json_object_get(d->root, "rows");
	for (size_t i = 0; i < json_array_size(rows); i++)
		if ((rc = check_row(d, i, json_array_get(rows, i), e)) < 0)
			return rc;
	*ret = steal(d);
	return 0;
}

static const char *text_of(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

int os_names(char ***ret, struct err *e)
{
	AUTO(json_doc) d = NULL;
	AUTO_STRINGS names = NULL;
	int rc = load_file(&d, e);
	if (rc < 0)
		return rc;
	const json_t *rows = json_object_get(d->root, "rows");
	for (size_t i = 0; i < json_array_size(rows); i++)
		if ((rc = words_add(&names, strdup(text_of(json_array_get(rows, i), "name")), e)) < 0)
			return rc;
	words_sort(names);
	*ret = steal(names);
	return 0;
}

int os_load(const char *name, struct os **ret, struct err *e)
{
	AUTO(os) os = calloc(1, sizeof(*os));
	if (!os)
		return err_set(e, -ENOMEM, "out of memory");
	int rc = load_file(&os->doc, e);
	if (rc < 0)
		return rc;
	const json_t *rows = json_object_get(os->doc->root, "rows");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		if (strcmp(text_of(row, "name"), name) != 0)
			continue;
		os->name = text_of(row, "name");
		os->title = text_of(row, "title");
		os->suite = text_of(row, "suite");
		os->keyring = text_of(row, "keyring");
		os->keyring_package = text_of(row, "keyring_package");
		os->mirrors = json_object_get(row, "mirrors");
		*ret = steal(os);
		return 0;
	}
	return err_set(e, -ENOENT, "no operating system '%s' in %s", name, os->doc->path);
}

void os_free(struct os *os)
{
	if (!os)
		return;
	json_doc_free(os->doc);
	free(os);
}

static char *joined(const json_t *array)
{
	AUTO_STRINGS words = NULL;
	if (words_add_json(&words, array, NULL) < 0)
		return NULL;
	return words_join(words, " ");
}

int os_apt_sources(const struct os *os, const char *architecture, char ***ret_mirrors, char **ret, struct err *e)
{
	AUTO_BUF text;
	AUTO_STRINGS list = NULL;
	buf_init(&text, 64 << 10);
	for (size_t i = 0; i < json_array_size(os->mirrors); i++) {
		const json_t *mirror = json_array_get(os->mirrors, i);
		AUTO_STR suites = joined(json_object_get(mirror, "suites"));
		AUTO_STR components = joined(json_object_get(mirror, "components"));
		if (!suites || !components)
			return err_set(e, -ENOMEM, "out of memory");
		int rc = words_add(&list, str_printf("%s %s", text_of(mirror, "uri"), suites), e);
		if (rc < 0)
			return rc;
		const char *uri = text_of(mirror, "uri");
		bool is_copied = architecture && strncmp(uri, "file:", 5) == 0;
		buf_printf(&text, "%sTypes: deb\nURIs: %s%s\nSuites: %s\nComponents: %s\n", i ? "\n" : "",
			   is_copied ? "copy:" : "", is_copied ? uri + 5 : uri, suites, components);
		if (architecture)
			buf_printf(&text, "Architectures: %s\n", architecture);
		buf_printf(&text, "Signed-By: %s\n", os->keyring);
	}
	char *whole = buf_steal(&text);
	if (!whole)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = whole;
	if (ret_mirrors)
		*ret_mirrors = steal(list);
	return 0;
}
