/* SPDX-License-Identifier: MIT */
/*
 * The part of NVML's binary interface that we use, in our own words: numbers and layouts as in nvml.h of CUDA 12 (the
 * versioned entry points that every driver since R450 exports). tests/fake/nvml_fake.c implements the same part.
 */
#ifndef KILN_DEVICE_NVML_ABI_H
#define KILN_DEVICE_NVML_ABI_H

/* nvmlReturn_t */
enum {
	NVML_OK = 0,
	NVML_E_UNINITIALIZED = 1,
	NVML_E_INVALID_ARGUMENT = 2,
	NVML_E_NOT_SUPPORTED = 3,
	NVML_E_NO_PERMISSION = 4,
	NVML_E_NOT_FOUND = 6,
	NVML_E_DRIVER_NOT_LOADED = 9,
	NVML_E_TIMEOUT = 10,
	NVML_E_FUNCTION_NOT_FOUND = 13,
	NVML_E_GPU_IS_LOST = 15,
	NVML_E_RESET_REQUIRED = 16,
	NVML_E_LIB_RM_VERSION_MISMATCH = 18,
	NVML_E_UNKNOWN = 999,
};

struct nvml_device; /* nvmlDevice_t is a pointer to it */

/* nvmlPciInfo_t as nvmlDeviceGetPciInfo_v3 fills it */
struct nvml_pci_info {
	char bus_id_legacy[16];
	unsigned domain;
	unsigned bus;
	unsigned device;
	unsigned pci_device_id; /* device << 16 | vendor */
	unsigned pci_subsystem_id;
	char bus_id[32]; /* "00000000:31:00.0", hex digits in capitals */
};
_Static_assert(sizeof(struct nvml_pci_info) == 68, "nvmlPciInfo_t of v3");

/* nvmlUtilization_t, percent */
struct nvml_utilization {
	unsigned gpu;
	unsigned memory;
};
_Static_assert(sizeof(struct nvml_utilization) == 8, "nvmlUtilization_t");

/* nvmlMemory_t, bytes; `used` includes what driver and firmware reserve */
struct nvml_memory {
	unsigned long long total;
	unsigned long long free;
	unsigned long long used;
};
_Static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");

enum { NVML_TEMPERATURE_OF_GPU = 0 };                      /* nvmlTemperatureSensors_t */
enum { NVML_CLOCK_OF_SM = 1, NVML_CLOCK_OF_MEMORY = 2 };   /* nvmlClockType_t */
enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1 }; /* nvmlMemoryErrorType_t */
enum { NVML_ECC_VOLATILE = 0, NVML_ECC_AGGREGATE = 1 };    /* nvmlEccCounterType_t: since the driver was loaded, ever */

/*
 * The symbol list: X(required, name, arguments). All return nvmlReturn_t (an int-sized enum) but nvmlErrorString, which
 * is looked up by itself.
 */
#define NVML_DEV struct nvml_device *
#define NVML_SYMBOLS(X)                                                                                 \
	X(true, nvmlInit_v2, (void))                                                                    \
	X(true, nvmlShutdown, (void))                                                                   \
	X(true, nvmlSystemGetDriverVersion, (char *, unsigned))                                         \
	X(false, nvmlSystemGetCudaDriverVersion_v2, (int *))                                            \
	X(true, nvmlDeviceGetCount_v2, (unsigned *))                                                    \
	X(true, nvmlDeviceGetHandleByIndex_v2, (unsigned, NVML_DEV *))                                  \
	X(true, nvmlDeviceGetName, (NVML_DEV, char *, unsigned))                                        \
	X(true, nvmlDeviceGetUUID, (NVML_DEV, char *, unsigned))                                        \
	X(true, nvmlDeviceGetPciInfo_v3, (NVML_DEV, struct nvml_pci_info *))                            \
	X(false, nvmlDeviceGetUtilizationRates, (NVML_DEV, struct nvml_utilization *))                  \
	X(false, nvmlDeviceGetMemoryInfo, (NVML_DEV, struct nvml_memory *))                             \
	X(false, nvmlDeviceGetTemperature, (NVML_DEV, unsigned, unsigned *))                            \
	X(false, nvmlDeviceGetPowerUsage, (NVML_DEV, unsigned *))                                       \
	X(false, nvmlDeviceGetEnforcedPowerLimit, (NVML_DEV, unsigned *))                               \
	X(false, nvmlDeviceGetClockInfo, (NVML_DEV, unsigned, unsigned *))                              \
	X(false, nvmlDeviceGetMaxClockInfo, (NVML_DEV, unsigned, unsigned *))                           \
	X(false, nvmlDeviceGetCurrentClocksThrottleReasons, (NVML_DEV, unsigned long long *))           \
	X(false, nvmlDeviceGetEccMode, (NVML_DEV, unsigned *, unsigned *))                              \
	X(false, nvmlDeviceGetTotalEccErrors, (NVML_DEV, unsigned, unsigned, unsigned long long *))     \
	X(false, nvmlDeviceGetRemappedRows, (NVML_DEV, unsigned *, unsigned *, unsigned *, unsigned *)) \
	X(false, nvmlDeviceGetPersistenceMode, (NVML_DEV, unsigned *))                                  \
	X(false, nvmlDeviceGetCurrPcieLinkGeneration, (NVML_DEV, unsigned *))                           \
	X(false, nvmlDeviceGetMaxPcieLinkGeneration, (NVML_DEV, unsigned *))                            \
	X(false, nvmlDeviceGetCurrPcieLinkWidth, (NVML_DEV, unsigned *))                                \
	X(false, nvmlDeviceGetMaxPcieLinkWidth, (NVML_DEV, unsigned *))                                 \
	X(false, nvmlDeviceGetPcieReplayCounter, (NVML_DEV, unsigned *))                                \
	X(false, kiln_nvml_simulated, (void)) /* only the stand-in of tests/fake has it */

#endif
