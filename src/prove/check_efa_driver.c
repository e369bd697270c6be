/* SPDX-License-Identifier: MIT */
/* Every EFA device on the PCI bus is bound to the efa driver and has its verbs device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "device/efa.h"
#include "device/pci.h"
#include "prove/check_rows.h"

/* One device: what is wrong with it as a failure, or its verbs name added to the evidence. */
static void look_at(const struct world *w, const char *bdf, bool driven, struct check_result *ret)
{
	char path[256];
	AUTO_STRINGS verbs = NULL;
	if (!driven) {
		check_worsen(ret, CHECK_FAIL);
		check_add(ret, "EFA device %s has no driver", bdf);
		return;
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/infiniband", bdf);
	if (world_list(w, path, &verbs, NULL) < 0 || !verbs[0]) {
		check_worsen(ret, CHECK_FAIL);
		check_add(ret, "EFA device %s has a driver but no verbs device under %s", bdf, path);
		return;
	}
	check_add(ret, "%s is %s", bdf, verbs[0]);
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	const struct world *w = c->world;
	__attribute__((cleanup(own_free))) struct pci_function *devices = NULL;
	size_t count;
	AUTO_STR version = NULL;
	if (!c->efa_devices)
		return check_skip(ret, "%s", check_context_no_efa(c));
	if (!world_exists(w, "/sys/module/efa"))
		return check_fail(
			ret,
			"%u EFA device%s on the PCI bus, but the kernel module efa is not loaded (no /sys/module/efa)",
			c->efa_devices, c->efa_devices == 1 ? "" : "s");
	int r = pci_list_efa(w, &devices, &count, e);
	if (r < 0)
		return r;
	bool known = efa_driver_version(w, &version, NULL) == 0;
	check_pass(ret, "%u EFA device%s, driver efa %s", c->efa_devices, c->efa_devices == 1 ? "" : "s",
		   known ? version : "of the kernel");
	for (size_t i = 0; i < count; i++)
		look_at(w, devices[i].bdf, devices[i].driver[0] != '\0', ret);
	return 0;
}

const struct check check_efa_driver = {
	.id = "efa-driver",
	.what = "every EFA device on the PCI bus has its driver and a verbs device",
	.severity = CHECK_FAIL,
	.why = "without it libfabric finds no EFA, the plugin fails to start and NCCL goes on over TCP sockets in "
	       "silence",
	.mend = "load the driver: modprobe efa (after a kernel update: reinstall the EFA driver so that dkms builds "
		"it), then look at dmesg",
	.source = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html",
	.run = run,
};
