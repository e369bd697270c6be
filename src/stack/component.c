/* SPDX-License-Identifier: MIT */
#include "stack/component.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/fdio.h"
#include "base/state.h"
#include "stack/words.h"

/* What a Debian package name may hold (Debian policy 5.6.1). */
#define PACKAGE_CHARS "abcdefghijklmnopqrstuvwxyz0123456789+-."
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-."

static const struct json_field fields[] = {
	{ "component", JSON_KIND_INT, true },
	{ "name", JSON_KIND_STRING, true },
	{ "help", JSON_KIND_STRING, true },
	{ "os", JSON_KIND_OBJECT, true },
	{ "needs", JSON_KIND_ARRAY, false },
	{ "sources", JSON_KIND_ARRAY, false },
	{ "env", JSON_KIND_OBJECT, false },
	{ "source", JSON_KIND_STRING, false },
	{ 0 },
};

static const struct json_field row_fields[] = {
	{ "packages", JSON_KIND_ARRAY, true },
	{ "version_of", JSON_KIND_STRING, false },
	{ "build_packages", JSON_KIND_ARRAY, false },
	{ 0 },
};

static const struct json_field source_fields[] = {
	{ "url", JSON_KIND_STRING, true },
	{ "sha256", JSON_KIND_STRING, true },
	{ "bytes", JSON_KIND_INT, false },
	{ "file", JSON_KIND_STRING, true },
	{ 0 },
};

int component_dirs_init(struct component_dirs *dirs, const char *extra, struct err *e)
{
	struct component_dirs d = { 0 };
	struct stat st;
	if (extra && (stat(extra, &st) < 0 || !S_ISDIR(st.st_mode)))
		return err_input(e, "--components '%s' is not a folder", extra);
	if (extra && !(d.at[0] = realpath(extra, NULL)))
		return err_sys(e, "components folder '%s'", extra);
	int rc = state_data("components", &d.at[1], e);
	if (rc < 0) {
		component_dirs_fini(&d);
		return rc;
	}
	*dirs = d;
	return 0;
}

void component_dirs_fini(struct component_dirs *dirs)
{
	for (size_t i = 0; i < COUNT_OF(dirs->at); i++)
		free(dirs->at[i]);
	memset(dirs, 0, sizeof(*dirs));
}

/* Gives DIR/NAME/FILE; NULL when out of memory. */
static char *path_of(const char *dir, const char *name, const char *file)
{
	return str_printf("%s/%s/%s", dir, name, file);
}

