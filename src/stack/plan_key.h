/* SPDX-License-Identifier: MIT */
/* The keys of a plan: what names a layer's whole input, and an image's. */
#ifndef KILN_STACK_PLAN_KEY_H
#define KILN_STACK_PLAN_KEY_H

#include "base/err.h"
#include "stack/plan.h"

/* Fills the key of every step, in order, and the plan's. Reads the components' scripts: errors name the file. */
int plan_key_fill(struct plan *p, struct err *e);

#endif
