/* SPDX-License-Identifier: MIT */
#include "device/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dynlib.h"
#include "device/nvml_lib.h"

static const char *const sonames[] = { "libnvidia-ml.so.1", NULL };

static int errno_of(int status)
{
	switch (status) {
	case NVML_E_INVALID_ARGUMENT:
		return -EINVAL;
	case NVML_E_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case NVML_E_NO_PERMISSION:
		return -EACCES;
	case NVML_E_NOT_FOUND:
		return -ENXIO;
	case NVML_E_DRIVER_NOT_LOADED:
		return -ENODEV;
	case NVML_E_TIMEOUT:
		return -ETIMEDOUT;
	case NVML_E_FUNCTION_NOT_FOUND:
		return -ENOSYS;
	case NVML_E_LIB_RM_VERSION_MISMATCH:
		return -ELIBACC;
	default: /* lost, needs a reset, unknown */
		return -EIO;
	}
}

int nvml_lib_error(const struct nvml *n, int status, struct err *e, const char *doing)
{
	if (status == NVML_OK)
		return 0;
	const char *text = n->error_string ? n->error_string(status) : NULL;
	return err_native(e, errno_of(status), ERR_NVML, status, "NVML: %s: %s (%d)", doing, text ? text : "error",
			  status);
}

static int load(struct nvml *n, struct err *e)
{
	const struct dynlib_symbol symbols[] = {
#define NVML_ENTRY(required, name, args) { #name, (void **)&n->name, required },
		NVML_SYMBOLS(NVML_ENTRY)
#undef NVML_ENTRY
			{ "nvmlErrorString", (void **)&n->error_string, false },
	};
	return dynlib_open(sonames, symbols, COUNT_OF(symbols), "install the NVIDIA driver", &n->library, e);
}

int nvml_new(struct nvml **ret, struct err *e)
{
	AUTO(nvml) n = calloc(1, sizeof(*n));
	if (!n)
		return err_set(e, -ENOMEM, "NVML: no memory");
	int rc = load(n, e);
	if (rc < 0)
		return rc;
	int status = n->nvmlInit_v2();
	rc = nvml_lib_error(n, status, e, "initialise");
	if (status == NVML_E_DRIVER_NOT_LOADED)
		err_hint(e, "load the nvidia kernel module");
	if (status == NVML_E_LIB_RM_VERSION_MISMATCH)
		err_hint(e, "the library and the loaded kernel module are of different versions: reboot or reload the "
			    "module");
	if (rc < 0)
		return rc;
	n->initialised = true;
	*ret = steal(n);
	return 0;
}

void nvml_free(struct nvml *n)
{
	if (!n)
		return;
	if (n->initialised)
		n->nvmlShutdown();
	if (n->library)
		dlclose(n->library);
	free(n);
}

bool nvml_is_simulated(const struct nvml *n)
{
	return n->kiln_nvml_simulated != NULL;
}

int nvml_driver_version(const struct nvml *n, char ret[NVML_VERSION_BYTES], struct err *e)
{
	char text[NVML_VERSION_BYTES] = "";
	int rc = nvml_lib_error(n, n->nvmlSystemGetDriverVersion(text, sizeof(text)), e, "driver version");
	if (rc == 0)
		memcpy(ret, text, sizeof(text));
	return rc;
}

int nvml_cuda_version(const struct nvml *n, int *ret, struct err *e)
{
	if (!n->nvmlSystemGetCudaDriverVersion_v2)
		return err_native(e, -ENOSYS, ERR_NVML, NVML_E_FUNCTION_NOT_FOUND,
				  "NVML: this library cannot tell the CUDA version");
	return nvml_lib_error(n, n->nvmlSystemGetCudaDriverVersion_v2(ret), e, "CUDA version");
}

int nvml_gpu_count(const struct nvml *n, unsigned *ret, struct err *e)
{
	return nvml_lib_error(n, n->nvmlDeviceGetCount_v2(ret), e, "count GPUs");
}

int nvml_lib_device(const struct nvml *n, unsigned index, struct nvml_device **ret, struct err *e)
{
	int status = n->nvmlDeviceGetHandleByIndex_v2(index, ret);
	if (status == NVML_OK)
		return 0;
	char doing[32];
	snprintf(doing, sizeof(doing), "open GPU %u", index);
	return nvml_lib_error(n, status, e, doing);
}

int nvml_gpu_identity(const struct nvml *n, unsigned index, struct nvml_gpu *ret, struct err *e)
{
	struct nvml_gpu gpu = { .index = index };
	struct nvml_device *device;
	struct nvml_pci_info pci = { 0 };
	int rc = nvml_lib_device(n, index, &device, e);
	if (rc == 0)
		rc = nvml_lib_error(n, n->nvmlDeviceGetName(device, gpu.name, sizeof(gpu.name)), e, "GPU name");
	if (rc == 0)
		rc = nvml_lib_error(n, n->nvmlDeviceGetUUID(device, gpu.uuid, sizeof(gpu.uuid)), e, "GPU UUID");
	if (rc == 0)
		rc = nvml_lib_error(n, n->nvmlDeviceGetPciInfo_v3(device, &pci), e, "PCI address");
	if (rc < 0)
		return rc;
	/* NVML tells no function number; a GPU is function 0 (its audio device is 1). */
	snprintf(gpu.bdf, sizeof(gpu.bdf), "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff, pci.device & 0x1f);
	*ret = gpu;
	return 0;
}
