/* SPDX-License-Identifier: MIT */
/* Processes of one user may read each other's memory, as libfabric's and Open MPI's shared-memory copies do. */
#include <stdlib.h>

#include "base/own.h"
#include "prove/check_rows.h"

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	static const char path[] = "/proc/sys/kernel/yama/ptrace_scope";
	AUTO_STR text = NULL;
	(void)e;
	if (!world_exists(c->world, path))
		return check_pass(ret, "not restricted: no %s", path);
	int r = world_read(c->world, path, &text, e);
	if (r < 0)
		return r;
	if (atoi(text) == 0)
		return check_pass(ret, "0 (%s)", path);
	return check_warn(ret, "%s (%s)", text, path);
}

const struct check check_ptrace = {
	.id = "ptrace",
	.what = "processes of one user may copy from each other's memory (Yama's ptrace_scope is 0)",
	.severity = CHECK_WARN,
	.why = "libfabric and Open MPI fall back to copying twice between ranks of one node; older libfabric stops",
	.mend = "kernel.yama.ptrace_scope = 0 in /etc/sysctl.d/10-ptrace.conf, then sysctl --system",
	.source = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html",
	.run = run,
};
