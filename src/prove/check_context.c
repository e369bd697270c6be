/* SPDX-License-Identifier: MIT */
/* What several checks ask for: which devices the PCI bus holds, and whether the machine is live. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "device/pci.h"
#include "prove/check.h"

/* A hexadecimal sysfs attribute such as "0x10de"; 0 when it is not there. */
static unsigned long attribute(const struct world *w, const char *device, const char *name)
{
	char path[512];
	AUTO_STR text = NULL;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", device, name);
	return world_read(w, path, &text, NULL) < 0 ? 0 : strtoul(text, NULL, 16);
}

/* NVSwitches of A100 and H100 machines are PCI bridges of NVIDIA's (class 0680); from Blackwell on they are not on PCI. */
static unsigned count_nvswitches(const struct world *w)
{
	AUTO_STRINGS devices = NULL;
	unsigned count = 0;
	if (world_list(w, "/sys/bus/pci/devices", &devices, NULL) < 0)
		return 0;
	for (char **d = devices; *d; d++)
		count += attribute(w, *d, "vendor") == 0x10de && attribute(w, *d, "class") >> 8 == 0x0680;
	return count;
}

void check_context_init(struct check_context *c, const struct world *w)
{
	__attribute__((cleanup(own_free))) struct pci_function *gpus = NULL, *efa = NULL;
	size_t count;
	*c = (struct check_context){ .world = w };
	c->has_pci = world_exists(w, "/sys/bus/pci/devices");
	if (pci_list_gpus(w, &gpus, &count, NULL) == 0)
		c->gpus = (unsigned)count;
	if (pci_list_efa(w, &efa, &count, NULL) == 0)
		c->efa_devices = (unsigned)count;
	c->nvswitches = count_nvswitches(w);
}

const char *check_context_no_efa(const struct check_context *c)
{
	return c->has_pci
		       ? "no EFA device on the PCI bus: not an EFA instance type, or started without an EFA interface"
		       : "no /sys/bus/pci here, so it cannot be told whether there is an EFA device";
}

const char *check_context_no_gpu(const struct check_context *c)
{
	return c->has_pci ? "no NVIDIA GPU on the PCI bus"
			  : "no /sys/bus/pci here, so it cannot be told whether there is a GPU";
}

bool check_context_recorded(const struct check_context *c, const char *what, struct check_result *ret)
{
	if (!c->world->recorded)
		return false;
	check_skip(ret, "%s needs the live machine, and '%s' is a recorded tree", what, c->world->root);
	return true;
}
