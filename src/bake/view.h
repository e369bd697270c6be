/* SPDX-License-Identifier: MIT */
/* What a stack of layer folders shows, asked without mounting it. */
#ifndef KILN_BAKE_VIEW_H
#define KILN_BAKE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct view {
	const char *const *dirs; /* layers' fs/ folders, bottom first; borrowed */
	size_t count;
};

/* Looks up a path ("etc/passwd") as overlayfs would, but without following links inside. True when it is there: *ret_at
 * is its place in the layer that shows it (free() it), *ret_st what it is. False when no layer has it, it is deleted,
 * or memory ran out. Either output may be NULL. */
bool view_find(const struct view *v, const char *path, char **ret_at, struct stat *ret_st);

#endif
