/* SPDX-License-Identifier: MIT */
#include "stack/plan_steps.h"

#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/state.h"
#include "stack/version.h"
#include "stack/words.h"

/* A plan in the making. resolutions[i] belongs to p->steps[i]; step_of[k] is the step of the selection's item k. */
struct making {
	struct plan *p;
	const struct stack *stack;
	const struct selection *sel;
	struct apt *apt;
	struct resolution **resolutions;
	size_t *step_of;
	char **versions; /* of the selection's items */
};

static struct plan_step *last_step(struct making *m)
{
	return &m->p->steps[m->p->step_count - 1];
}

/* Takes name (NULL: out of memory). */
static int begin_step(struct making *m, enum plan_step_kind kind, char *name, struct err *e)
{
	if (!name)
		return err_set(e, -ENOMEM, "out of memory");
	struct plan_step *s = &m->p->steps[m->p->step_count++];
	s->kind = kind;
	s->name = name;
	s->buildroot = SIZE_MAX;
	return 0;
}

/* Resolves the last step's packages over the steps it needs. */
static int resolve_last(struct making *m, char *const *requests, const char *what, struct err *e)
{
	struct plan_step *s = last_step(m);
	const struct resolution **have = calloc(s->need_count + 1, sizeof(*have));
	if (!have)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->need_count; i++)
		have[i] = m->resolutions[s->needs[i]];
	int rc =
		apt_ask_packages(m->apt, requests, have, s->need_count, what, &m->resolutions[m->p->step_count - 1], e);
	free(have);
	return rc;
}

/* The version of a package in the last step or in what it stands on. */
static const char *version_in(const struct making *m, const char *package)
{
	const struct plan_step *s = &m->p->steps[m->p->step_count - 1];
	const char *version = resolution_version(m->resolutions[m->p->step_count - 1], package);
	for (size_t i = 0; !version && i < s->need_count; i++)
		version = resolution_version(m->resolutions[s->needs[i]], package);
	return version;
}

