/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for libnvidia-ml.so.1: two GPUs whose values move with the clock, loaded exactly as the real library. It
 * exports one symbol more, kiln_nvml_simulated, from which kiln knows to label all that it feeds as simulated.
 *
 *	KILN_FAKE_NVML=hang      nvmlInit_v2 never returns, as inside a hung driver
 *	KILN_FAKE_NVML=crash     nvmlInit_v2 ends the process by SIGSEGV
 *	KILN_FAKE_NVML=nodriver  the library is there, the kernel module is not
 *	KILN_FAKE_NVML=lost      GPU 1 has fallen off the bus
 *	KILN_FAKE_NVML=plain     GPU 1 has no ECC, remapping or power reading (NOT_SUPPORTED)
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/nvml_abi.h"

#define EXPORTED __attribute__((visibility("default")))
#define GIB (1024ULL * 1024 * 1024)
enum { GPUS = 2 };

struct nvml_device {
	unsigned index;
	const char *uuid;
	unsigned bus;
};

static struct nvml_device devices[GPUS] = {
	{ 0, "GPU-51d0a1e0-0000-4f00-8000-000000000000", 0x31 },
	{ 1, "GPU-51d0a1e0-0000-4f00-8000-000000000001", 0x4b },
};

const char *nvmlErrorString(int status);
#define PROTOTYPE(required, name, args) EXPORTED int name args;
NVML_SYMBOLS(PROTOTYPE)

static bool asked(const char *what)
{
	const char *v = getenv("KILN_FAKE_NVML");
	return v && strcmp(v, what) == 0;
}

/* 0 … 1, one turn a minute; each GPU is at another place of it. */
static double wave(const struct nvml_device *d)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	double s = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	return 0.5 + 0.5 * sin(s * 2 * M_PI / 60 + d->index * 2.0);
}

static int lacks(const struct nvml_device *d)
{
	return d->index == 1 && asked("plain") ? NVML_E_NOT_SUPPORTED : NVML_OK;
}

static int give(unsigned *to, double v)
{
	*to = (unsigned)v;
	return NVML_OK;
}

int kiln_nvml_simulated(void)
{
	return 1;
}

int nvmlInit_v2(void)
{
	if (asked("hang"))
		for (;;)
			pause();
	if (asked("crash"))
		raise(SIGSEGV);
	return asked("nodriver") ? NVML_E_DRIVER_NOT_LOADED : NVML_OK;
}

int nvmlShutdown(void)
{
	return NVML_OK;
}

EXPORTED const char *nvmlErrorString(int status)
{
	switch (status) {
	case NVML_E_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_E_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	case NVML_E_GPU_IS_LOST:
		return "GPU is lost";
	default:
		return "Unknown Error";
	}
}

int nvmlSystemGetDriverVersion(char *to, unsigned size)
{
	snprintf(to, size, "570.172.08");
	return NVML_OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *to)
{
	*to = 12080;
	return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *to)
{
	*to = GPUS;
	return NVML_OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **to)
{
	if (index >= GPUS)
		return NVML_E_INVALID_ARGUMENT;
	if (index == 1 && asked("lost"))
		return NVML_E_GPU_IS_LOST;
	*to = &devices[index];
	return NVML_OK;
}

int nvmlDeviceGetName(struct nvml_device *d, char *to, unsigned size)
{
	(void)d;
	snprintf(to, size, "NVIDIA H100 80GB HBM3");
	return NVML_OK;
}

int nvmlDeviceGetUUID(struct nvml_device *d, char *to, unsigned size)
{
	snprintf(to, size, "%s", d->uuid);
	return NVML_OK;
}

int nvmlDeviceGetPciInfo_v3(struct nvml_device *d, struct nvml_pci_info *to)
{
	*to = (struct nvml_pci_info){ .bus = d->bus, .pci_device_id = 0x233010de, .pci_subsystem_id = 0x16c110de };
	snprintf(to->bus_id_legacy, sizeof(to->bus_id_legacy), "0000:%02X:00.0", d->bus);
	snprintf(to->bus_id, sizeof(to->bus_id), "00000000:%02X:00.0", d->bus);
	return NVML_OK;
}

int nvmlDeviceGetUtilizationRates(struct nvml_device *d, struct nvml_utilization *to)
{
	give(&to->gpu, 20 + 80 * wave(d));
	return give(&to->memory, 10 + 50 * wave(d));
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *d, struct nvml_memory *to)
{
	to->total = 80 * GIB;
	to->used = 2 * GIB + (unsigned long long)(60.0 * wave(d)) * GIB;
	to->free = to->total - to->used;
	return NVML_OK;
}

int nvmlDeviceGetTemperature(struct nvml_device *d, unsigned sensor, unsigned *to)
{
	return sensor == NVML_TEMPERATURE_OF_GPU ? give(to, 35 + 35 * wave(d)) : NVML_E_INVALID_ARGUMENT;
}

int nvmlDeviceGetPowerUsage(struct nvml_device *d, unsigned *to)
{
	return lacks(d) ? lacks(d) : give(to, 1000 * (120 + 560 * wave(d)));
}

int nvmlDeviceGetEnforcedPowerLimit(struct nvml_device *d, unsigned *to)
{
	return lacks(d) ? lacks(d) : give(to, 700000);
}

int nvmlDeviceGetClockInfo(struct nvml_device *d, unsigned type, unsigned *to)
{
	return give(to, type == NVML_CLOCK_OF_MEMORY ? 2619 : 1200 + 780 * wave(d));
}

int nvmlDeviceGetMaxClockInfo(struct nvml_device *d, unsigned type, unsigned *to)
{
	(void)d;
	return give(to, type == NVML_CLOCK_OF_MEMORY ? 2619 : 1980);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct nvml_device *d, unsigned long long *to)
{
	*to = wave(d) > 0.95 ? 4 : 0; /* 4: the software power cap */
	return NVML_OK;
}

int nvmlDeviceGetEccMode(struct nvml_device *d, unsigned *current, unsigned *pending)
{
	*current = *pending = 1;
	return lacks(d);
}

int nvmlDeviceGetTotalEccErrors(struct nvml_device *d, unsigned type, unsigned counter, unsigned long long *to)
{
	*to = type == NVML_ECC_CORRECTED ? 3 : (counter == NVML_ECC_AGGREGATE && d->index == 1);
	return lacks(d);
}

int nvmlDeviceGetRemappedRows(struct nvml_device *d, unsigned *correctable, unsigned *uncorrectable, unsigned *pending,
			      unsigned *failed)
{
	*correctable = *pending = *failed = 0;
	*uncorrectable = d->index; /* GPU 1 has had one row remapped */
	return lacks(d);
}

int nvmlDeviceGetPersistenceMode(struct nvml_device *d, unsigned *to)
{
	(void)d;
	return give(to, 1);
}

int nvmlDeviceGetCurrPcieLinkGeneration(struct nvml_device *d, unsigned *to)
{
	(void)d;
	return give(to, 5);
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct nvml_device *d, unsigned *to)
{
	(void)d;
	return give(to, 5);
}

int nvmlDeviceGetCurrPcieLinkWidth(struct nvml_device *d, unsigned *to)
{
	(void)d;
	return give(to, 16);
}

int nvmlDeviceGetMaxPcieLinkWidth(struct nvml_device *d, unsigned *to)
{
	(void)d;
	return give(to, 16);
}

int nvmlDeviceGetPcieReplayCounter(struct nvml_device *d, unsigned *to)
{
	(void)d;
	return give(to, 0);
}
