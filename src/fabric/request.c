/* SPDX-License-Identifier: MIT */
#include "fabric/request.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fabric/endpoint_object.h"

#define CQ_BATCH 16
/* Looking at the clock costs more than a poll: only every so many. */
#define SPINS_PER_LOOK 64
#define ALIVE_PERIOD_NS (50 * 1000000LL)
#define DEATH_NEWS_NS (200 * 1000000LL)

static void *desc_of(const struct endpoint *ep, const void *buffer)
{
	const uint8_t *at = buffer;

	for (size_t i = 0; i < ENDPOINT_REGIONS_MAX; i++) {
		const struct endpoint_region *r = &ep->regions[i];
		if (r->start && at >= r->start && at < r->start + r->bytes)
			return r->desc;
	}
	return NULL;
}

static void part_put(struct endpoint *ep, struct endpoint_part *part)
{
	part->next = ep->spare;
	ep->spare = part;
}

/* Waits for room: a spare part, or the provider's queue. */
static int make_room(struct endpoint *ep, const struct request *rq, struct err *e)
{
	int n = request_progress(ep, e);
	return n < 0 ? n : n > 0 ? 0 : request_idle(ep, rq, e);
}

static int post_part(struct endpoint *ep, struct request *rq, void *at, size_t bytes, uint64_t tag, struct err *e)
{
	const fi_addr_t to = ep->peers[rq->peer].address;
	struct endpoint_part *part;
	ssize_t rc;
	int idle;

	while (!ep->spare)
		if ((idle = make_room(ep, rq, e)) < 0)
			return idle;
	part = ep->spare;
	ep->spare = part->next;
	part->request = rq;
	part->bytes = bytes;
	do {
		rc = rq->is_receive ? fi_trecv(ep->ep, at, bytes, desc_of(ep, at), to, tag, 0, &part->context)
				    : fi_tsend(ep->ep, at, bytes, desc_of(ep, at), to, tag, &part->context);
		if (rc == -FI_EAGAIN && (idle = make_room(ep, rq, e)) < 0) {
			part_put(ep, part);
			return idle;
		}
	} while (rc == -FI_EAGAIN);
	if (rc < 0) {
		part_put(ep, part);
		return libfabric_error(ep->provider->lib, e, rc, "%s %s %s %s", rq->is_receive ? "receive" : "send",
				       rq->what, rq->is_receive ? "from" : "to", ep->peers[rq->peer].label);
	}
	rq->pending++;
	return 0;
}

static int post(struct endpoint *ep, uint32_t peer, void *buffer, uint32_t tag, struct request *rq, struct err *e)
{
	const uint64_t sender = rq->is_receive ? peer : ep->options.self;
	const uint64_t wire_tag = tag | sender << REQUEST_SENDER_SHIFT;
	uint8_t *at = buffer;
	size_t left = rq->bytes;
	uint64_t part = 0;

	if (peer >= ep->options.peers || ep->peers[peer].address == FI_ADDR_NOTAVAIL)
		return err_set(e, -EDESTADDRREQ, "no address for peer %u", peer);
	do {
		size_t bytes = left < ep->max_message_bytes ? left : ep->max_message_bytes;
		int rc = post_part(ep, rq, at, bytes, wire_tag | part << REQUEST_PART_SHIFT, e);
		if (rc < 0)
			return rc;
		at += bytes;
		left -= bytes;
		part++;
	} while (left > 0);
	return 0;
}

int request_send(struct endpoint *ep, uint32_t peer, const void *buffer, size_t bytes, uint32_t tag, const char *what,
		 struct request *rq, struct err *e)
{
	*rq = (struct request){ .peer = peer, .bytes = bytes, .moved_bytes = bytes, .what = what };
	return post(ep, peer, (void *)(uintptr_t)buffer, tag, rq, e);
}

int request_receive(struct endpoint *ep, uint32_t peer, void *buffer, size_t bytes, uint32_t tag, const char *what,
		    struct request *rq, struct err *e)
{
	*rq = (struct request){ .peer = peer, .is_receive = true, .bytes = bytes, .what = what };
	return post(ep, peer, buffer, tag, rq, e);
}

