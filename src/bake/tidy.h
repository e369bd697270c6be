/* SPDX-License-Identifier: MIT */
/*
 * What a step leaves behind that an image must not hold: caches and lists of the package manager, logs, backups, locks,
 * host keys, the machine's identity, what stood in for the host. Also makes the folder independent of when and on what
 * it was built: no time is later than the epoch, and a folder is opaque only when it really hides one below.
 */
#ifndef KILN_BAKE_TIDY_H
#define KILN_BAKE_TIDY_H

#include <stdint.h>

#include "bake/view.h"
#include "base/err.h"

/* Tidies fs, a layer's folder that was built over `below`. Errors name the file. */
int tidy_layer(const char *fs, const struct view *below, int64_t epoch, struct err *e);

#endif
