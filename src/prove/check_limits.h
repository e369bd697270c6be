/* SPDX-License-Identifier: MIT */
/* The process's limits, from /proc/self/limits: what a job started the same way would have. */
#ifndef KILN_PROVE_CHECK_LIMITS_H
#define KILN_PROVE_CHECK_LIMITS_H

#include <stdint.h>

#include "base/world.h"

#define CHECK_UNLIMITED UINT64_MAX

/* name as the kernel writes it: "Max locked memory". -ENOENT when the file or the line is not there. */
int check_limits_read(const struct world *w, const char *name, uint64_t *ret_soft, uint64_t *ret_hard, struct err *e);

#endif
