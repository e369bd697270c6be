/* SPDX-License-Identifier: MIT */
#include "stack/stack.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "stack/os.h"
#include "stack/words.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789.-"
/* What a Debian version may hold (deb-version(7)). */
#define VERSION_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-:~"
#define NAME_MAX_BYTES 64

/* stacks/schema.json says the same to editors; tests/cli/plan.bats compares the two. */
static const struct json_field fields[] = {
	{ "$schema", JSON_KIND_STRING, false },
	{ "stack", JSON_KIND_INT, true },
	{ "name", JSON_KIND_STRING, true },
	{ "os", JSON_KIND_STRING, true },
	{ "components", JSON_KIND_OBJECT, true },
	{ "env", JSON_KIND_OBJECT, false },
	{ 0 },
};

static bool is_name(const char *s)
{
	return (islower((unsigned char)s[0]) || isdigit((unsigned char)s[0])) && !s[strspn(s, NAME_CHARS)] &&
	       strlen(s) <= NAME_MAX_BYTES;
}

static int check_components(const struct stack *s, struct err *e)
{
	const char *name;
	json_t *value;
	if (json_object_size(s->components) == 0)
		return json_doc_error(s->doc, "/components", e,
				      "'components' is empty; list at least one, as \"libfabric\": \"latest\"");
	json_object_foreach ((json_t *)s->components, name, value) {
		AUTO_STR at = str_printf("/components/%s", name);
		const char *spec = json_string_value(value);
		if (!at)
			return err_set(e, -ENOMEM, "out of memory");
		if (!is_name(name))
			return json_doc_error(
				s->doc, "/components", e,
				"'%s' cannot be a component: names are lower-case letters, digits, . and -", name);
		if (!spec)
			return json_doc_error(s->doc, at, e,
					      "the version of '%s' is not a string; write \"latest\", \"self\", "
					      "\"=other\" or a version such as \"1.2.3\"",
					      name);
		const char *rest = spec[0] == '=' ? spec + 1 : spec;
		if (!isalnum((unsigned char)rest[0]) || rest[strspn(rest, VERSION_CHARS)])
			return json_doc_error(s->doc, at, e,
					      "'%s' is not a version of '%s'; write \"latest\", \"self\", \"=other\" "
					      "or a version such as \"1.2.3\"",
					      spec, name);
	}
	return 0;
}

/* The environment ends up as lines of /etc/environment and in the image's configuration: one line each. */
static int check_env(const struct stack *s, struct err *e)
{
	const char *name;
	json_t *value;
	json_object_foreach ((json_t *)s->env, name, value) {
		AUTO_STR at = str_printf("/env/%s", name);
		const char *text = json_string_value(value);
		if (!at)
			return err_set(e, -ENOMEM, "out of memory");
		bool is_good = isalpha((unsigned char)name[0]) || name[0] == '_';
		for (const char *c = name; *c && is_good; c++)
			is_good = isalnum((unsigned char)*c) || *c == '_';
		if (!is_good)
			return json_doc_error(s->doc, "/env", e,
					      "'%s' cannot be an environment variable: use letters, digits and _",
					      name);
		if (!text)
			return json_doc_error(s->doc, at, e, "the value of %s is not a string; put it in quotes", name);
		for (const char *c = text; *c; c++)
			if (iscntrl((unsigned char)*c))
				return json_doc_error(s->doc, at, e,
						      "the value of %s holds a newline or another control character",
						      name);
	}
	return 0;
}

static int check_os(const struct stack *s, struct err *e)
{
	AUTO_STRINGS known = NULL;
	int rc = os_names(&known, e);
	if (rc < 0)
		return rc;
	return words_has(known, s->os) ? 0 : words_unknown(s->doc, "/os", "os", s->os, known, e);
}

int stack_load(const char *path, struct stack **ret, struct err *e)
{
	AUTO(stack) s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	int rc = json_doc_load(path, &s->doc, e);
	if (rc < 0) {
		if (e && (rc == -ENOENT || rc == -ENOTDIR || rc == -EISDIR))
			e->space = ERR_INPUT; /* the user named a file that is none */
		return rc;
	}
	if ((rc = json_doc_check(s->doc, "", fields, e)) < 0)
		return rc;
	const json_t *root = s->doc->root;
	json_int_t version = json_integer_value(json_object_get(root, "stack"));
	if (version != 1)
		return json_doc_error(s->doc, "/stack", e,
				      "stack files of version %lld are not known; this kiln reads version 1",
				      (long long)version);
	s->name = json_string_value(json_object_get(root, "name"));
	s->os = json_string_value(json_object_get(root, "os"));
	s->components = json_object_get(root, "components");
	s->env = json_object_get(root, "env");
	if (!is_name(s->name))
		return json_doc_error(s->doc, "/name", e,
				      "'%s' cannot be a stack's name: use at most %d lower-case letters, digits, . and "
				      "-, beginning with a letter or digit",
				      s->name, NAME_MAX_BYTES);
	if ((rc = check_os(s, e)) < 0 || (rc = check_components(s, e)) < 0 || (rc = check_env(s, e)) < 0)
		return rc;
	*ret = steal(s);
	return 0;
}

void stack_free(struct stack *s)
{
	if (!s)
		return;
	json_doc_free(s->doc);
	free(s);
}
