/* SPDX-License-Identifier: MIT */
/* No variable from an old document is set that makes NCCL or libfabric slower, or keeps them off EFA. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "prove/check_env.h"
#include "prove/check_rows.h"

enum when { ALWAYS, ON_EFA, NEW_KERNEL };

static const struct harmful {
	const char *name;  /* fnmatch pattern */
	const char *value; /* fnmatch pattern; NULL: any value that is not empty */
	enum when when;
	enum check_outcome outcome;
	const char *why;
} table[] = {
	{ "FI_PROVIDER", "*tcp*", ON_EFA, CHECK_FAIL, "keeps libfabric off EFA" },
	{ "FI_PROVIDER", "sockets*", ON_EFA, CHECK_FAIL, "keeps libfabric off EFA" },
	{ "FI_PROVIDER", "sockets*", ALWAYS, CHECK_WARN, "milliseconds per message; use tcp" },
	{ "NCCL_NET", "[Ss]ocket", ON_EFA, CHECK_FAIL, "keeps NCCL off EFA" },
	{ "NCCL_NET_PLUGIN", "none", ON_EFA, CHECK_FAIL, "keeps NCCL off EFA" },
	{ "NCCL_NET_GDR_LEVEL", "LOC", ON_EFA, CHECK_WARN, "turns GPUDirect RDMA off" },
	{ "NCCL_NET_GDR_LEVEL", "0", ON_EFA, CHECK_WARN, "turns GPUDirect RDMA off" },
	{ "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK", "1", ON_EFA, CHECK_WARN, "hides that GPUDirect RDMA is off" },
	{ "NCCL_P2P_DISABLE", "1", ALWAYS, CHECK_WARN, "turns NVLink off inside the node" },
	{ "NCCL_SHM_DISABLE", "1", ALWAYS, CHECK_WARN, "sends traffic inside the node over the network" },
	{ "NCCL_PROTO", NULL, ALWAYS, CHECK_WARN, "overrides NCCL's own choice per size" },
	{ "NCCL_ALGO", NULL, ALWAYS, CHECK_WARN, "overrides NCCL's own choice per size" },
	{ "NCCL_TREE_THRESHOLD", NULL, ALWAYS, CHECK_WARN, "gone since NCCL 2.5" },
	{ "NCCL_MIN_NCHANNELS", NULL, ALWAYS, CHECK_WARN, "NCCL's tuning knows better; takes GPU blocks from the job" },
	{ "NCCL_NSOCKS_PERTHREAD", NULL, ON_EFA, CHECK_WARN, "is for TCP sockets" },
	{ "FI_EFA_TX_MIN_CREDITS", NULL, ALWAYS, CHECK_WARN, "a work-around for libfabric before 1.11" },
	{ "FI_OFI_RXR_*", NULL, ALWAYS, CHECK_WARN, "gone: EFA left that provider in libfabric 1.9" },
	{ "RDMAV_FORK_SAFE", NULL, NEW_KERNEL, CHECK_WARN,
	  "not needed from Linux 5.13 on, and harmful with huge pages" },
	{ "IBV_FORK_SAFE", NULL, NEW_KERNEL, CHECK_WARN, "not needed from Linux 5.13 on, and harmful with huge pages" },
};

/* Copy-on-fork for pinned pages came in 5.13; ibv_is_fork_initialized says "unneeded" from there on. */
static bool is_new_kernel(const struct world *w)
{
	AUTO_STR text = NULL;
	int major = 0, minor = 0;
	return world_read(w, "/proc/sys/kernel/osrelease", &text, NULL) == 0 &&
	       sscanf(text, "%d.%d", &major, &minor) == 2 && (major > 5 || (major == 5 && minor >= 13));
}

static bool applies(const struct harmful *h, const struct check_context *c)
{
	return h->when == ALWAYS || (h->when == ON_EFA && c->efa_devices) ||
	       (h->when == NEW_KERNEL && is_new_kernel(c->world));
}

static const struct harmful *look_up(const struct check_env_row *row, const struct check_context *c)
{
	for (const struct harmful *h = table; h < table + COUNT_OF(table); h++)
		if (fnmatch(h->name, row->name, 0) == 0 && *row->value &&
		    (!h->value || fnmatch(h->value, row->value, 0) == 0) && applies(h, c))
			return h;
	return NULL;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	AUTO(check_env) env = NULL;
	unsigned ours = 0;
	int r = check_env_load(c->world, &env, e);
	if (r < 0)
		return r;
	check_pass(ret, "%s", "");
	for (size_t i = 0; i < env->count; i++) {
		const struct check_env_row *row = &env->rows[i];
		const struct harmful *h = look_up(row, c);
		ours += strncmp(row->name, "NCCL_", 5) == 0 || strncmp(row->name, "FI_", 3) == 0 ||
			strncmp(row->name, "OFI_NCCL_", 9) == 0;
		if (!h)
			continue;
		check_worsen(ret, h->outcome);
		check_add(ret, "%s=%.80s (%s) %s", row->name, row->value, row->where, h->why);
	}
	if (ret->outcome == CHECK_PASS)
		check_pass(ret, "%u NCCL_*, OFI_NCCL_* and FI_* variables are set, none of the harmful ones", ours);
	return 0;
}

const struct check check_environment = {
	.id = "environment",
	.what = "no variable is set that is obsolete, or keeps NCCL off EFA",
	.severity = CHECK_FAIL,
	.why = "settings copied from old documents outlive their reason: jobs run slower, or leave EFA in silence",
	.mend = "remove them where the evidence says they are set, and let NCCL and the plugin choose",
	.source = "https://github.com/aws/aws-ofi-nccl/blob/master/doc/efa-env-var.md",
	.run = run,
};
