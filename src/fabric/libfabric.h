/* SPDX-License-Identifier: MIT */
/*
 * libfabric, opened at run time. Only these are real symbols of the library; the rest of its interface is inline
 * functions of its headers that call through the objects it gives.
 * Thread rule: load once before threads start; read-only after.
 */
#ifndef KILN_FABRIC_LIBFABRIC_H
#define KILN_FABRIC_LIBFABRIC_H

#include <rdma/fabric.h>
#include <stdint.h>

#include "base/err.h"

struct libfabric {
	/* What to ask for: min(the headers', the library's). A library refuses to be asked for more than its own (-38). */
	uint32_t version;
	uint32_t library_version;
	char path[256]; /* the file that the loader took: a machine with EFA often has two */
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info); /* NULL: an empty one, as fi_allocinfo */
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	const char *(*strerror)(int errnum);
};

/* Gives the process's one copy (never freed). -ELIBACC: libfabric is not installed; -ENOSYS: it lacks a symbol. */
int libfabric_load(const struct libfabric **ret, struct err *e);
/* As err_native in ERR_FABRIC: libfabric's negative number, its text appended. Returns the negative errno nearest to it. */
int libfabric_error(const struct libfabric *lib, struct err *e, long number, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
