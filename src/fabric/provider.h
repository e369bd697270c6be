/* SPDX-License-Identifier: MIT */
/*
 * Which libfabric provider to prove. The order is that of a GPU node: EFA, other RDMA networks, TCP. Shared memory is
 * taken only when it is asked for by name: a proof of the fabric must not pass without one.
 */
#ifndef KILN_FABRIC_PROVIDER_H
#define KILN_FABRIC_PROVIDER_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/own.h"
#include "fabric/libfabric.h"

struct provider {
	const struct libfabric *lib;
	struct fi_info *info; /* a reliable, tagged endpoint (FI_EP_RDM); owned */
	const char *name;     /* "efa", "tcp;ofi_rxm": borrowed from info */
	const char *warning;  /* what the reader must know of it, or NULL */
	const char *advice;   /* what to check when peers do not answer */
	bool is_rdma;         /* false: the kernel's TCP or shared memory moves the data */
};

/* name: a provider's exact name ("tcp;ofi_rxm"), or its core's ("tcp"); NULL: $FI_PROVIDER when set, else the best there
 * is. source: the numeric IPv4 address to bind, for providers with socket addresses; NULL: the provider's choice.
 * -ENODEV (exit code 3): no such provider, with the available ones; -ELIBACC: no libfabric; else libfabric's. */
int provider_open(const char *name, const char *source, struct provider **ret, struct err *e);
void provider_free(struct provider *p);
AUTO_DEFINE(provider)

/* "efa, tcp;ofi_rxm, shm": all that can do reliable tagged messages here; "none" when there is none. */
int provider_list(char *ret, size_t ret_bytes, struct err *e);

#endif
