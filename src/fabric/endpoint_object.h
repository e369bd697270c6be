/* SPDX-License-Identifier: MIT */
/* Inside of struct endpoint, for endpoint.c and request.c only. */
#ifndef KILN_FABRIC_ENDPOINT_OBJECT_H
#define KILN_FABRIC_ENDPOINT_OBJECT_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include "fabric/endpoint.h"
#include "fabric/request.h"

#define ENDPOINT_REGIONS_MAX 16

struct endpoint_region {
	const uint8_t *start; /* NULL: free */
	size_t bytes;
	struct fid_mr *mr;
	void *desc;
};

struct endpoint_peer {
	fi_addr_t address;
	char label[ENDPOINT_LABEL_BYTES];
};

/* One libfabric operation in flight; a request larger than the provider's largest message has several. */
struct endpoint_part {
	struct fi_context2 context; /* first: libfabric gives its address back */
	struct request *request;
	size_t bytes;
	struct endpoint_part *next;
};

struct endpoint {
	const struct provider *provider;
	struct endpoint_options options;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct endpoint_peer *peers;
	struct endpoint_part *parts; /* all */
	struct endpoint_part *spare;
	struct endpoint_region regions[ENDPOINT_REGIONS_MAX];
	uint64_t next_key;
	size_t max_message_bytes;
	/* Since when nothing has completed while someone waited; 0: something just did. */
	int64_t idle_since_ns;
	int64_t asked_alive_ns;
	uint32_t idle_spins;
};

#endif
