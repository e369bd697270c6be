/* SPDX-License-Identifier: MIT */
/* NCCL's network plugin loads as NCCL would load it, and speaks an interface that this NCCL asks for. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "prove/check_library.h"
#include "prove/check_rows.h"

#define NEWEST_ABI 12

/* Which ncclNetPlugin_vN each NCCL release looks for. Source: NCCL's src/plugin/net.cc and src/net.cc at each tag. */
static const struct {
	int since; /* NCCL version code: 22000 is 2.20.0 */
	unsigned oldest, newest;
} asked[] = {
	{ 23000, 6, 12 }, { 22800, 6, 11 }, { 22600, 6, 10 }, { 22400, 5, 9 }, { 22000, 5, 8 },
	{ 21900, 5, 7 },  { 21300, 4, 6 },  { 21200, 4, 5 },  { 2800, 4, 4 },
};

/* "v6 v8 v11" of what the plugin exports; a bit per version. */
static unsigned interfaces(void *plugin, char *text, size_t size)
{
	unsigned found = 0;
	size_t len = 0;
	text[0] = '\0';
	for (unsigned v = 2; v <= NEWEST_ABI; v++) {
		char symbol[32];
		snprintf(symbol, sizeof(symbol), "ncclNetPlugin_v%u", v);
		if (!dlsym(plugin, symbol))
			continue;
		found |= 1U << v;
		len += (size_t)snprintf(text + len, size - len, "%sv%u", len ? " " : "", v);
	}
	return found;
}

/* 0 when NCCL cannot be loaded: then only the plugin itself is looked at. */
static int nccl_version(void)
{
	int version = 0;
	int (*get)(int *) = NULL;
	void *nccl = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
	if (nccl)
		*(void **)&get = dlsym(nccl, "ncclGetVersion");
	return get && get(&version) == 0 ? version : 0;
}

static int judge(void *plugin, struct check_result *ret)
{
	char text[128];
	struct link_map *map = NULL;
	const char *path = dlinfo(plugin, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "the plugin";
	unsigned found = interfaces(plugin, text, sizeof(text));
	int nccl = nccl_version();
	if (!found)
		return check_fail(ret, "%s loads but exports no ncclNetPlugin_vN", path);
	check_pass(ret, "%s loads, interfaces %s", path, text);
	if (!nccl)
		return 0;
	int minor = nccl >= 10000 ? nccl / 100 % 100 : nccl / 100 % 10;
	check_add(ret, "NCCL 2.%d.%d", minor, nccl % 100);
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		if (nccl < asked[i].since)
			continue;
		unsigned wanted = ((2U << asked[i].newest) - 1) & ~((1U << asked[i].oldest) - 1);
		if (found & wanted)
			return 0;
		check_worsen(ret, CHECK_FAIL);
		check_add(ret, "which asks for v%u to v%u and will not take it", asked[i].oldest, asked[i].newest);
		return 0;
	}
	return 0;
}

/* The names that NCCL tries for NCCL_NET_PLUGIN, in its order. */
static void *open_plugin(const char *wanted, char *why, size_t size)
{
	char name[256];
	if (!wanted || !*wanted)
		snprintf(name, sizeof(name), "libnccl-net.so");
	else
		snprintf(name, sizeof(name), "%s", wanted);
	void *plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	snprintf(why, size, "%s", plugin ? "" : dlerror());
	if (plugin || !wanted || !*wanted || strchr(name, '/') || strncmp(name, "lib", 3) == 0)
		return plugin;
	snprintf(name, sizeof(name), "libnccl-net-%s.so", wanted);
	plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		snprintf(why, size, "%s", dlerror());
	return plugin;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)e;
	char why[512];
	struct check_library nccl, net;
	if (check_context_recorded(c, "loading the plugin", ret))
		return 0;
	const char *wanted = c->world->env("NCCL_NET_PLUGIN");
	check_library_find(c, "libnccl.so.2", &nccl);
	check_library_find(c, "libnccl-net.so", &net);
	if (!nccl.count && !net.count && !wanted)
		return check_skip(ret, "no NCCL here: neither libnccl.so.2 nor libnccl-net.so on the library path");
	if (wanted && strcmp(wanted, "none") == 0)
		return c->efa_devices ? check_fail(ret, "NCCL_NET_PLUGIN=none: NCCL will not load it")
				      : check_pass(ret, "NCCL_NET_PLUGIN=none, and no EFA device here");
	void *plugin = open_plugin(wanted, why, sizeof(why));
	if (plugin)
		return judge(plugin, ret);
	if (!net.count && !wanted && !c->efa_devices)
		return check_pass(
			ret, "no libnccl-net.so, and no EFA device that would need it: NCCL uses its own transports");
	check_fail(ret, "%s", why);
	if (net.count)
		check_library_add(&net, ret);
	return 0;
}

const struct check check_nccl_plugin = {
	.id = "nccl-plugin",
	.what = "NCCL's network plugin loads and has an interface that this NCCL asks for",
	.severity = CHECK_FAIL,
	.why = "NCCL treats a plugin that does not load as one that is not there: \"Using network Socket\", exit "
	       "status 0",
	.mend = "install aws-ofi-nccl for this NCCL, and the libraries that the loader's message names; run with "
		"NCCL_NET=\"AWS Libfabric\" (1.13 and later: Libfabric) so that falling back is an error",
	.source = "https://github.com/aws/aws-ofi-nccl",
	.run = run,
};
