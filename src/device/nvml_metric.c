/* SPDX-License-Identifier: MIT */
/* One row per metric: its name in catalog/metrics.json and how NVML tells it. */
#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "device/nvml.h"
#include "device/nvml_lib.h"

/* NVML status; missing symbols read as "function not found". */
struct metric {
	const char *name;
	int (*read)(const struct nvml *n, struct nvml_device *d, double *ret);
};

#define MISSING(symbol) (!n->symbol) ? NVML_E_FUNCTION_NOT_FOUND

/* A reader of one unsigned out-parameter, times `scale`. */
#define READ_UNSIGNED(reader, symbol, scale, ...)                                   \
	static int reader(const struct nvml *n, struct nvml_device *d, double *ret) \
	{                                                                           \
		unsigned v = 0;                                                     \
		int status = MISSING(symbol) : n->symbol(d, ##__VA_ARGS__, &v);     \
		*ret = (double)v * (scale);                                         \
		return status;                                                      \
	}

READ_UNSIGNED(read_temperature, nvmlDeviceGetTemperature, 1, NVML_TEMPERATURE_OF_GPU)
READ_UNSIGNED(read_power, nvmlDeviceGetPowerUsage, 0.001)
READ_UNSIGNED(read_power_limit, nvmlDeviceGetEnforcedPowerLimit, 0.001)
READ_UNSIGNED(read_sm_clock, nvmlDeviceGetClockInfo, 1e6, NVML_CLOCK_OF_SM)
READ_UNSIGNED(read_memory_clock, nvmlDeviceGetClockInfo, 1e6, NVML_CLOCK_OF_MEMORY)
READ_UNSIGNED(read_sm_clock_max, nvmlDeviceGetMaxClockInfo, 1e6, NVML_CLOCK_OF_SM)
READ_UNSIGNED(read_persistence, nvmlDeviceGetPersistenceMode, 1)
READ_UNSIGNED(read_pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration, 1)
READ_UNSIGNED(read_pcie_generation_max, nvmlDeviceGetMaxPcieLinkGeneration, 1)
READ_UNSIGNED(read_pcie_width, nvmlDeviceGetCurrPcieLinkWidth, 1)
READ_UNSIGNED(read_pcie_width_max, nvmlDeviceGetMaxPcieLinkWidth, 1)
READ_UNSIGNED(read_pcie_replays, nvmlDeviceGetPcieReplayCounter, 1)

static int utilization(const struct nvml *n, struct nvml_device *d, struct nvml_utilization *ret)
{
	return MISSING(nvmlDeviceGetUtilizationRates) : n->nvmlDeviceGetUtilizationRates(d, ret);
}

static int read_utilization_gpu(const struct nvml *n, struct nvml_device *d, double *ret)
{
	struct nvml_utilization u = { 0 };
	int status = utilization(n, d, &u);
	*ret = u.gpu;
	return status;
}

static int read_utilization_memory(const struct nvml *n, struct nvml_device *d, double *ret)
{
	struct nvml_utilization u = { 0 };
	int status = utilization(n, d, &u);
	*ret = u.memory;
	return status;
}

static int memory(const struct nvml *n, struct nvml_device *d, struct nvml_memory *ret)
{
	return MISSING(nvmlDeviceGetMemoryInfo) : n->nvmlDeviceGetMemoryInfo(d, ret);
}

static int read_memory_used(const struct nvml *n, struct nvml_device *d, double *ret)
{
	struct nvml_memory m = { 0 };
	int status = memory(n, d, &m);
	*ret = (double)m.used;
	return status;
}

static int read_memory_free(const struct nvml *n, struct nvml_device *d, double *ret)
{
	struct nvml_memory m = { 0 };
	int status = memory(n, d, &m);
	*ret = (double)m.free;
	return status;
}

static int read_memory_total(const struct nvml *n, struct nvml_device *d, double *ret)
{
	struct nvml_memory m = { 0 };
	int status = memory(n, d, &m);
	*ret = (double)m.total;
	return status;
}

static int read_throttle_reasons(const struct nvml *n, struct nvml_device *d, double *ret)
{
	unsigned long long v = 0;
	int status = MISSING(nvmlDeviceGetCurrentClocksThrottleReasons)
	    : n->nvmlDeviceGetCurrentClocksThrottleReasons(d, &v);
	*ret = (double)v;
	return status;
}

static int read_ecc_mode(const struct nvml *n, struct nvml_device *d, double *ret)
{
	unsigned current = 0, pending = 0;
	int status = MISSING(nvmlDeviceGetEccMode) : n->nvmlDeviceGetEccMode(d, &current, &pending);
	*ret = current;
	return status;
}

static int ecc(const struct nvml *n, struct nvml_device *d, unsigned type, unsigned counter, double *ret)
{
	unsigned long long v = 0;
	int status = MISSING(nvmlDeviceGetTotalEccErrors) : n->nvmlDeviceGetTotalEccErrors(d, type, counter, &v);
	*ret = (double)v;
	return status;
}

static int read_ecc_corrected(const struct nvml *n, struct nvml_device *d, double *ret)
{
	return ecc(n, d, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, ret);
}

static int read_ecc_uncorrected(const struct nvml *n, struct nvml_device *d, double *ret)
{
	return ecc(n, d, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, ret);
}

static int read_ecc_uncorrected_ever(const struct nvml *n, struct nvml_device *d, double *ret)
{
	return ecc(n, d, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE, ret);
}

enum remapped { CORRECTABLE, UNCORRECTABLE, PENDING, FAILED };

static int remapped(const struct nvml *n, struct nvml_device *d, enum remapped which, double *ret)
{
	unsigned v[4] = { 0 };
	int status = MISSING(nvmlDeviceGetRemappedRows)
	    : n->nvmlDeviceGetRemappedRows(d, &v[CORRECTABLE], &v[UNCORRECTABLE], &v[PENDING], &v[FAILED]);
	*ret = v[which];
	return status;
}

static int read_remapped_correctable(const struct nvml *n, struct nvml_device *d, double *ret)
{
	return remapped(n, d, CORRECTABLE, ret);
}

static int read_remapped_uncorrectable(const struct nvml *n, struct nvml_device *d, double *ret)
{
	return remapped(n, d, UNCORRECTABLE, ret);
}

static int read_remap_pending(const struct nvml *n, struct nvml_device *d, double *ret)
{
	return remapped(n, d, PENDING, ret);
}

static int read_remap_failed(const struct nvml *n, struct nvml_device *d, double *ret)
{
	return remapped(n, d, FAILED, ret);
}

static const struct metric metrics[] = {
	{ "utilization_gpu_percent", read_utilization_gpu },
	{ "utilization_memory_percent", read_utilization_memory },
	{ "memory_used_bytes", read_memory_used },
	{ "memory_free_bytes", read_memory_free },
	{ "memory_total_bytes", read_memory_total },
	{ "temperature_celsius", read_temperature },
	{ "power_watts", read_power },
	{ "power_limit_watts", read_power_limit },
	{ "clock_sm_hertz", read_sm_clock },
	{ "clock_sm_max_hertz", read_sm_clock_max },
	{ "clock_memory_hertz", read_memory_clock },
	{ "clock_throttle_reasons", read_throttle_reasons },
	{ "persistence_mode", read_persistence },
	{ "ecc_mode", read_ecc_mode },
	{ "ecc_corrected_errors", read_ecc_corrected },
	{ "ecc_uncorrected_errors", read_ecc_uncorrected },
	{ "ecc_uncorrected_errors_ever", read_ecc_uncorrected_ever },
	{ "remapped_rows_correctable", read_remapped_correctable },
	{ "remapped_rows_uncorrectable", read_remapped_uncorrectable },
	{ "remapped_rows_pending", read_remap_pending },
	{ "remapped_rows_failed", read_remap_failed },
	{ "pcie_generation", read_pcie_generation },
	{ "pcie_generation_max", read_pcie_generation_max },
	{ "pcie_width", read_pcie_width },
	{ "pcie_width_max", read_pcie_width_max },
	{ "pcie_replays", read_pcie_replays },
};

const char *nvml_metric_name(size_t at)
{
	return at < COUNT_OF(metrics) ? metrics[at].name : NULL;
}

int nvml_metric(const struct nvml *n, unsigned index, const char *name, double *ret, struct err *e)
{
	struct nvml_device *device;
	for (size_t i = 0; i < COUNT_OF(metrics); i++) {
		if (strcmp(metrics[i].name, name) != 0)
			continue;
		double value;
		int rc = nvml_lib_device(n, index, &device, e);
		if (rc == 0)
			rc = nvml_lib_error(n, metrics[i].read(n, device, &value), e, name);
		if (rc == 0)
			*ret = value;
		return rc;
	}
	return err_set(e, -ENOENT, "NVML: no metric '%s'", name);
}
