/* SPDX-License-Identifier: MIT */
/* One bake at a time on a store: a second one waits. */
#ifndef KILN_BAKE_BAKE_LOCK_H
#define KILN_BAKE_BAKE_LOCK_H

#include <signal.h>

#include "base/err.h"
#include "base/progress.h"

/* Gives a descriptor that holds the lock until it is closed, or its process dies. While another bake holds it, says so
 * in the progress and waits. -EINTR: *stop became non-zero. */
int bake_lock_take(struct progress *progress, const volatile sig_atomic_t *stop, int *ret_fd, struct err *e);

#endif
