/* SPDX-License-Identifier: MIT */
/* The NVIDIA kernel driver is loaded, nouveau is not, and the user libraries are of the same version. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "prove/check_library.h"
#include "prove/check_nvidia.h"
#include "prove/check_rows.h"

bool check_nvidia_version(const struct world *w, char ret[CHECK_NVIDIA_VERSION_BYTES])
{
	AUTO_STR text = NULL;
	if (world_read(w, "/proc/driver/nvidia/version", &text, NULL) < 0)
		return false;
	/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.172.08  Release Build ...": the first word that
	 * is digits and dots only. "x86_64" is not. */
	char *save = NULL;
	for (char *word = strtok_r(text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		if (!isdigit((unsigned char)*word) || !strchr(word, '.') || word[strspn(word, "0123456789.")] != '\0')
			continue;
		snprintf(ret, CHECK_NVIDIA_VERSION_BYTES, "%s", word);
		return true;
	}
	return false;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)e;
	char version[CHECK_NVIDIA_VERSION_BYTES];
	struct check_library l;
	bool loaded = check_nvidia_version(c->world, version);
	if (!c->gpus && !loaded)
		return check_skip(ret, "%s", check_context_no_gpu(c));
	if (!loaded && world_exists(c->world, "/sys/module/nouveau")) {
		check_mend(ret, "blacklist nouveau (/etc/modprobe.d: \"blacklist nouveau\", \"options nouveau "
				"modeset=0\"), rebuild the initramfs, reboot");
		return check_fail(ret, "the module nouveau holds the GPU%s and the NVIDIA driver is not loaded",
				  c->gpus == 1 ? "" : "s");
	}
	if (!loaded)
		return check_fail(
			ret, "%u NVIDIA GPU%s on the PCI bus, but no driver: /proc/driver/nvidia/version is not there",
			c->gpus, c->gpus == 1 ? "" : "s");
	check_pass(ret, "driver %s, %u GPU%s on the PCI bus", version, c->gpus, c->gpus == 1 ? "" : "s");
	check_library_find(c, "libnvidia-ml.so.1", &l);
	const char *library = l.on_path ? strstr(l.at[0].real, ".so.") : NULL;
	if (library && strchr(library + 4, '.') && strcmp(library + 4, version) != 0) {
		check_mend(ret,
			   "reboot, or reload the nvidia modules: the libraries were updated under the running driver");
		check_fail(ret, "the kernel runs driver %s and the libraries are %s (%s)", version, library + 4,
			   l.at[0].real);
	}
	return 0;
}

const struct check check_nvidia_driver = {
	.id = "nvidia-driver",
	.what = "the NVIDIA driver is loaded, and its libraries are of the same version",
	.severity = CHECK_FAIL,
	.why = "without it there is no GPU; with other libraries every CUDA call ends in \"Driver/library version "
	       "mismatch\"",
	.mend = "install the driver for this kernel (dkms status shows whether it was built), load it with modprobe "
		"nvidia, and read dmesg for NVRM lines",
	.source = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/",
	.run = run,
};
