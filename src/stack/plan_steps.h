/* SPDX-License-Identifier: MIT */
/* From a selection of components and a package snapshot to a plan's steps. */
#ifndef KILN_STACK_PLAN_STEPS_H
#define KILN_STACK_PLAN_STEPS_H

#include "base/err.h"
#include "stack/apt.h"
#include "stack/plan.h"
#include "stack/selection.h"
#include "stack/stack.h"

/* Fills p->steps but for the keys. ERR_INPUT: a version that there is not, packages that cannot be installed, two steps
 * that want different versions of one package; else as apt_ask_packages. */
int plan_steps_fill(struct plan *p, const struct stack *s, const struct selection *sel, struct apt *a, struct err *e);

#endif
