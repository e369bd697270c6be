/* SPDX-License-Identifier: MIT */
#include "fabric/provider.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <string.h>

struct preference {
	const char *name;
	bool is_rdma;
	const char *warning;
	const char *advice;
};

#define TCP_ADVICE "check that the peer runs, that no firewall is between, and --interface"

/* Best first. Native TCP with reliable datagrams is "net" in libfabric 1.17 and "tcp" from 1.18 on. */
static const struct preference preferences[] = {
	{ "efa", true, NULL,
	  "check that the security group allows all traffic to and from itself, both ways, and that the peer runs" },
	{ "verbs;ofi_rxm", true, NULL,
	  "check that the peer runs and that its device has an address in the same subnet" },
	{ "cxi", true, NULL, "check that the peer runs and is in the same service and VNI" },
	{ "tcp", false, NULL, TCP_ADVICE },
	{ "tcp;ofi_rxm", false, NULL, TCP_ADVICE },
	{ "net", false, NULL, TCP_ADVICE },
	{ "sockets", false,
	  "provider 'sockets' is deprecated and up to 1000 times slower than tcp: its numbers say nothing about the "
	  "network",
	  TCP_ADVICE },
};

static const struct preference unlisted = { NULL, false, NULL, TCP_ADVICE };

static bool core_is(const char *provider, const char *core)
{
	size_t n = strlen(core);
	return strncmp(provider, core, n) == 0 && (provider[n] == '\0' || provider[n] == ';');
}

static const struct preference *preference_of(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(preferences); i++)
		if (strcmp(preferences[i].name, name) == 0)
			return &preferences[i];
	return &unlisted;
}

/* Gives hints for what we need; NULL when out of memory. */
static struct fi_info *hints_new(const struct libfabric *lib)
{
	struct fi_info *hints = lib->dupinfo(NULL);

	if (!hints)
		return NULL;
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	return hints;
}

/* Gives the list of endpoints that fit, or NULL with 0 when there are none. */
static int query(const struct libfabric *lib, const char *name, const char *source, struct fi_info **ret, struct err *e)
{
	struct fi_info *hints = hints_new(lib);
	int rc;

	*ret = NULL;
	if (!hints)
		return err_set(e, -ENOMEM, "libfabric hints");
	if (name)
		hints->fabric_attr->prov_name = strdup(name);
	if (source)
		hints->addr_format = FI_SOCKADDR_IN;
	rc = lib->getinfo(lib->version, source, NULL, source ? FI_SOURCE | FI_NUMERICHOST : 0, hints, ret);
	lib->freeinfo(hints);
	if (rc == -FI_ENODATA)
		return 0;
	return rc < 0 ? libfabric_error(lib, e, rc, "ask libfabric for its providers") : 0;
}

static void list_names(const struct fi_info *all, char *ret, size_t ret_bytes)
{
	size_t used = 0;

	ret[0] = '\0';
	for (const struct fi_info *i = all; i; i = i->next) {
		const struct fi_info *seen = all;
		while (seen != i && strcmp(seen->fabric_attr->prov_name, i->fabric_attr->prov_name) != 0)
			seen = seen->next;
		if (seen != i)
			continue;
		int n = snprintf(ret + used, ret_bytes - used, "%s%s", used ? ", " : "", i->fabric_attr->prov_name);
		if (n < 0 || (size_t)n >= ret_bytes - used)
			return;
		used += (size_t)n;
	}
	if (!used)
		snprintf(ret, ret_bytes, "none");
}

int provider_list(char *ret, size_t ret_bytes, struct err *e)
{
	const struct libfabric *lib;
	struct fi_info *all;
	int rc = libfabric_load(&lib, e);

	if (rc < 0)
		return rc;
	rc = query(lib, NULL, NULL, &all, e);
	if (rc < 0)
		return rc;
	list_names(all, ret, ret_bytes);
	if (all)
		lib->freeinfo(all);
	return 0;
}

/* The first entry of that exact name; of EFA's two fabrics the plain one, since efa-direct lacks ordering. */
static const struct fi_info *find_exact(const struct fi_info *all, const char *name)
{
	const struct fi_info *found = NULL;

	for (const struct fi_info *i = all; i; i = i->next) {
		if (strcmp(i->fabric_attr->prov_name, name) != 0)
			continue;
		if (!i->fabric_attr->name || strcmp(i->fabric_attr->name, "efa-direct") != 0)
			return i;
		if (!found)
			found = i;
	}
	return found;
}

