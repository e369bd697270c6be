/* SPDX-License-Identifier: MIT */
/* What checks on NVIDIA's software share. */
#ifndef KILN_PROVE_CHECK_NVIDIA_H
#define KILN_PROVE_CHECK_NVIDIA_H

#include <stdbool.h>

#include "base/world.h"

#define CHECK_NVIDIA_VERSION_BYTES 32
/* The running kernel driver's version ("570.172.08"), from /proc/driver/nvidia/version; false when none is loaded. */
bool check_nvidia_version(const struct world *w, char ret[CHECK_NVIDIA_VERSION_BYTES]);

#endif
