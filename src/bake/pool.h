/* SPDX-License-Identifier: MIT */
/*
 * A step's packages as a flat apt repository of its own. It needs no signature: every file was verified against the
 * signed lists when it was planned and fetched, and apt checks it again against the index, so [trusted=yes] is right.
 */
#ifndef KILN_BAKE_POOL_H
#define KILN_BAKE_POOL_H

#include "base/err.h"
#include "stack/plan.h"

/* Makes the folder with hard links to the downloads, verified once more, Packages and Release. -ENOENT: a download is
 * missing. ERR_REMOTE: one has changed on this disk since it was verified; it is removed. */
int pool_make(const char *dir, const struct plan *p, const struct plan_step *s, struct err *e);
/* Makes the folder with a step's sources under their names. Fails as pool_make. */
int pool_make_sources(const char *dir, const struct plan_step *s, struct err *e);

#endif