static int add_names(const char *dir, char ***names, struct err *e)
{
	AUTO_DIR d = opendir(dir);
	if (!d)
		return err_sys(e, "components folder '%s'", dir);
	for (const struct dirent *entry; (entry = readdir(d));) {
		if (entry->d_name[0] == '.' || words_has(*names, entry->d_name))
			continue;
		AUTO_STR path = path_of(dir, entry->d_name, "component.json");
		if (!path)
			return err_set(e, -ENOMEM, "out of memory");
		if (!fdio_exists(AT_FDCWD, path))
			continue;
		int rc = words_add(names, strdup(entry->d_name), e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int component_names(const struct component_dirs *dirs, char ***ret, struct err *e)
{
	AUTO_STRINGS names = NULL;
	for (size_t i = 0; i < COUNT_OF(dirs->at); i++) {
		int rc = dirs->at[i] ? add_names(dirs->at[i], &names, e) : 0;
		if (rc < 0)
			return rc;
	}
	words_sort(names);
	*ret = steal(names);
	return 0;
}

static int check_row(const struct component *c, const char *os, const json_t *row, struct err *e)
{
	AUTO_STR at = str_printf("/os/%s", os);
	size_t bad;
	if (!at)
		return err_set(e, -ENOMEM, "out of memory");
	if (!json_is_object(row))
		return json_doc_error(c->doc, at, e, "'%s' has to be an object with \"packages\" and \"version_of\"",
				      os);
	int rc = json_doc_check(c->doc, at, row_fields, e);
	if (rc < 0)
		return rc;
	const json_t *packages = json_object_get(row, "packages");
	const json_t *build = json_object_get(row, "build_packages");
	if (!words_are_plain(packages, PACKAGE_CHARS, &bad) || !words_are_plain(build, PACKAGE_CHARS, &bad))
		return json_doc_error(c->doc, at, e, "'%s' lists something that is not a package name", os);
	const char *version_of = json_string_value(json_object_get(row, "version_of"));
	if (c->is_self && version_of)
		return json_doc_error(c->doc, at, e, "\"version_of\" and \"source\": \"self\" exclude each other");
	if (!c->is_self && !version_of)
		return json_doc_error(c->doc, at, e,
				      "\"version_of\" is missing: name the package whose version is the component's");
	for (size_t i = 0; version_of && i < json_array_size(packages); i++)
		if (strcmp(json_string_value(json_array_get(packages, i)), version_of) == 0)
			return 0;
	return version_of ? json_doc_error(c->doc, at, e, "\"version_of\" names '%s', which is not one of the packages",
					   version_of)
			  : 0;
}

static int check_source(const struct component *c, size_t i, const json_t *source, struct err *e)
{
	AUTO_STR at = str_printf("/sources/%zu", i);
	if (!at)
		return err_set(e, -ENOMEM, "out of memory");
	if (!json_is_object(source))
		return json_doc_error(c->doc, at, e, "a source is an object with \"url\", \"sha256\" and \"file\"");
	int rc = json_doc_check(c->doc, at, source_fields, e);
	if (rc < 0)
		return rc;
	const char *url = json_string_value(json_object_get(source, "url"));
	const char *sum = json_string_value(json_object_get(source, "sha256"));
	const char *file = json_string_value(json_object_get(source, "file"));
	if (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0 && strncmp(url, "file:///", 8) != 0)
		return json_doc_error(c->doc, at, e, "url '%s' is neither https://, http:// nor file:///", url);
	if (strlen(sum) != DIGEST_HEX_BYTES - 1 || sum[strspn(sum, "0123456789abcdef")])
		return json_doc_error(c->doc, at, e, "sha256 of '%s' is not 64 lower-case hex digits", file);
	if (!file[0] || file[0] == '.' || strchr(file, '/'))
		return json_doc_error(c->doc, at, e, "file '%s' is not a plain file name", file);
	return 0;
}

static int check_needs(const struct component *c, struct err *e)
{
	size_t bad;
	if (words_are_plain(c->needs, NAME_CHARS, &bad))
		return 0;
	return json_doc_error(c->doc, "/needs", e, "entry %zu is not a component's name", bad + 1);
}

static int check_env(const struct component *c, struct err *e)
{
	const char *name;
	json_t *value;
	json_object_foreach ((json_t *)c->env, name, value) {
		const char *text = json_string_value(value);
		if (!text || strpbrk(text, "\n") || strpbrk(name, "= \n"))
			return json_doc_error(c->doc, "/env", e, "'%s' is not a NAME with a one-line text as value",
					      name);
	}
	return 0;
}

static int check_scripts(const struct component *c, struct err *e)
{
	static const char *const scripts[] = { "install.sh", "verify.sh" };
	for (size_t i = 0; i < COUNT_OF(scripts); i++) {
		AUTO_STR path = fdio_join(c->dir, scripts[i]);
		if (!path)
			return err_set(e, -ENOMEM, "out of memory");
		if (!fdio_exists(AT_FDCWD, path))
			return err_input(e, "component '%s' has no %s: '%s' is missing", c->name, scripts[i], path);
	}
	return 0;
}

static int check(struct component *c, const char *name, struct err *e)
{
	int rc = json_doc_check(c->doc, "", fields, e);
	if (rc < 0)
		return rc;
	const json_t *root = c->doc->root;
	json_int_t version = json_integer_value(json_object_get(root, "component"));
	if (version != 1)
		return json_doc_error(c->doc, "/component", e,
				      "component files of version %lld are not known; this kiln reads version 1",
				      (long long)version);
	c->name = json_string_value(json_object_get(root, "name"));
	c->os = json_object_get(root, "os");
	c->needs = json_object_get(root, "needs");
	c->env = json_object_get(root, "env");
	c->sources = json_object_get(root, "sources");
	const char *source = json_string_value(json_object_get(root, "source"));
	c->is_self = source && strcmp(source, "self") == 0;
	if (source && !c->is_self)
		return json_doc_error(c->doc, "/source", e, "\"source\" can only be \"self\", not '%s'", source);
	if (strcmp(c->name, name) != 0)
		return json_doc_error(c->doc, "/name", e, "the name '%s' differs from its folder's, '%s'", c->name,
				      name);

	const char *os;
	json_t *row;
	json_object_foreach ((json_t *)c->os, os, row)
		if ((rc = check_row(c, os, row, e)) < 0)
			return rc;
	for (size_t i = 0; i < json_array_size(c->sources); i++)
		if ((rc = check_source(c, i, json_array_get(c->sources, i), e)) < 0)
			return rc;
	if ((rc = check_needs(c, e)) < 0 || (rc = check_env(c, e)) < 0)
		return rc;
	return check_scripts(c, e);
}

int component_load(const struct component_dirs *dirs, const char *name, struct component **ret, struct err *e)
{
	AUTO(component) c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < COUNT_OF(dirs->at); i++) {
		AUTO_STR path = dirs->at[i] ? path_of(dirs->at[i], name, "component.json") : NULL;
		if (!path || !fdio_exists(AT_FDCWD, path))
			continue;
		if (!(c->dir = fdio_join(dirs->at[i], name)))
			return err_set(e, -ENOMEM, "out of memory");
		int rc = json_doc_load(path, &c->doc, e);
		if (rc < 0 || (rc = check(c, name, e)) < 0)
			return rc;
		*ret = steal(c);
		return 0;
	}
	return -ENOENT;
}

void component_free(struct component *c)
{
	if (!c)
		return;
	json_doc_free(c->doc);
	free(c->dir);
	free(c);
}

static const json_t *of_row(const struct component *c, const char *os, const char *key)
{
	return json_object_get(json_object_get(c->os, os), key);
}

const json_t *component_packages(const struct component *c, const char *os)
{
	return of_row(c, os, "packages");
}

const json_t *component_build_packages(const struct component *c, const char *os)
{
	return of_row(c, os, "build_packages");
}

const char *component_version_of(const struct component *c, const char *os)
{
	return json_string_value(of_row(c, os, "version_of"));
}
