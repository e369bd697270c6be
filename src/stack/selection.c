/* SPDX-License-Identifier: MIT */
#include "stack/selection.h"

#include <string.h>

#include "base/buf.h"
#include "stack/words.h"

#define COMPONENTS_MAX 256

/* A walk through the needs, depth first. path holds the components between the stack and here, so that going round is
 * seen and can be shown. */
struct walk {
	const struct stack *stack;
	struct component_dirs dirs;
	struct selection *sel;
	const struct component *path[COMPONENTS_MAX];
	size_t depth;
};

int selection_find(const struct selection *sel, const char *name)
{
	for (size_t i = 0; i < sel->count; i++)
		if (strcmp(sel->items[i].component->name, name) == 0)
			return (int)i;
	return -1;
}

/* Where a component was asked for: the stack's line, or the needing component's. */
static int refuse_unknown(const struct walk *w, const char *name, struct err *e)
{
	AUTO_STRINGS known = NULL;
	AUTO_STR at = str_printf("/components/%s", name);
	int rc = component_names(&w->dirs, &known, e);
	if (rc < 0)
		return rc;
	if (!at)
		return err_set(e, -ENOMEM, "out of memory");
	if (w->depth > 0)
		return words_unknown(w->path[w->depth - 1]->doc, "/needs", "component", name, known, e);
	return words_unknown(w->stack->doc, at, "component", name, known, e);
}

static int refuse_os(const struct walk *w, const struct component *c, struct err *e)
{
	AUTO_STRINGS rows = NULL;
	AUTO_STR at = str_printf("/components/%s", c->name);
	const char *os;
	json_t *row;
	json_object_foreach ((json_t *)c->os, os, row) {
		int rc = words_add(&rows, strdup(os), e);
		if (rc < 0)
			return rc;
	}
	AUTO_STR list = words_join(rows, ", ");
	if (!at || !list)
		return err_set(e, -ENOMEM, "out of memory");
	return json_doc_error(w->stack->doc, at, e, "component '%s' does not exist for %s; it does for: %s", c->name,
			      w->stack->os, list[0] ? list : "nothing");
}

static int refuse_cycle(const struct walk *w, size_t from, const char *name, struct err *e)
{
	AUTO_STRINGS ring = NULL;
	for (size_t i = from; i < w->depth; i++) {
		int rc = words_add(&ring, strdup(w->path[i]->name), e);
		if (rc < 0)
			return rc;
	}
	int rc = words_add(&ring, strdup(name), e);
	if (rc < 0)
		return rc;
	AUTO_STR shown = words_join(ring, " -> ");
	return json_doc_error(w->path[w->depth - 1]->doc, "/needs", e,
			      "components %s need each other; take one of these needs away", shown ? shown : name);
}

/* The item's needs: its direct ones and all of theirs, ascending. */
static int fill_needs(const struct selection *sel, struct selection_item *item, struct err *e)
{
	bool is_needed[COMPONENTS_MAX] = { false };
	size_t count = 0;
	for (size_t i = 0; i < json_array_size(item->component->needs); i++) {
		int at = selection_find(sel, json_string_value(json_array_get(item->component->needs, i)));
		if (at < 0)
			continue; /* cannot be: the walk has put it there */
		is_needed[at] = true;
		for (size_t n = 0; n < sel->items[at].need_count; n++)
			is_needed[sel->items[at].needs[n]] = true;
	}
	if (!(item->needs = calloc(sel->count + 1, sizeof(*item->needs))))
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < sel->count; i++)
		if (is_needed[i])
			item->needs[count++] = i;
	item->need_count = count;
	return 0;
}

static int visit(struct walk *w, const char *name, struct err *e);

static int visit_needs(struct walk *w, const struct component *c, struct err *e)
{
	w->path[w->depth++] = c;
	for (size_t i = 0; i < json_array_size(c->needs); i++) {
		int rc = visit(w, json_string_value(json_array_get(c->needs, i)), e);
		if (rc < 0)
			return rc;
	}
	w->depth--;
	return 0;
}

