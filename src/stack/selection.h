/* SPDX-License-Identifier: MIT */
/*
 * The components that a stack file selects and all that they need, in an order in which each comes after what it needs:
 * the stack's order wherever needs leave a choice. No package is looked at yet.
 */
#ifndef KILN_STACK_SELECTION_H
#define KILN_STACK_SELECTION_H

#include <stddef.h>

#include "base/err.h"
#include "base/own.h"
#include "stack/component.h"
#include "stack/stack.h"

struct selection_item {
	struct component *component; /* owned */
	const char *spec;            /* as the stack wrote it; "latest" when the component was added; borrowed */
	char *needed_by;             /* the component it was added for; NULL: the stack lists it; owned */
	size_t *needs;               /* indices of earlier items, transitive, ascending; owned */
	size_t need_count;
};

struct selection {
	struct selection_item *items;
	size_t count;
};

/* Borrows the stack for the selection's life. ERR_INPUT names file and line: an unknown component, one that does not
 * exist for the OS, "=other" that names nothing or itself, needs that go round. */
int selection_new(const struct stack *s, const char *components_dir, struct selection **ret, struct err *e);
void selection_free(struct selection *sel);
AUTO_DEFINE(selection)

/* The index of a component, or -1. */
int selection_find(const struct selection *sel, const char *name);

#endif
