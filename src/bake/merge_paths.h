/* SPDX-License-Identifier: MIT */
/* All paths of several layers, sorted, so that those that stand in more than one lie side by side. */
#ifndef KILN_BAKE_MERGE_PATHS_H
#define KILN_BAKE_MERGE_PATHS_H

#include <stddef.h>

#include "base/err.h"
#include "base/own.h"

struct merge_path {
	char *path; /* "etc/passwd" */
	size_t side;
};

struct merge_paths {
	struct merge_path *at;
	size_t count;
	size_t room;
};

void merge_paths_fini(struct merge_paths *p);
/* Adds every path below fs. Errors name the folder; -ENOMEM. */
int merge_paths_add(struct merge_paths *p, const char *fs, size_t side, struct err *e);
/* By path, then by side. */
void merge_paths_sort(struct merge_paths *p);

#endif