static int add_item(struct walk *w, struct component **component, struct err *e)
{
	struct selection *sel = w->sel;
	const char *name = (*component)->name;
	const char *spec = json_string_value(json_object_get(w->stack->components, name));
	struct selection_item item = { .spec = spec ? spec : "latest" };
	if (!spec && w->depth > 0 && !(item.needed_by = strdup(w->path[w->depth - 1]->name)))
		return err_set(e, -ENOMEM, "out of memory");
	item.component = steal(*component);
	sel->items[sel->count] = item;
	int rc = fill_needs(sel, &sel->items[sel->count], e);
	sel->count++;
	return rc;
}

static int visit(struct walk *w, const char *name, struct err *e)
{
	if (selection_find(w->sel, name) >= 0)
		return 0;
	for (size_t i = 0; i < w->depth; i++)
		if (strcmp(w->path[i]->name, name) == 0)
			return refuse_cycle(w, i, name, e);
	if (w->depth >= COMPONENTS_MAX || w->sel->count >= COMPONENTS_MAX)
		return err_input(e, "%s: more than %d components", w->stack->doc->path, COMPONENTS_MAX);

	AUTO(component) c = NULL;
	int rc = component_load(&w->dirs, name, &c, e);
	if (rc == -ENOENT && !c)
		return refuse_unknown(w, name, e);
	if (rc < 0)
		return rc;
	if (!component_packages(c, w->stack->os))
		return refuse_os(w, c, e);
	if ((rc = visit_needs(w, c, e)) < 0)
		return rc;
	return add_item(w, &c, e);
}

/* "=other" has to name a selected component, and following such names has to end. */
static int check_references(const struct walk *w, struct err *e)
{
	for (size_t i = 0; i < w->sel->count; i++) {
		const struct selection_item *item = &w->sel->items[i];
		AUTO_STR at = str_printf("/components/%s", item->component->name);
		const char *spec = item->spec;
		for (size_t steps = 0; spec[0] == '='; steps++) {
			int other = selection_find(w->sel, spec + 1);
			if (!at)
				return err_set(e, -ENOMEM, "out of memory");
			if (other < 0)
				return json_doc_error(w->stack->doc, at, e,
						      "'%s' refers to component '%s', which the stack does not list",
						      item->spec, spec + 1);
			if (steps > w->sel->count)
				return json_doc_error(w->stack->doc, at, e,
						      "'%s' refers back to '%s': give one of them a version",
						      item->spec, item->component->name);
			spec = w->sel->items[other].spec;
		}
	}
	return 0;
}

static int walk_stack(struct walk *w, struct err *e)
{
	const char *name;
	json_t *spec;
	json_object_foreach ((json_t *)w->stack->components, name, spec) {
		int rc = visit(w, name, e);
		if (rc < 0)
			return rc;
	}
	return check_references(w, e);
}

int selection_new(const struct stack *s, const char *components_dir, struct selection **ret, struct err *e)
{
	struct walk w = { .stack = s };
	AUTO(selection) sel = calloc(1, sizeof(*sel));
	if (!sel || !(sel->items = calloc(COMPONENTS_MAX, sizeof(*sel->items))))
		return err_set(e, -ENOMEM, "out of memory");
	w.sel = sel;
	int rc = component_dirs_init(&w.dirs, components_dir, e);
	if (rc < 0)
		return rc;
	rc = walk_stack(&w, e);
	component_dirs_fini(&w.dirs);
	if (rc < 0)
		return rc;
	*ret = steal(sel);
	return 0;
}

void selection_free(struct selection *sel)
{
	if (!sel)
		return;
	for (size_t i = 0; sel->items && i < sel->count; i++) {
		component_free(sel->items[i].component);
		free(sel->items[i].needed_by);
		free(sel->items[i].needs);
	}
	free(sel->items);
	free(sel);
}
