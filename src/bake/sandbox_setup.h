/* SPDX-License-Identifier: MIT */
/* The inside of a sandbox: mounts, made between fork and exec, so only async-signal-safe calls. */
#ifndef KILN_BAKE_SANDBOX_SETUP_H
#define KILN_BAKE_SANDBOX_SETUP_H

#include "bake/sandbox.h"

/* In a fresh mount namespace: mounts the stack, /proc, /dev, /run, /tmp and the binds, and makes it the root. 0, or -1
 * after writing why to standard error. */
int sandbox_setup_root(const struct sandbox *s);
/* The same for keep_host: only the stack, beside the host's root. */
int sandbox_setup_beside(const struct sandbox *s);

#endif