/* What install.sh is told to install: every listed package with the version that it got. */
static int fill_packages(struct making *m, const json_t *list, const struct component *c, struct err *e)
{
	struct plan_step *s = last_step(m);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *package = json_string_value(json_array_get(list, i));
		const char *version = version_in(m, package);
		if (!version)
			return json_doc_error(c->doc, "/os", e,
					      "package '%s' is a virtual one: name one that provides it", package);
		int rc = words_add(&s->packages, str_printf("%s=%s", package, version), e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_base(struct making *m, struct err *e)
{
	/* what mmdebstrap --variant=minbase installs */
	char *requests[] = { "?essential", "?priority(required)", "apt", NULL };
	int rc = begin_step(m, PLAN_BASE, strdup("base"), e);
	if (rc < 0 || (rc = resolve_last(m, requests, "base", e)) < 0)
		return rc;
	const char *version = resolution_version(m->resolutions[0], "base-files"); /* carries the point release */
	struct plan_step *s = last_step(m);
	s->version = strdup(version ? version : m->p->suite);
	s->needs = calloc(1, sizeof(*s->needs));
	return s->version && s->needs ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* needs of a component: base, and the steps of the items that it needs. */
static int fill_needs(struct making *m, const struct selection_item *item, struct err *e)
{
	struct plan_step *s = last_step(m);
	size_t more = item ? item->need_count : 0;
	if (!(s->needs = calloc(more + 1, sizeof(*s->needs))))
		return err_set(e, -ENOMEM, "out of memory");
	s->need_count = more + 1; /* needs[0] is 0: base */
	for (size_t i = 0; i < more; i++)
		s->needs[i + 1] = m->step_of[item->needs[i]];
	return 0;
}

static int add_buildroot(struct making *m, const struct component *c, struct err *e)
{
	const json_t *list = component_build_packages(c, m->stack->os);
	AUTO_STRINGS requests = NULL;
	int rc = begin_step(m, PLAN_BUILDROOT, str_printf("%s:buildroot", c->name), e);
	if (rc < 0 || (rc = fill_needs(m, NULL, e)) < 0 || (rc = words_add_json(&requests, list, e)) < 0)
		return rc;
	if ((rc = resolve_last(m, requests, last_step(m)->name, e)) < 0 || (rc = fill_packages(m, list, c, e)) < 0)
		return rc;
	/* Nothing pins a compiler but the snapshot: its version is that of its first package. */
	const char *version = strchr(last_step(m)->packages[0], '=') + 1;
	last_step(m)->version = strdup(version);
	return last_step(m)->version ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static int fill_sources(struct plan_step *s, const json_t *sources, struct err *e)
{
	size_t count = json_array_size(sources);
	if (!(s->sources = calloc(count + 1, sizeof(*s->sources))))
		return err_set(e, -ENOMEM, "out of memory");
	for (; s->source_count < count; s->source_count++) {
		const json_t *row = json_array_get(sources, s->source_count);
		const json_t *bytes = json_object_get(row, "bytes");
		struct plan_source *to = &s->sources[s->source_count];
		to->url = strdup(json_string_value(json_object_get(row, "url")));
		to->file = strdup(json_string_value(json_object_get(row, "file")));
		to->bytes = bytes ? json_integer_value(bytes) : -1;
		memcpy(to->sha256, json_string_value(json_object_get(row, "sha256")), DIGEST_HEX_BYTES);
		if (!to->url || !to->file)
			return err_set(e, -ENOMEM, "out of memory");
	}
	return 0;
}

/* kiln's own source: DATA itself, installed or in a checkout. Gives the folder. */
static int find_source_tree(char **ret, struct err *e)
{
	AUTO_STR meson = NULL;
	if (state_data("meson.build", &meson, NULL) < 0)
		return err_set(e, -ENOSYS,
			       "kiln's own source is not there to be compiled for the image: run kiln from its source "
			       "tree, or install it with 'make install'");
	*strrchr(meson, '/') = '\0';
	*ret = steal(meson);
	return 0;
}

/* Only what is compiled, so that a change in a test or in another component does not make kiln anew. */
static int fill_source_tree(struct plan_step *s, struct err *e)
{
	static const struct {
		const char *path;
		bool is_folder;
	} parts[] = {
		{ "meson.build", false },
		{ "meson_options.txt", false },
		{ "scripts/catalog.py", false },
		{ "src", true },
		{ "catalog", true },
	};
	AUTO(digest) d = digest_new();
	char sum[DIGEST_HEX_BYTES];
	int rc = d ? find_source_tree(&s->source_tree, e) : err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < COUNT_OF(parts); i++) {
		AUTO_STR path = fdio_join(s->source_tree, parts[i].path);
		if (!path)
			return err_set(e, -ENOMEM, "out of memory");
		rc = parts[i].is_folder ? digest_of_tree(path, sum, e) : digest_of_file(AT_FDCWD, path, sum, e);
		if (rc < 0)
			return rc;
		digest_add_field(d, parts[i].path);
		digest_add_field(d, sum);
		rc = words_add(&s->source_paths, strdup(parts[i].path), e);
	}
	if (rc < 0)
		return rc;
	digest_hex(d, sum);
	s->source_digest = strdup(sum);
	return s->source_digest ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* The packages of a component for apt: the one that gives the version pinned to it. */
static int make_requests(const struct making *m, const struct component *c, const char *version, char ***ret,
			 struct err *e)
{
	const json_t *list = component_packages(c, m->stack->os);
	const char *version_of = component_version_of(c, m->stack->os);
	AUTO_STRINGS requests = NULL;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *package = json_string_value(json_array_get(list, i));
		bool is_pinned = version_of && strcmp(package, version_of) == 0;
		int rc = words_add(&requests, is_pinned ? str_printf("%s=%s", package, version) : strdup(package), e);
		if (rc < 0)
			return rc;
	}
	*ret = steal(requests);
	return 0;
}

static int fill_component(struct making *m, size_t index, struct err *e)
{
	const struct selection_item *item = &m->sel->items[index];
	const struct component *c = item->component;
	struct plan_step *s = last_step(m);
	AUTO_STRINGS requests = NULL;
	s->version = steal(m->versions[index]);
	int rc = fill_needs(m, item, e);
	if (rc < 0 || (rc = make_requests(m, c, s->version, &requests, e)) < 0)
		return rc;
	if (requests) {
		if ((rc = resolve_last(m, requests, c->name, e)) < 0)
			return rc;
	} else if ((rc = resolution_parse("", "", &m->resolutions[m->p->step_count - 1], e)) < 0) {
		return rc;
	}
	if ((rc = fill_packages(m, component_packages(c, m->stack->os), c, e)) < 0 ||
	    (rc = fill_sources(s, c->sources, e)) < 0 ||
	    (rc = words_add(&s->env, str_printf("KILN_VERSION=%s", s->version), e)) < 0 ||
	    (rc = words_add_env(&s->env, c->env, e)) < 0 || (rc = words_add_env(&s->image_env, c->env, e)) < 0)
		return rc;
	if (!(s->dir = strdup(c->dir)) || (item->needed_by && !(s->needed_by = strdup(item->needed_by))))
		return err_set(e, -ENOMEM, "out of memory");
	return c->is_self ? fill_source_tree(s, e) : 0;
}

static int add_component(struct making *m, size_t index, struct err *e)
{
	const struct component *c = m->sel->items[index].component;
	size_t buildroot = SIZE_MAX;
	if (json_array_size(component_build_packages(c, m->stack->os)) > 0) {
		int rc = add_buildroot(m, c, e);
		if (rc < 0)
			return rc;
		buildroot = m->p->step_count - 1;
	}
	int rc = begin_step(m, PLAN_COMPONENT, strdup(c->name), e);
	if (rc < 0)
		return rc;
	last_step(m)->buildroot = buildroot;
	m->step_of[index] = m->p->step_count - 1;
	return fill_component(m, index, e);
}

/* Takes every package of the image's steps once; two versions of one package are refused. */
static int gather(const struct making *m, char ***ret, struct err *e)
{
	AUTO_STRINGS all = NULL;
	for (size_t i = 1; i < m->p->step_count; i++) {
		if (m->p->steps[i].kind != PLAN_COMPONENT)
			continue;
		for (char **name = m->resolutions[i]->names; *name; name++) {
			AUTO_STR package = strndup(*name, strcspn(*name, "="));
			if (!package)
				return err_set(e, -ENOMEM, "out of memory");
			for (size_t k = 0; k < i; k++) {
				const char *other = m->p->steps[k].kind == PLAN_BUILDROOT
							    ? NULL
							    : resolution_version(m->resolutions[k], package);
				if (other && strcmp(other, *name + strlen(package) + 1) != 0)
					return err_input(e,
							 "%s: '%s' takes %s %s and '%s' takes %s; give the two "
							 "versions that go together",
							 m->stack->doc->path, m->p->steps[k].name, package, other,
							 m->p->steps[i].name, *name);
			}
			int rc = words_has(all, *name) ? 0 : words_add(&all, strdup(*name), e);
			if (rc < 0)
				return rc;
		}
	}
	words_sort(all);
	*ret = steal(all);
	return 0;
}

/* Layers are made apart and laid over one another, so what they hold together must be a set that apt would install:
 * nothing missing, nothing in conflict. */
static int check_together(const struct making *m, struct err *e)
{
	AUTO_STRINGS all = NULL;
	AUTO(resolution) r = NULL;
	int rc = gather(m, &all, e);
	if (rc < 0 || !all)
		return rc;
	const struct resolution *base[] = { m->resolutions[0] };
	rc = apt_ask_packages(m->apt, all, base, 1, "all components together", &r, e);
	if (rc < 0)
		return err_wrap(e, "%s", m->stack->doc->path);
	if (r->count != words_count(all))
		return err_input(e,
				 "%s: together the components would take %zu packages, one by one %zu: their versions "
				 "do not fit",
				 m->stack->doc->path, r->count, words_count(all));
	return 0;
}

/* The steps take over what was resolved for them. */
static void hand_over(struct making *m)
{
	for (size_t i = 0; i < m->p->step_count; i++) {
		struct resolution *r = m->resolutions[i];
		struct plan_step *s = &m->p->steps[i];
		s->debs = steal(r->debs); /* NOLINT(clang-analyzer-core.NullDereference): each step was resolved */
		s->deb_count = r->count;
		s->deb_index = steal(r->index);
	}
}

static int fill(struct making *m, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < m->sel->count;
	     i++) /* first, since a wrong version is the likeliest mistake */
		rc = version_choose(m->apt, m->stack, m->sel, i, &m->versions[i], e);
	if (rc == 0)
		rc = add_base(m, e);
	for (size_t i = 0; rc == 0 && i < m->sel->count; i++)
		rc = add_component(m, i, e);
	if (rc < 0 || (rc = check_together(m, e)) < 0)
		return rc;
	hand_over(m);
	return 0;
}

int plan_steps_fill(struct plan *p, const struct stack *s, const struct selection *sel, struct apt *a, struct err *e)
{
	size_t most = 1 + 2 * sel->count; /* base, and a buildroot for each */
	struct making m = { .p = p, .stack = s, .sel = sel, .apt = a };
	p->steps = calloc(most, sizeof(*p->steps));
	m.resolutions = calloc(most, sizeof(struct resolution *));
	m.step_of = calloc(most, sizeof(*m.step_of));
	m.versions = calloc(most, sizeof(*m.versions));
	int rc = p->steps && m.resolutions && m.step_of && m.versions ? fill(&m, e)
								      : err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; m.resolutions && i < most; i++)
		resolution_free(m.resolutions[i]);
	for (size_t i = 0; m.versions && i < most; i++)
		free(m.versions[i]);
	free(m.resolutions);
	free(m.step_of);
	free(m.versions);
	return rc;
}
