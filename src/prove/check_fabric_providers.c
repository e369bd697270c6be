/* SPDX-License-Identifier: MIT */
/* libfabric offers a reliable-datagram provider, and efa among them where there is EFA. */
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "prove/check_rows.h"

struct calls {
	uint32_t (*version)(void);
	int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *, struct fi_info **);
	struct fi_info *(*dupinfo)(const struct fi_info *);
};

static bool load(struct calls *k)
{
	void *lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return false;
	*(void **)&k->version = dlsym(lib, "fi_version");
	*(void **)&k->getinfo = dlsym(lib, "fi_getinfo");
	*(void **)&k->dupinfo = dlsym(lib, "fi_dupinfo");
	return k->version && k->getinfo && k->dupinfo;
}

/* Asks for every reliable datagram endpoint; a library older than our headers refuses their version with -ENOSYS. */
static int ask(const struct calls *k, struct fi_info **ret)
{
	struct fi_info *hints = k->dupinfo(NULL);
	if (!hints)
		return -FI_ENOMEM;
	uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
	uint32_t theirs = k->version();
	hints->mode = ~0ULL;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mode = ~0ULL;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_HMEM;
	return k->getinfo(ours < theirs ? ours : theirs, NULL, NULL, 0, hints, ret);
}

/* Each provider once, in libfabric's own order: the first is what a program takes that does not choose. */
static bool names(const struct fi_info *all, char *ret, size_t size, bool *has_efa)
{
	size_t len = 0;
	ret[0] = '\0';
	for (const struct fi_info *i = all; i; i = i->next) {
		const char *name = i->fabric_attr && i->fabric_attr->prov_name ? i->fabric_attr->prov_name : "?";
		char quoted[128];
		snprintf(quoted, sizeof(quoted), "%s, ", name);
		*has_efa |= strcmp(name, "efa") == 0;
		const char *seen = strstr(ret, quoted);
		while (seen && seen != ret && seen[-1] != ' ')
			seen = strstr(seen + 1, quoted);
		if (!seen && len + strlen(quoted) < size)
			len += (size_t)snprintf(ret + len, size - len, "%s", quoted);
	}
	if (len >= 2)
		ret[len - 2] = '\0';
	return len > 0;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)e;
	struct calls k = { 0 };
	struct fi_info *all = NULL; /* never freed: the process ends after this check */
	char text[512];
	bool has_efa = false;
	if (check_context_recorded(c, "asking libfabric for its providers", ret))
		return 0;
	if (!load(&k))
		return check_skip(ret, "libfabric does not load: see the check libfabric");
	const char *chosen = c->world->env("FI_PROVIDER");
	int r = ask(&k, &all);
	if (r != 0 || !names(all, text, sizeof(text), &has_efa)) {
		check_fail(ret, "fi_getinfo finds no reliable-datagram provider: %s",
			   r ? strerror(-r) : "an empty list");
		if (chosen)
			check_add(ret, "FI_PROVIDER=%s is set", chosen);
		return 0;
	}
	if (!c->efa_devices)
		return check_pass(ret, "%s (no efa: no EFA device here)", text);
	if (has_efa)
		return check_pass(ret, "%s", text);
	check_fail(ret, "EFA devices are here, but libfabric offers only %s", text);
	if (chosen)
		check_add(ret, "FI_PROVIDER=%s is set", chosen);
	return 0;
}

const struct check check_fabric_providers = {
	.id = "fabric-providers",
	.what = "libfabric offers a reliable-datagram provider (efa where there is EFA)",
	.severity = CHECK_FAIL,
	.why = "the plugin finds no EFA and NCCL goes on over TCP sockets, 10 to 30 times slower, with exit status 0",
	.mend = "unset FI_PROVIDER; where it is not set, the libfabric found first was built without efa: put "
		"/opt/amazon/efa/lib first",
	.source = "https://ofiwg.github.io/libfabric/main/man/fi_efa.7.html",
	.run = run,
};
