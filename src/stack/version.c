/* SPDX-License-Identifier: MIT */
#include "stack/version.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "stack/words.h"

/* "1:9.2p1-2+deb12u3" is "9.2p1" upstream. */
static bool is_upstream(const char *version, const char *upstream)
{
	const char *colon = strchr(version, ':');
	const char *from = colon ? colon + 1 : version;
	const char *dash = strrchr(from, '-');
	size_t n = dash ? (size_t)(dash - from) : strlen(from);
	return strlen(upstream) == n && strncmp(from, upstream, n) == 0;
}

static const char *pick(char *const *versions, const char *spec)
{
	for (char *const *v = versions; *v; v++)
		if (strcmp(*v, spec) == 0)
			return *v;
	for (char *const *v = versions; *v; v++)
		if (is_upstream(*v, spec))
			return *v;
	return NULL;
}

static int choose_self(const struct stack *s, const struct component *c, const char *spec, const char *at, char **ret,
		       struct err *e)
{
	if (strcmp(spec, "self") != 0 && strcmp(spec, "latest") != 0 && strcmp(spec, KILN_VERSION) != 0)
		return json_doc_error(s->doc, at, e, "%s %s is not available: this kiln is %s; write \"self\"", c->name,
				      spec, KILN_VERSION);
	*ret = strdup(KILN_VERSION);
	return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static int choose_package(struct apt *a, const struct stack *s, const struct component *c, const char *spec,
			  const char *at, char **ret, struct err *e)
{
	const char *package = component_version_of(c, s->os);
	AUTO_STRINGS versions = NULL;
	char date[CLOCK_TEXT_BYTES];
	if (strcmp(spec, "self") == 0)
		return json_doc_error(s->doc, at, e,
				      "'%s' is not made from kiln's own source: write \"latest\" or a version",
				      c->name);
	int rc = apt_ask_versions(a, package, &versions, e);
	if (rc < 0)
		return rc;
	clock_text(a->newest_date_s * 1000000000, date);
	date[strlen("2026-11-21")] = '\0';
	if (!versions[0])
		return json_doc_error(c->doc, "/os", e,
				      "package '%s' of component '%s' is not in the package snapshot of %s for %s",
				      package, c->name, date, s->os);
	const char *chosen = strcmp(spec, "latest") == 0 ? versions[0] : pick(versions, spec);
	if (!chosen) {
		AUTO_STR all = words_join(versions, ", ");
		return json_doc_error(s->doc, at, e, "%s %s is not available for %s: the package snapshot of %s has %s",
				      c->name, spec, s->os, date, all ? all : versions[0]);
	}
	*ret = strdup(chosen);
	return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int version_choose(struct apt *a, const struct stack *s, const struct selection *sel, size_t index, char **ret,
		   struct err *e)
{
	const struct component *c = sel->items[index].component;
	AUTO_STR at = str_printf("/components/%s", c->name);
	AUTO_STR other = NULL;
	const char *spec = sel->items[index].spec;
	if (!at)
		return err_set(e, -ENOMEM, "out of memory");
	if (spec[0] == '=') { /* the selection has seen to it that this ends */
		int rc = version_choose(a, s, sel, (size_t)selection_find(sel, spec + 1), &other, e);
		if (rc < 0)
			return rc;
		spec = other;
	}
	return c->is_self ? choose_self(s, c, spec, at, ret, e) : choose_package(a, s, c, spec, at, ret, e);
}
