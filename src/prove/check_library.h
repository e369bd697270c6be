/* SPDX-License-Identifier: MIT */
/* Where a shared library is found, in the order in which the loader looks, and where else it is usually put. */
#ifndef KILN_PROVE_CHECK_LIBRARY_H
#define KILN_PROVE_CHECK_LIBRARY_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/own.h"
#include "prove/check.h"

#define CHECK_LIBRARY_COPIES 16

struct check_library {
	size_t count; /* different files; links to one file count once */
	struct check_library_copy {
		char path[512];   /* as the loader would name it */
		char real[512];   /* the file behind the links, as seen inside the root */
		const char *from; /* "LD_LIBRARY_PATH", "ld.so.cache", "the default path", or "not on the path" */
		bool on_path;     /* the loader finds it */
		dev_t dev;
		ino_t ino;
	} at[CHECK_LIBRARY_COPIES];
	size_t on_path; /* how many of them the loader can find; these come first, the one it takes at [0] */
};

/* Looks for a file of that very name ("libfabric.so.1"). Never fails: what cannot be read is not found. */
void check_library_find(const struct check_context *c, const char *soname, struct check_library *ret);
/* Adds "PATH (FROM)" for each copy to the evidence. */
void check_library_add(const struct check_library *l, struct check_result *ret);

#endif
