/* SPDX-License-Identifier: MIT */
/* Every GPU on the PCI bus answers NVML. */
#include <string.h>

#include "base/own.h"
#include "device/nvml.h"
#include "prove/check_rows.h"

/* Asks each GPU for its identity and a reading; what does not answer is a failure that names it. */
static void ask(const struct nvml *n, unsigned count, struct check_result *ret)
{
	for (unsigned i = 0; i < count; i++) {
		struct nvml_gpu gpu;
		double celsius;
		struct err why = { 0 };
		if (nvml_gpu_identity(n, i, &gpu, &why) < 0) {
			check_worsen(ret, CHECK_FAIL);
			check_add(ret, "GPU %u: %s", i, why.msg);
			continue;
		}
		int r = nvml_metric(n, i, "temperature_celsius", &celsius, &why);
		if (r == -EIO) {
			check_worsen(ret, CHECK_FAIL);
			check_add(ret, "GPU %u (%s): %s", i, gpu.bdf, why.msg);
		} else if (i == 0) {
			check_add(ret, "%s%s", gpu.name, count > 1 ? " and others" : "");
		}
	}
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	AUTO(nvml) n = NULL;
	struct err why = { 0 };
	unsigned count = 0;
	char driver[NVML_VERSION_BYTES];
	if (check_context_recorded(c, "asking NVML", ret))
		return 0;
	int r = nvml_new(&n, &why);
	if (r < 0 && !c->gpus)
		return check_skip(ret, "%s", check_context_no_gpu(c));
	if (r < 0)
		return check_fail(ret, "%u GPU%s on the PCI bus, but %s", c->gpus, c->gpus == 1 ? "" : "s", why.msg);
	r = nvml_gpu_count(n, &count, e);
	if (r < 0)
		return r;
	ret->simulated = nvml_is_simulated(n);
	check_pass(ret, "%s%u GPU%s by NVML", ret->simulated ? "simulated: " : "", count, count == 1 ? "" : "s");
	if (nvml_driver_version(n, driver, NULL) == 0)
		check_add(ret, "driver %s", driver);
	if (!ret->simulated && count < c->gpus) {
		check_worsen(ret, CHECK_FAIL);
		check_add(ret, "%u on the PCI bus", c->gpus);
	}
	ask(n, count, ret);
	return 0;
}

const struct check check_gpus = {
	.id = "gpus",
	.what = "every GPU on the PCI bus answers NVML",
	.severity = CHECK_FAIL,
	.why = "a GPU that has fallen off the bus takes the whole job with it, at the first collective",
	.mend = "look for Xids (kiln prove node --only xids); reboot the instance, and if it comes back, stop and "
		"start it or ask AWS to retire it",
	.source = "https://docs.nvidia.com/deploy/xid-errors/index.html",
	.run = run,
};
