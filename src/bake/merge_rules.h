/* SPDX-License-Identifier: MIT */
/* Which files are joined, and how. What has no row here may be changed by one of two independent components only. */
#ifndef KILN_BAKE_MERGE_RULES_H
#define KILN_BAKE_MERGE_RULES_H

#include "bake/merge_text.h"

/* The row for a path ("var/lib/dpkg/status"), or NULL. */
const struct merge_rule *merge_rules_find(const char *path);
/* True for files that a program makes anew from the whole stack: ld.so.cache. */
bool merge_rules_is_made(const char *path);

#endif
