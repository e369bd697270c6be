/* SPDX-License-Identifier: MIT */
/*
 * Libraries that may be missing (NVML, NCCL, libfabric, PMIx, libcurl) are opened at run time through one symbol list
 * each; a missing optional symbol is a NULL pointer and an error value where it is used, never a crash.
 */
#ifndef KILN_BASE_DYNLIB_H
#define KILN_BASE_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct dynlib_symbol {
	const char *name;
	void **at; /* where the address goes */
	bool required;
};

/* Opens the first of sonames (NULL-ended) that loads and fills the symbols. Gives the handle (dlclose() it, or keep it for
 * life). -ELIBACC: none could be loaded, with the loader's own message and `cure` appended; -ENOSYS: a required symbol is
 * missing. */
int dynlib_open(const char *const *sonames, const struct dynlib_symbol *symbols, size_t count, const char *cure,
		void **ret, struct err *e);

#endif
