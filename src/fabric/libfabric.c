/* SPDX-License-Identifier: MIT */
#include "fabric/libfabric.h"

#include <dlfcn.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/dynlib.h"
#include "base/own.h"

/* The last two: where Amazon's EFA installer puts its own, when the loader was not told. */
static const char *const sonames[] = { "libfabric.so.1", "/opt/amazon/efa/lib64/libfabric.so.1",
				       "/opt/amazon/efa/lib/libfabric.so.1", NULL };

int libfabric_load(const struct libfabric **ret, struct err *e)
{
	static struct libfabric lib;
	static void *handle;
	uint32_t (*version)(void) = NULL;
	const struct dynlib_symbol symbols[] = {
		{ "fi_version", (void **)&version, true },       { "fi_getinfo", (void **)&lib.getinfo, true },
		{ "fi_freeinfo", (void **)&lib.freeinfo, true }, { "fi_dupinfo", (void **)&lib.dupinfo, true },
		{ "fi_fabric", (void **)&lib.fabric, true },     { "fi_strerror", (void **)&lib.strerror, true },
	};
	Dl_info where;
	int rc;

	if (!handle) {
		rc = dynlib_open(sonames, symbols, COUNT_OF(symbols),
				 "install libfabric (libfabric1, or Amazon's EFA installer)", &handle, e);
		if (rc < 0)
			return rc;
		lib.library_version = version();
		lib.version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
		if (FI_VERSION_LT(lib.library_version, lib.version))
			lib.version = lib.library_version;
		if (dladdr((void *)(uintptr_t)version, &where) && where.dli_fname)
			snprintf(lib.path, sizeof(lib.path), "%s", where.dli_fname);
	}
	*ret = &lib;
	return 0;
}

int libfabric_error(const struct libfabric *lib, struct err *e, long number, const char *fmt, ...)
{
	char what[ERR_MSG_BYTES];
	long positive = number < 0 ? -number : number;
	/* libfabric's numbers below FI_ERRNO_OFFSET are errno's; its own have no errno. */
	int code = positive > 0 && positive < FI_ERRNO_OFFSET ? -(int)positive : -EIO;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_native(e, code, ERR_FABRIC, positive, "%s: %s (libfabric %ld)", what, lib->strerror((int)positive),
			  positive);
}
