/* SPDX-License-Identifier: MIT */
/* Which version of a component a stack gets, from what the stack wrote and what the package snapshot has. */
#ifndef KILN_STACK_VERSION_H
#define KILN_STACK_VERSION_H

#include "base/err.h"
#include "stack/apt.h"
#include "stack/selection.h"
#include "stack/stack.h"

/* Gives the version of item `index`: "latest" is the snapshot's best, "self" this kiln's own, "=other" that of another
 * item, anything else must be one that the snapshot has, whole ("1.17.0-3") or without epoch and Debian revision
 * ("1.17.0"). ERR_INPUT names the stack's line and what there is. */
int version_choose(struct apt *a, const struct stack *s, const struct selection *sel, size_t index, char **ret,
		   struct err *e);

#endif
