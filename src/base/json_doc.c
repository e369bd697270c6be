/* SPDX-License-Identifier: MIT */
/* json_doc_load, _parse, _free, _error, _check. */
#define ERR_PLAIN
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/json.h"

#define DOC_MAX_BYTES (4u << 20)

/* text may hold a NUL, which jansson refuses as it should. */
static int parse(const char *path, const char *text, size_t len, struct json_doc **ret, struct err *e)
{
	AUTO(json_doc) d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(e, -ENOMEM, "%s: out of memory", path);
	d->path = strdup(path);
	d->text = strndup(text, len);
	if (!d->path || !d->text)
		return err_set(e, -ENOMEM, "%s: out of memory", path);
	size_t blank = strspn(text, " \t\r\n");
	if (blank >= len)
		return err_input(e, "%s:1:1: the file is empty; it must hold a JSON object", path);
	json_error_t why;
	d->root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!d->root)
		return err_input(e, "%s:%d:%d: %s", path, why.line > 0 ? why.line : 1, why.column > 0 ? why.column : 1,
				 why.text);
	*ret = steal(d);
	return 0;
}

int json_doc_parse(const char *path, const char *text, struct json_doc **ret, struct err *e)
{
	return parse(path, text, strlen(text), ret, e);
}

int json_doc_load(const char *path, struct json_doc **ret, struct err *e)
{
	bool standard = strcmp(path, "-") == 0;
	AUTO_STR text = NULL;
	size_t len = 0;
	struct err why = { 0 };
	int rc = fdio_read_file(AT_FDCWD, standard ? "/dev/stdin" : path, DOC_MAX_BYTES, &text, &len, &why);
	if (rc < 0) {
		/* What is wrong is the name that the user gave, not the machine: exit status 2. */
		if (rc == -ENOENT || rc == -ENOTDIR || rc == -EISDIR || rc == -EFBIG || rc == -ELOOP)
			why.space = ERR_INPUT;
		if (e)
			*e = why;
		return rc;
	}
	return parse(standard ? "standard input" : path, text, len, ret, e);
}

void json_doc_free(struct json_doc *d)
{
	if (!d)
		return;
	json_decref(d->root);
	free(d->text);
	free(d->path);
	free(d);
}

int json_doc_error(const struct json_doc *d, const char *pointer, struct err *e, const char *fmt, ...)
{
	char text[ERR_MSG_BYTES];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_input(e, "%s:%d: %s", d->path, json_doc_line(d, pointer), text);
}

static const char *kind_name(enum json_kind kind)
{
	switch (kind) {
	case JSON_KIND_STRING:
		return "a string";
	case JSON_KIND_INT:
		return "a whole number";
	case JSON_KIND_BOOL:
		return "true or false";
	case JSON_KIND_OBJECT:
		return "an object";
	case JSON_KIND_ARRAY:
		return "an array";
	case JSON_KIND_ANY:
		break;
	}
	return "anything";
}

static const char *type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		break;
	}
	return "null";
}

static bool is_kind(const json_t *value, enum json_kind kind)
{
	switch (kind) {
	case JSON_KIND_STRING:
		return json_is_string(value);
	case JSON_KIND_INT:
		return json_is_integer(value);
	case JSON_KIND_BOOL:
		return json_is_boolean(value);
	case JSON_KIND_OBJECT:
		return json_is_object(value);
	case JSON_KIND_ARRAY:
		return json_is_array(value);
	case JSON_KIND_ANY:
		break;
	}
	return true;
}

/* at + "/" + key with the key's ~ and / written as JSON pointers want them. NULL: out of memory. */
static char *below(const char *at, const char *key)
{
	AUTO_BUF b;
	buf_init(&b, DOC_MAX_BYTES);
	buf_printf(&b, "%s/", at);
	for (; *key; key++) {
		if (*key == '~')
			buf_str(&b, "~0");
		else if (*key == '/')
			buf_str(&b, "~1");
		else
			buf_add(&b, key, 1);
	}
	return buf_steal(&b);
}

static int unknown_key(const struct json_doc *d, const char *pointer, const char *key, const struct json_field *fields,
		       struct err *e)
{
	size_t count = 0;
	while (fields[count].key)
		count++;
	__attribute__((cleanup(own_free))) const char **words = calloc(count + 1, sizeof(*words));
	AUTO_BUF known;
	buf_init(&known, ERR_MSG_BYTES);
	for (size_t i = 0; words && i < count; i++) {
		words[i] = fields[i].key;
		buf_printf(&known, "%s%s", i ? ", " : "", fields[i].key);
	}
	const char *near = words ? str_nearest(key, words) : NULL;
	if (near)
		return json_doc_error(d, pointer, e, "unknown key '%s' (did you mean '%s'?)", key, near);
	return json_doc_error(d, pointer, e, "unknown key '%s'; known here: %s", key, buf_text(&known));
}

/* The value that a pointer names, or NULL. */
static const json_t *find(const json_t *value, const char *pointer)
{
	while (value && *pointer == '/') {
		char key[256];
		size_t n = 0;
		for (pointer++; *pointer && *pointer != '/'; pointer++) {
			char c = *pointer;
			if (c == '~' && (pointer[1] == '0' || pointer[1] == '1'))
				c = *++pointer == '0' ? '~' : '/';
			if (n + 1 < sizeof(key))
				key[n++] = c;
		}
		key[n] = '\0';
		value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
					     : json_object_get(value, key);
	}
	return value;
}

int json_doc_check(const struct json_doc *d, const char *at, const struct json_field *fields, struct err *e)
{
	const json_t *object = find(d->root, at);
	const char *key;
	json_t *value;
	if (!json_is_object(object))
		return json_doc_error(d, at, e, "'%s' must be an object, not %s", *at ? at + 1 : "the whole",
				      object ? type_name(object) : "missing");
	json_object_foreach ((json_t *)object, key, value) {
		AUTO_STR pointer = below(at, key);
		if (!pointer)
			return err_set(e, -ENOMEM, "%s: out of memory", d->path);
		const struct json_field *f = fields;
		while (f->key && strcmp(f->key, key) != 0)
			f++;
		if (!f->key)
			return unknown_key(d, pointer, key, fields, e);
		if (!is_kind(value, f->kind))
			return json_doc_error(d, pointer, e, "'%s' must be %s, not %s", key, kind_name(f->kind),
					      json_is_real(value) && f->kind == JSON_KIND_INT ? "a fraction"
											      : type_name(value));
	}
	for (const struct json_field *f = fields; f->key; f++)
		if (f->required && !json_object_get(object, f->key))
			return json_doc_error(d, at, e, "the key '%s' (%s) is missing%s%s", f->key, kind_name(f->kind),
					      *at ? " in " : "", *at ? at + 1 : "");
	return 0;
}
