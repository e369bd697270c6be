/* SPDX-License-Identifier: MIT */
/*
 * Layers of components that do not need each other each carry their own copy of what they share: the package database,
 * users, the loader's cache. Stacked, the topmost copy would hide the others. merge_layers writes what must lie on top
 * of the stack so that it shows everybody's changes: each side's change, against what it was built on, applied in order.
 */
#ifndef KILN_BAKE_MERGE_H
#define KILN_BAKE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "bake/view.h"
#include "base/err.h"

struct merge_side {
	const char *name;  /* the component, for messages */
	const char *fs;    /* its layer */
	struct view below; /* what it was built on */
};

/* sides: bottom first; the first is what all others stand on. Writes into the empty folder fs; *ret_ldconfig tells that
 * /etc/ld.so.cache has to be made anew in the whole stack. ERR_INPUT: two sides change the same thing differently:
 * names both and the path. */
int merge_layers(const struct merge_side *sides, size_t count, const char *fs, bool *ret_ldconfig, struct err *e);

#endif
