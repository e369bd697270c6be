/* SPDX-License-Identifier: MIT */
/*
 * One reliable, tagged libfabric endpoint with its peers. Open, tell endpoint_name() to the peers by other means, insert
 * theirs, then move data with request.h.
 * Thread rule: one thread at a time (FI_THREAD_DOMAIN).
 */
#ifndef KILN_FABRIC_ENDPOINT_H
#define KILN_FABRIC_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "fabric/provider.h"

#define ENDPOINT_NAME_BYTES 256 /* the longest address that a provider may have here */
#define ENDPOINT_LABEL_BYTES 160

struct endpoint_options {
	uint32_t self;       /* our number among the peers */
	uint32_t peers;      /* how many there will be, ourselves included */
	uint32_t timeout_ms; /* how long nothing at all may complete before a wait ends */
	bool yield;          /* more processes than processors: sleep a little between looks while waiting */
	/* Asked about every 50 ms while waiting: a negative code ends the wait (a peer is known to be dead). May be NULL. */
	int (*alive)(void *arg, struct err *e);
	void *arg;
};

struct endpoint;

/* borrows provider until close. Errors: libfabric's, with the step that failed. */
int endpoint_open(const struct provider *provider, const struct endpoint_options *options, struct endpoint **ret,
		  struct err *e);
/* Outstanding requests are dropped; their buffers must live until then. */
void endpoint_free(struct endpoint *ep);
AUTO_DEFINE(endpoint)

/* Our address, to be given to endpoint_insert elsewhere. */
int endpoint_name(const struct endpoint *ep, uint8_t ret[ENDPOINT_NAME_BYTES], size_t *ret_bytes, struct err *e);
/* An address as text for people: "10.77.0.11:41231" for sockets, else the provider's own form. */
void endpoint_name_text(const struct endpoint *ep, const uint8_t *name, char *ret, size_t ret_bytes);
/* label names the peer in messages: "rank 1 (node2, 10.77.0.12)"; copied. */
int endpoint_insert(struct endpoint *ep, uint32_t peer, const uint8_t *name, const char *label, struct err *e);
/* Memory that will be sent from or received into. Registers it when the provider demands that; else does nothing.
 * -ENOMEM is mostly the limit on locked memory, and says so. */
int endpoint_register(struct endpoint *ep, void *buffer, size_t bytes, struct err *e);
/* Must be called before such memory is freed. */
void endpoint_unregister(struct endpoint *ep, const void *buffer);
/* Whether the provider needs endpoint_register at all. */
bool endpoint_needs_registration(const struct endpoint *ep);

#endif