/* A failed operation is mostly a dead peer. Whoever watches the processes may know more, a moment later. */
static int explain_death(struct endpoint *ep, struct err *e)
{
	const int64_t deadline = clock_mono_ns() + DEATH_NEWS_NS;
	int rc = 0;

	while (ep->options.alive && rc == 0 && clock_mono_ns() < deadline) {
		rc = ep->options.alive(ep->options.arg, e);
		if (rc == 0)
			clock_sleep_ms(5);
	}
	return rc;
}

/* The completion queue holds a failure: whose it was and what the provider says of it. */
static int read_failure(struct endpoint *ep, struct err *e)
{
	struct fi_cq_err_entry failed = { 0 };
	const struct endpoint_part *part;
	const struct request *rq;
	char text[128] = "";
	ssize_t rc = fi_cq_readerr(ep->cq, &failed, 0);

	if (rc < 0)
		return libfabric_error(ep->provider->lib, e, rc, "%s: read a failed completion", ep->provider->name);
	if (explain_death(ep, e) < 0)
		return e ? e->code : -ECONNRESET;
	fi_cq_strerror(ep->cq, failed.prov_errno, failed.err_data, text, sizeof(text));
	part = failed.op_context;
	if (!part)
		return libfabric_error(ep->provider->lib, e, failed.err, "%s: an operation failed (%s)",
				       ep->provider->name, text);
	rq = part->request;
	libfabric_error(ep->provider->lib, e, failed.err, "%s over %s: could not %s %s", ep->peers[rq->peer].label,
			ep->provider->name, rq->is_receive ? "receive" : "send", rq->what);
	if (text[0])
		err_hint(e, "the provider says '%s'", text);
	return err_hint(e, "%s", ep->provider->advice);
}

int request_progress(struct endpoint *ep, struct err *e)
{
	struct fi_cq_tagged_entry done[CQ_BATCH];
	ssize_t n = fi_cq_read(ep->cq, done, CQ_BATCH);

	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL)
		return read_failure(ep, e);
	if (n < 0)
		return libfabric_error(ep->provider->lib, e, n, "%s: read completions", ep->provider->name);
	for (ssize_t i = 0; i < n; i++) {
		struct endpoint_part *part = done[i].op_context;
		if (part->request->is_receive)
			part->request->moved_bytes += done[i].len;
		part->request->pending--;
		part_put(ep, part);
	}
	ep->idle_since_ns = 0;
	ep->idle_spins = 0;
	return (int)n;
}

int request_idle(struct endpoint *ep, const struct request *rq, struct err *e)
{
	int64_t now;
	char waited[CLOCK_TEXT_BYTES];

	/* sched_yield() would keep our place; a short sleep lets the rank run that we wait for (3 to 8 times faster with 5
	 * ranks on 2 processors). */
	if (ep->options.yield && ep->idle_spins > SPINS_PER_LOOK)
		nanosleep(&(const struct timespec){ .tv_nsec = 20000 }, NULL);
	if (ep->idle_spins++ % SPINS_PER_LOOK != 0)
		return 0;
	now = clock_mono_ns();
	if (ep->idle_since_ns == 0) {
		ep->idle_since_ns = now;
		ep->asked_alive_ns = now;
		return 0;
	}
	if (ep->options.alive && now - ep->asked_alive_ns > ALIVE_PERIOD_NS) {
		int rc = ep->options.alive(ep->options.arg, e);
		if (rc < 0)
			return rc;
		ep->asked_alive_ns = now;
	}
	if (now - ep->idle_since_ns < (int64_t)ep->options.timeout_ms * 1000000)
		return 0;
	clock_duration_text(now - ep->idle_since_ns, waited);
	return err_set(e, -ETIMEDOUT, "%s: nothing moved for %s while %s %s over %s; %s", ep->peers[rq->peer].label,
		       waited, rq->is_receive ? "waiting for" : "sending", rq->what, ep->provider->name,
		       ep->provider->advice);
}

int request_wait(struct endpoint *ep, const struct request *rq, struct err *e)
{
	while (!request_done(rq)) {
		int n = request_progress(ep, e);
		if (n == 0)
			n = request_idle(ep, rq, e);
		if (n < 0)
			return n;
	}
	return 0;
}