static const struct fi_info *pick(const struct fi_info *all, const char *name)
{
	const struct fi_info *found = NULL;

	if (name) {
		found = find_exact(all, name);
		for (const struct fi_info *i = all; i && !found; i = i->next)
			if (core_is(i->fabric_attr->prov_name, name))
				found = i;
		return found;
	}
	for (size_t p = 0; p < COUNT_OF(preferences) && !found; p++)
		found = find_exact(all, preferences[p].name);
	/* FI_PROVIDER has narrowed the list to what the user asked for by name. */
	if (!found && getenv("FI_PROVIDER"))
		found = all;
	return found;
}

static int none_fits(const struct libfabric *lib, const struct fi_info *all, const char *name, struct err *e)
{
	const char *filter = getenv("FI_PROVIDER");
	char names[256];

	list_names(all, names, sizeof(names));
	if (name && filter)
		return err_set(e, -ENODEV, "libfabric %u.%u has no provider '%s' with FI_PROVIDER=%s; available: %s",
			       FI_MAJOR(lib->library_version), FI_MINOR(lib->library_version), name, filter, names);
	if (name)
		return err_set(e, -ENODEV, "libfabric %u.%u (%s) has no provider '%s'; available: %s",
			       FI_MAJOR(lib->library_version), FI_MINOR(lib->library_version), lib->path, name, names);
	if (filter)
		return err_set(
			e, -ENODEV,
			"libfabric %u.%u has no provider that fits FI_PROVIDER=%s; unset it, or see `fi_info -l`",
			FI_MAJOR(lib->library_version), FI_MINOR(lib->library_version), filter);
	return err_set(e, -ENODEV,
		       "libfabric %u.%u (%s) has no network provider; available: %s; name one with --provider",
		       FI_MAJOR(lib->library_version), FI_MINOR(lib->library_version), lib->path, names);
}

static bool has_socket_address(const struct fi_info *info)
{
	return info->addr_format == FI_SOCKADDR || info->addr_format == FI_SOCKADDR_IN ||
	       info->addr_format == FI_SOCKADDR_IN6;
}

/* Replaces p->info by the same provider's entry that is bound to source. */
static int bind_source(struct provider *p, const char *source, struct err *e)
{
	struct fi_info *bound;
	const struct fi_info *found;
	int rc = query(p->lib, p->info->fabric_attr->prov_name, source, &bound, e);

	if (rc < 0)
		return err_wrap(e, "bind to %s", source);
	found = bound ? find_exact(bound, p->info->fabric_attr->prov_name) : NULL;
	if (!found) {
		if (bound)
			p->lib->freeinfo(bound);
		return err_set(e, -ENODEV, "provider '%s' cannot use the address %s; choose another with --interface",
			       p->info->fabric_attr->prov_name, source);
	}
	p->lib->freeinfo(p->info);
	p->info = p->lib->dupinfo(found);
	p->lib->freeinfo(bound);
	return p->info ? 0 : err_set(e, -ENOMEM, "provider at %s", source);
}

int provider_open(const char *name, const char *source, struct provider **ret, struct err *e)
{
	AUTO(provider) p = calloc(1, sizeof(*p));
	struct fi_info *all;
	const struct fi_info *found;
	const struct preference *row;
	int rc;

	if (!p)
		return err_set(e, -ENOMEM, "provider");
	rc = libfabric_load(&p->lib, e);
	if (rc < 0)
		return rc;
	rc = query(p->lib, NULL, NULL, &all, e);
	if (rc < 0)
		return rc;
	found = pick(all, name);
	rc = found ? 0 : none_fits(p->lib, all, name, e);
	p->info = found ? p->lib->dupinfo(found) : NULL;
	if (all)
		p->lib->freeinfo(all);
	if (rc < 0)
		return rc;
	if (!p->info)
		return err_set(e, -ENOMEM, "provider");
	if (source && has_socket_address(p->info)) {
		rc = bind_source(p, source, e);
		if (rc < 0)
			return rc;
	}
	p->name = p->info->fabric_attr->prov_name;
	row = preference_of(p->name);
	p->is_rdma = row->is_rdma;
	p->warning = row->warning;
	p->advice = row->advice;
	*ret = steal(p);
	return 0;
}

void provider_free(struct provider *p)
{
	if (!p)
		return;
	if (p->info)
		p->lib->freeinfo(p->info);
	free(p);
}
