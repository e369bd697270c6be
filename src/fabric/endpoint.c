/* SPDX-License-Identifier: MIT */
#include "fabric/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/endpoint_object.h"

/* Operations in flight that we allow; more wait for one to complete. */
#define PARTS_MAX 1024

static int open_objects(struct endpoint *ep, struct err *e)
{
	const struct libfabric *lib = ep->provider->lib;
	struct fi_info *info = ep->provider->info;
	struct fi_av_attr av = { .type = FI_AV_UNSPEC, .count = ep->options.peers };
	struct fi_cq_attr cq = { .size = 2 * PARTS_MAX, .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE };
	const char *name = ep->provider->name;
	int rc;

	rc = lib->fabric(info->fabric_attr, &ep->fabric, NULL);
	if (rc < 0)
		return libfabric_error(lib, e, rc, "%s: open the fabric '%s'", name, info->fabric_attr->name);
	rc = fi_domain(ep->fabric, info, &ep->domain, NULL);
	if (rc < 0)
		return libfabric_error(lib, e, rc, "%s: open the domain '%s'", name, info->domain_attr->name);
	rc = fi_av_open(ep->domain, &av, &ep->av, NULL);
	if (rc < 0)
		return libfabric_error(lib, e, rc, "%s: open an address vector", name);
	rc = fi_cq_open(ep->domain, &cq, &ep->cq, NULL);
	if (rc < 0)
		return libfabric_error(lib, e, rc, "%s: open a completion queue", name);
	rc = fi_endpoint(ep->domain, info, &ep->ep, NULL);
	if (rc < 0)
		return libfabric_error(lib, e, rc, "%s: open an endpoint on '%s'", name, info->domain_attr->name);
	rc = fi_ep_bind(ep->ep, &ep->av->fid, 0);
	if (rc == 0)
		rc = fi_ep_bind(ep->ep, &ep->cq->fid, FI_TRANSMIT | FI_RECV);
	if (rc < 0)
		return libfabric_error(lib, e, rc, "%s: bind the endpoint", name);
	rc = fi_enable(ep->ep);
	if (rc < 0) {
		libfabric_error(lib, e, rc, "%s: enable the endpoint on '%s'", name, info->domain_attr->name);
		if (rc == -FI_ENOMEM)
			err_hint(e, "raise the limit on locked memory (ulimit -l unlimited)");
		return rc;
	}
	return 0;
}

int endpoint_open(const struct provider *provider, const struct endpoint_options *options, struct endpoint **ret,
		  struct err *e)
{
	AUTO(endpoint) ep = calloc(1, sizeof(*ep));
	int rc;

	if (!ep)
		return err_set(e, -ENOMEM, "endpoint");
	ep->provider = provider;
	ep->options = *options;
	ep->peers = calloc(options->peers, sizeof(*ep->peers));
	ep->parts = calloc(PARTS_MAX, sizeof(*ep->parts));
	if (!ep->peers || !ep->parts)
		return err_set(e, -ENOMEM, "endpoint for %u peers", options->peers);
	for (size_t i = 0; i < PARTS_MAX; i++) {
		ep->parts[i].next = ep->spare;
		ep->spare = &ep->parts[i];
	}
	for (uint32_t i = 0; i < options->peers; i++)
		ep->peers[i].address = FI_ADDR_NOTAVAIL;
	ep->max_message_bytes = provider->info->ep_attr->max_msg_size;
	rc = open_objects(ep, e);
	if (rc < 0)
		return rc;
	*ret = steal(ep);
	return 0;
}

void endpoint_free(struct endpoint *ep)
{
	if (!ep)
		return;
	if (ep->ep)
		fi_close(&ep->ep->fid);
	for (size_t i = 0; i < ENDPOINT_REGIONS_MAX; i++)
		if (ep->regions[i].mr)
			fi_close(&ep->regions[i].mr->fid);
	if (ep->cq)
		fi_close(&ep->cq->fid);
	if (ep->av)
		fi_close(&ep->av->fid);
	if (ep->domain)
		fi_close(&ep->domain->fid);
	if (ep->fabric)
		fi_close(&ep->fabric->fid);
	free(ep->peers);
	free(ep->parts);
	free(ep);
}

