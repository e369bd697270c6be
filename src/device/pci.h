/* SPDX-License-Identifier: MIT */
/* PCI functions from sysfs: what is plugged in, whether or not a driver serves it. */
#ifndef KILN_DEVICE_PCI_H
#define KILN_DEVICE_PCI_H

#include <stddef.h>

#include "base/err.h"
#include "base/world.h"

struct pci_function {
	char bdf[20]; /* "0000:31:00.0" */
	unsigned vendor;
	unsigned device;
	unsigned class_code; /* 24 bits: 0x030200 */
	char driver[32];     /* "" when none is bound */
};

/* NVIDIA GPUs: vendor 10de, class 0300 (VGA) or 0302 (3D). Gives a list sorted by address (free() it); 0 is a valid answer. */
int pci_list_gpus(const struct world *w, struct pci_function **ret, size_t *ret_count, struct err *e);
/* EFA functions: vendor 1d0f, device efa0 to efaf. As above. */
int pci_list_efa(const struct world *w, struct pci_function **ret, size_t *ret_count, struct err *e);

#endif
