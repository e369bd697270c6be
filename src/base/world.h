/* SPDX-License-Identifier: MIT */
/*
 * What the program may look at, injected: the root under which /sys, /proc, /etc and /dev are read, the environment and
 * the clock. Tests and `--root DIR` point the whole program at a recorded tree.
 * Thread rule: read-only after world_init; share freely.
 */
#ifndef KILN_BASE_WORLD_H
#define KILN_BASE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct world {
	const char *root; /* borrowed; "/" for the machine itself */
	int root_fd;      /* open folder */
	bool recorded;    /* root is not "/": what needs the live machine (dlopen, ioctls, limits) must be skipped */
	int64_t (*wall_ns)(void);
	int64_t (*mono_ns)(void);
	const char *(*env)(const char *name); /* getenv, or a recorded environment */
};

/* root NULL or "/": the machine itself. -ENOENT and the like when the folder cannot be opened. */
int world_init(struct world *w, const char *root, struct err *e);
void world_fini(struct world *w);

/* path as on the machine ("/proc/modules"); links are resolved inside the root. Gives the text without its last
 * newline. Errors as fdio_read_file. */
int world_read(const struct world *w, const char *path, char **ret, struct err *e);
bool world_exists(const struct world *w, const char *path);
/* Names in a folder, sorted, without . and ..: gives a NULL-ended list (AUTO_STRINGS); an empty list when the folder is
 * not there. */
int world_list(const struct world *w, const char *path, char ***ret, struct err *e);
/* An open descriptor on a file under the root; flags as open(2), close-on-exec is added. */
int world_open(const struct world *w, const char *path, int flags, struct err *e);

#endif
