/* SPDX-License-Identifier: MIT */
/*
 * NVML, as we use it: the library is opened at run time through one symbol list, sampled, and let go. Any call may
 * block for ever inside a hung driver (uninterruptible sleep), so a program that must not hang calls these in a child
 * process: see watch/sampler.h.
 * Thread rule: NVML itself is thread-safe; a struct nvml may be shared between threads after nvml_new.
 */
#ifndef KILN_DEVICE_NVML_H
#define KILN_DEVICE_NVML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/own.h"

struct nvml; /* a loaded and initialised library */

/* Loads libnvidia-ml.so.1 and initialises it. -ELIBACC: no such library on this machine, or it does not fit the loaded
 * kernel driver; -ENODEV: the library is there and the NVIDIA driver is not loaded; -EACCES; -ENOSYS: too old a library;
 * other NVML failures: ERR_NVML. */
int nvml_new(struct nvml **ret, struct err *e);
/* Shuts NVML down and unloads it, so that no device handle stays open. Takes NULL. */
void nvml_free(struct nvml *n);
AUTO_DEFINE(nvml)

/* The library is the stand-in of tests/fake: what it feeds must be labelled "simulated" wherever it is shown. */
bool nvml_is_simulated(const struct nvml *n);

#define NVML_VERSION_BYTES 96
/* "570.172.08". -ENOSYS and ERR_NVML errors. */
int nvml_driver_version(const struct nvml *n, char ret[NVML_VERSION_BYTES], struct err *e);
/* The newest CUDA that the driver supports, as 1000 * major + 10 * minor (12080). -ENOSYS when the library cannot tell. */
int nvml_cuda_version(const struct nvml *n, int *ret, struct err *e);
/* How many GPUs NVML sees (0 is a valid answer). */
int nvml_gpu_count(const struct nvml *n, unsigned *ret, struct err *e);

struct nvml_gpu {
	unsigned index;
	char name[96];
	char uuid[96]; /* "GPU-…" */
	char bdf[20];  /* as sysfs writes it: "0000:31:00.0" */
};
/* Identity of one GPU. -EIO: the GPU has fallen off the bus or needs a reset (NVML_ERROR_GPU_IS_LOST). */
int nvml_gpu_identity(const struct nvml *n, unsigned index, struct nvml_gpu *ret, struct err *e);

/* The metrics that can be read, by the names in catalog/metrics.json. nvml_metric_name gives NULL past the last. */
const char *nvml_metric_name(size_t at);
/* One value, in the unit of catalog/metrics.json. -ENOENT: no metric of that name; -EOPNOTSUPP: this GPU does not have it;
 * -ENOSYS: the library lacks the call; -EIO: the GPU is lost; -EACCES and other ERR_NVML errors. A value that cannot be
 * read is never given as 0. */
int nvml_metric(const struct nvml *n, unsigned index, const char *name, double *ret, struct err *e);

#endif
