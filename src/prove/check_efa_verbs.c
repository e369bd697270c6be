/* SPDX-License-Identifier: MIT */
/* The device nodes of the EFA verbs devices can be opened for reading and writing. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "prove/check_rows.h"

/* The kernel driver behind a uverbs class device; libibverbs asks the same file. */
static bool belongs_to_efa(const struct world *w, const char *uverbs)
{
	char path[256];
	AUTO_STR vendor = NULL;
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/device/vendor", uverbs);
	return world_read(w, path, &vendor, NULL) == 0 && strncmp(vendor, "0x1d0f", 6) == 0;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	const struct world *w = c->world;
	AUTO_STRINGS nodes = NULL;
	unsigned usable = 0;
	if (!c->efa_devices)
		return check_skip(ret, "%s", check_context_no_efa(c));
	int r = world_list(w, "/sys/class/infiniband_verbs", &nodes, e);
	if (r < 0)
		return r;
	check_pass(ret, "%s", "");
	for (char **n = nodes; *n; n++) {
		char path[256];
		struct err why = { 0 };
		if (strncmp(*n, "uverbs", 6) != 0 || !belongs_to_efa(w, *n))
			continue;
		snprintf(path, sizeof(path), "/dev/infiniband/%s", *n);
		AUTO_FD fd = world_open(w, path, O_RDWR | O_NONBLOCK, &why);
		if (fd >= 0) {
			usable++;
			continue;
		}
		check_worsen(ret, CHECK_FAIL);
		check_add(ret, "%s cannot be opened for reading and writing: %s", path, strerror(-why.code));
	}
	if (ret->outcome == CHECK_FAIL)
		return 0;
	if (usable < c->efa_devices)
		return check_fail(ret, "%u EFA devices on the PCI bus, but %u device nodes in /dev/infiniband",
				  c->efa_devices, usable);
	return check_pass(ret, "%u of %u device nodes in /dev/infiniband can be opened", usable, c->efa_devices);
}

const struct check check_efa_verbs = {
	.id = "efa-verbs",
	.what = "the verbs device nodes of EFA can be read and written",
	.severity = CHECK_FAIL,
	.why = "libfabric sees the device in /sys but cannot open it: fi_getinfo answers -61 and NCCL goes on over TCP "
	       "sockets",
	.mend = "in a container: pass the nodes in (docker --device=/dev/infiniband/uverbs0, the EFA device plugin on "
		"Kubernetes); on a host: udev rules of rdma-core, mode 0666",
	.source = "https://github.com/aws-samples/aws-do-eks/issues/63",
	.run = run,
};
