/* SPDX-License-Identifier: MIT */
/* Inside of struct nvml, shared by nvml.c and nvml_metric.c only. */
#ifndef KILN_DEVICE_NVML_LIB_H
#define KILN_DEVICE_NVML_LIB_H

#include <stdbool.h>

#include "base/err.h"
#include "device/nvml_abi.h"

struct nvml {
	void *library;
	bool initialised;
	const char *(*error_string)(int); /* may be NULL */
#define NVML_MEMBER(required, name, args) int(*name) args;
	NVML_SYMBOLS(NVML_MEMBER)
#undef NVML_MEMBER
};

/* NVML's status as an error: 0 for NVML_OK; else ERR_NVML with the library's own text behind `doing`. */
int nvml_lib_error(const struct nvml *n, int status, struct err *e, const char *doing);
/* The handle of a GPU. -EIO: the GPU is lost; other ERR_NVML errors. */
int nvml_lib_device(const struct nvml *n, unsigned index, struct nvml_device **ret, struct err *e);

#endif
