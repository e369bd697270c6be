/* SPDX-License-Identifier: MIT */
/* EFA's huge-page pools can be had. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "prove/check_env.h"
#include "prove/check_rows.h"

static long field(const char *meminfo, const char *name)
{
	const char *at = strstr(meminfo, name);
	return at ? atol(at + strlen(name)) : -1;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	AUTO_STR text = NULL;
	AUTO(check_env) env = NULL;
	int r = world_read(c->world, "/proc/meminfo", &text, e);
	if (r < 0)
		return r;
	long total = field(text, "HugePages_Total:"), left = field(text, "HugePages_Free:");
	long kib = field(text, "Hugepagesize:");
	if (total < 0)
		return check_skip(ret, "this kernel has no huge pages (/proc/meminfo)");
	if (!c->efa_devices)
		return check_skip(ret, "%ld of %ld free; only EFA uses them, and there is none here", left, total);
	r = check_env_load(c->world, &env, e);
	if (r < 0)
		return r;
	const struct check_env_row *off = check_env_find(env, "FI_EFA_USE_HUGE_PAGE");
	if (off && strcmp(off->value, "0") == 0)
		return check_pass(ret, "not used: FI_EFA_USE_HUGE_PAGE=0 (%s)", off->where);
	if (left > 0)
		return check_pass(ret, "%ld of %ld free, %ld KiB each", left, total, kib);
	return check_warn(ret,
			  total ? "all %ld of them are taken (/proc/meminfo)" : "none is reserved (/proc/meminfo: %ld)",
			  total);
}

const struct check check_hugepages = {
	.id = "hugepages",
	.what = "huge pages are free for EFA's packet pools",
	.severity = CHECK_WARN,
	.why = "EFA falls back to small pages; a process that forks while it holds the last ones ends in \"Cannot "
	       "allocate memory\"",
	.mend = "vm.nr_hugepages=5128 in /etc/sysctl.d (2 MiB pages, as the EFA installer sets), hugepages-2Mi on "
		"Kubernetes; or FI_EFA_USE_HUGE_PAGE=0 for programs that fork",
	.source = "https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html",
	.run = run,
};