int endpoint_name(const struct endpoint *ep, uint8_t ret[ENDPOINT_NAME_BYTES], size_t *ret_bytes, struct err *e)
{
	size_t n = ENDPOINT_NAME_BYTES;
	uint8_t name[ENDPOINT_NAME_BYTES] = { 0 };
	int rc = fi_getname(&ep->ep->fid, name, &n);

	if (rc < 0)
		return libfabric_error(ep->provider->lib, e, rc, "%s: ask for the endpoint's address",
				       ep->provider->name);
	memcpy(ret, name, sizeof(name));
	*ret_bytes = n;
	return 0;
}

void endpoint_name_text(const struct endpoint *ep, const uint8_t *name, char *ret, size_t ret_bytes)
{
	char text[ENDPOINT_NAME_BYTES] = "";
	size_t n = sizeof(text);
	char *start = text;

	fi_av_straddr(ep->av, name, text, &n);
	text[sizeof(text) - 1] = '\0';
	/* "fi_sockaddr_in://10.77.0.11:41231", "fi_addr_efa://[fe80::1]:5:..." */
	if (strncmp(text, "fi_", 3) == 0 && strstr(text, "://"))
		start = strstr(text, "://") + 3;
	snprintf(ret, ret_bytes, "%s", start);
}

int endpoint_insert(struct endpoint *ep, uint32_t peer, const uint8_t *name, const char *label, struct err *e)
{
	int rc;

	if (peer >= ep->options.peers)
		return err_set(e, -ERANGE, "peer %u of %u", peer, ep->options.peers);
	snprintf(ep->peers[peer].label, sizeof(ep->peers[peer].label), "%s", label);
	rc = fi_av_insert(ep->av, name, 1, &ep->peers[peer].address, 0, NULL);
	if (rc != 1)
		return libfabric_error(ep->provider->lib, e, rc < 0 ? rc : -FI_EADDRNOTAVAIL,
				       "%s: take the address of %s", ep->provider->name, label);
	return 0;
}

bool endpoint_needs_registration(const struct endpoint *ep)
{
	return (ep->provider->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

int endpoint_register(struct endpoint *ep, void *buffer, size_t bytes, struct err *e)
{
	struct endpoint_region *r = ep->regions;
	int rc;

	if (!endpoint_needs_registration(ep) || bytes == 0)
		return 0;
	while (r < ep->regions + ENDPOINT_REGIONS_MAX && r->start)
		r++;
	if (r == ep->regions + ENDPOINT_REGIONS_MAX)
		return err_set(e, -ENOSPC, "more than %d memory regions", ENDPOINT_REGIONS_MAX);
	rc = fi_mr_reg(ep->domain, buffer, bytes, FI_SEND | FI_RECV, 0, ep->next_key++, 0, &r->mr, NULL);
	if (rc < 0) {
		libfabric_error(ep->provider->lib, e, rc, "%s: register %zu bytes", ep->provider->name, bytes);
		if (rc == -FI_ENOMEM)
			err_hint(e, "raise the limit on locked memory (ulimit -l unlimited)");
		return rc;
	}
	r->start = buffer;
	r->bytes = bytes;
	r->desc = fi_mr_desc(r->mr);
	return 0;
}

void endpoint_unregister(struct endpoint *ep, const void *buffer)
{
	for (size_t i = 0; i < ENDPOINT_REGIONS_MAX; i++)
		if (ep->regions[i].start && ep->regions[i].start == buffer) {
			fi_close(&ep->regions[i].mr->fid);
			ep->regions[i] = (struct endpoint_region){ 0 };
		}
}
