/* SPDX-License-Identifier: MIT */
/* Where NVSwitches are, NVIDIA's fabric manager runs and is of the driver's version. */
#include <stdio.h>
#include <string.h>

#include "base/child.h"
#include "base/own.h"
#include "prove/check_nvidia.h"
#include "prove/check_package.h"
#include "prove/check_rows.h"

/* "Fabric Manager version is : 570.172.08" */
static bool ask_program(char ret[CHECK_PACKAGE_VERSION_BYTES])
{
	const struct child_spec spec = {
		.argv = (const char *const[]){ "nv-fabricmanager", "--version", NULL },
		.timeout_ms = 2000,
	};
	AUTO_STR text = NULL;
	if (child_output(&spec, &text, NULL) < 0)
		return false;
	const char *at = strchr(text, ':');
	if (!at)
		return false;
	at += 1 + strspn(at + 1, " ");
	snprintf(ret, CHECK_PACKAGE_VERSION_BYTES, "%.*s", (int)strcspn(at, " \n"), at);
	return true;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)e;
	char driver[CHECK_NVIDIA_VERSION_BYTES];
	char manager[CHECK_PACKAGE_VERSION_BYTES];
	if (!c->nvswitches)
		return check_skip(ret, "%s", c->has_pci ? "no NVSwitch on the PCI bus" : check_context_no_gpu(c));
	if (!check_nvidia_version(c->world, driver))
		return check_skip(ret, "%u NVSwitches, but no driver to compare with: see nvidia-driver",
				  c->nvswitches);
	if (!check_package_version(c->world, "nvidia-fabricmanager", manager) &&
	    (c->world->recorded || !ask_program(manager)))
		return check_fail(ret, "%u NVSwitches, but no nv-fabricmanager is installed", c->nvswitches);
	/* A package's version carries a revision behind the driver's: 570.172.08-1, 570.172.08-0ubuntu1. */
	size_t n = strlen(driver);
	if (strncmp(manager, driver, n) != 0 || (manager[n] != '\0' && manager[n] != '-' && manager[n] != '+'))
		return check_fail(ret, "fabric manager %s, driver %s: it refuses any other version", manager, driver);
	if (!check_package_runs(c->world, "nv-fabricmanage"))
		return check_fail(ret, "fabric manager %s is installed and does not run", manager);
	return check_pass(ret, "fabric manager %s runs, driver %s, %u NVSwitches", manager, driver, c->nvswitches);
}

const struct check check_fabric_manager = {
	.id = "fabric-manager",
	.what = "NVIDIA's fabric manager runs and has the driver's version (where NVSwitches are)",
	.severity = CHECK_FAIL,
	.why = "the GPUs cannot be used together: cudaErrorSystemNotReady (802) at the first CUDA call",
	.mend = "install nvidia-fabricmanager of exactly the driver's version, hold both packages together, systemctl "
		"enable --now nvidia-fabricmanager",
	.source = "https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html",
	.run = run,
};
