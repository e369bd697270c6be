/* SPDX-License-Identifier: MIT */
/* What dpkg knows, read from its status file, so that it works on a recorded tree. */
#ifndef KILN_PROVE_CHECK_PACKAGE_H
#define KILN_PROVE_CHECK_PACKAGE_H

#include <stdbool.h>

#include "base/world.h"

#define CHECK_PACKAGE_VERSION_BYTES 96
/* The version of the first installed package whose name begins with prefix; false when there is none, or no dpkg. */
bool check_package_version(const struct world *w, const char *prefix, char ret[CHECK_PACKAGE_VERSION_BYTES]);
/* True when a process of that name runs (as /proc/<pid>/comm has it: 15 characters). */
bool check_package_runs(const struct world *w, const char *comm);

#endif
