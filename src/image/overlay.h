/* SPDX-License-Identifier: MIT */
/*
 * A stack of layer folders as one file system. Prepared before a child is forked, mounted inside it: overlay_mount is
 * async-signal-safe. The folders are named through short links in a scratch folder, so neither the length of the mount
 * options (a page) nor a ':' in a path limits the stack.
 */
#ifndef KILN_IMAGE_OVERLAY_H
#define KILN_IMAGE_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct overlay {
	char *scratch; /* folder of the links; the caller removes it */
	char *options;
	char *options_plain; /* for kernels before 5.10, without "volatile" */
};

/* Makes the links in scratch (a folder of its own that the caller removes afterwards). lowers: bottom first. upper and
 * work NULL: read-only. What is written to upper is not fsynced ("volatile"): the caller syncs once. Deletions and
 * renames come out as plain whiteouts and copies that an OCI layer can express. */
int overlay_init(struct overlay *o, const char *scratch, const char *const *lowers, size_t lower_count,
		 const char *upper, const char *work, struct err *e);
void overlay_fini(struct overlay *o);
/* Mounts at an existing folder (absolute path). 0, or -1 with errno. The working folder becomes scratch. */
int overlay_mount(const struct overlay *o, const char *at);

#endif
