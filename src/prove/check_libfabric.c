/* SPDX-License-Identifier: MIT */
/* libfabric loads, and is new enough for EFA where there is EFA. */
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

#include "prove/check_rows.h"

#define MAJOR(v) ((v) >> 16)
#define MINOR(v) ((v)&0xffff)
#define VERSION(major, minor) ((uint32_t)(major) << 16 | (minor))

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)e;
	if (check_context_recorded(c, "loading libfabric.so.1", ret))
		return 0;
	void *lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		const char *why = dlerror();
		return c->efa_devices ? check_fail(ret, "%s", why)
				      : check_warn(ret, "%s (and no EFA device here)", why);
	}
	uint32_t (*version)(void) = NULL;
	*(void **)&version = dlsym(lib, "fi_version");
	if (!version)
		return check_fail(ret, "libfabric.so.1 has no fi_version: not a libfabric");
	struct link_map *map = NULL;
	const char *path = dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] ? map->l_name : "libfabric.so.1";
	uint32_t v = version();
	check_pass(ret, "libfabric %u.%u, %s", MAJOR(v), MINOR(v), path);
	if (!c->efa_devices || v >= VERSION(1, 22))
		return 0;
	check_worsen(ret, v < VERSION(1, 18) ? CHECK_FAIL : CHECK_WARN);
	check_add(ret, "%s",
		  v < VERSION(1, 18) ? "before 1.18 GPUDirect RDMA over EFA is off unless FI_EFA_USE_DEVICE_RDMA=1"
				     : "current aws-ofi-nccl asks EFA for at least 1.22");
	return 0;
}

const struct check check_libfabric = {
	.id = "libfabric",
	.what = "libfabric loads and is new enough for EFA (1.22)",
	.severity = CHECK_FAIL,
	.why = "aws-ofi-nccl refuses an older one (\"EFA provider requires at least libfabric version 1.22.0\") and "
	       "NCCL goes on over TCP",
	.mend = "install libfabric (Debian: libfabric1; on EC2: the EFA installer, which brings its own under "
		"/opt/amazon/efa) and run ldconfig",
	.source = "https://github.com/aws/aws-ofi-nccl/issues/889",
	.run = run,
};
