/* SPDX-License-Identifier: MIT */
/* One look at the GPUs (through NVML, in this process) and at the EFA devices (through sysfs). */
#ifndef KILN_WATCH_SAMPLE_H
#define KILN_WATCH_SAMPLE_H

#include <jansson.h>

#include "base/err.h"
#include "base/world.h"

/* Gives {"driver_version", "simulated", "gpus": [{"gpu", "uuid", "name", "device", "values": {metric: number}} or
 * {"gpu", "error"}]}. May block for ever inside the driver: see sampler.h. -ENODEV: no GPU; -ELIBACC: no NVML; other
 * errors of device/nvml.h. */
int sample_gpus(json_t **ret, struct err *e);
/* Gives [{"efa", "device", "firmware", "port_active", "values": {counter: number}}]; may be empty. */
int sample_efa(const struct world *w, json_t **ret, struct err *e);

#endif
