/* SPDX-License-Identifier: MIT */
/*
 * Moving data: a request is one message, sent or received, however large (it is split where the provider has a largest
 * message). No wait is without end: when nothing completes for the endpoint's timeout, the error names the peer, what was
 * waited for and what to check. A provider itself may retry for ever in silence.
 */
#ifndef KILN_FABRIC_REQUEST_H
#define KILN_FABRIC_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "fabric/endpoint.h"

/* Kept by the caller, at the same place, until it is done or the endpoint is closed. */
struct request {
	uint32_t peer;
	uint32_t pending; /* operations in flight */
	bool is_receive;
	size_t bytes;       /* asked for */
	size_t moved_bytes; /* of a receive: what came */
	const char *what;   /* for messages: "message 3"; borrowed */
};

/* A tag is 32 bits of the caller's. On the wire the sender's number stands above it (a receive takes only what its peer
 * sent, without FI_DIRECTED_RECV, which not every provider has), and above that the part of a split message. */
#define REQUEST_SENDER_SHIFT 32
#define REQUEST_PART_SHIFT 52

/* Starts to send; the buffer must not change until it is done. Never injected (done at once, but it may sit in the
 * provider until someone makes progress, and it is no faster): a send that is done needs nothing more of us. Both sides
 * must use the same length when it is larger than the provider's largest message. Errors: libfabric's; -ETIMEDOUT when
 * there was no room for the deadline's time. */
int request_send(struct endpoint *ep, uint32_t peer, const void *buffer, size_t bytes, uint32_t tag, const char *what,
		 struct request *rq, struct err *e);
/* Starts to receive at most `bytes`. */
int request_receive(struct endpoint *ep, uint32_t peer, void *buffer, size_t bytes, uint32_t tag, const char *what,
		    struct request *rq, struct err *e);

static inline bool request_done(const struct request *rq)
{
	return rq->pending == 0;
}

/* Takes what has completed: how many operations, or a failed operation's error with its peer's label. Never waits. */
int request_progress(struct endpoint *ep, struct err *e);
/* To be called when request_progress gave 0 and the caller still waits for rq: yields, asks whether the peers live, and
 * watches the deadline. 0: go on; -ETIMEDOUT; what alive() gave. */
int request_idle(struct endpoint *ep, const struct request *rq, struct err *e);
/* Waits for one. */
int request_wait(struct endpoint *ep, const struct request *rq, struct err *e);

#endif
