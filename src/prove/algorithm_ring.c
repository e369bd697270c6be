/* SPDX-License-Identifier: MIT */
/*
 * Any number of ranks, large messages: the data is cut into n blocks; each goes round the ring once to be reduced
 * (n-1 steps) and once to be handed out (n-1 steps), so every rank moves 2(n-1)/n of the data each way. A block moves in
 * segments: while one is reduced, the next are on the wire, and a segment goes on to the next rank as soon as it is done.
 *
 * Segments are numbered step * segments + segment, alike on all ranks. Three counters tell where a rank is; each may run
 * ahead of the next only as far as its window, so what is in flight is bounded:
 *	taken <= listening <= taken + WINDOW      receives
 *	sent <= sending <= sent + WINDOW          sends
 */
#include <errno.h>
#include <string.h>

#include "prove/algorithm.h"

/* Measured over tcp;ofi_rxm, 64 MiB, 2 ranks: 128 KiB to 1 MiB are alike, above the cache is lost, below the round trips
 * of the rendezvous show. */
#define SEGMENT_BYTES (512 * 1024)
#define WINDOW 8

struct ring {
	const struct algorithm_job *job;
	struct endpoint *ep;
	uint32_t n, self, next, previous;
	uint32_t tag;
	size_t segment_elements;
	uint32_t segments; /* per block */
	uint32_t total;    /* 2 * (n - 1) * segments */
	uint32_t listening, taken, sending, sent;
	struct request receives[WINDOW], sends[WINDOW];
};

/* A segment of a block: where it starts, in elements. Blocks differ by one element, so the last segment of some is
 * shorter, or empty. */
static size_t span(const struct ring *r, uint32_t block, uint32_t segment, size_t *ret_start)
{
	const size_t count = r->job->count;
	const size_t rest = count % r->n, each = count / r->n;
	const size_t start = each * block + (block < rest ? block : rest);
	const size_t length = each + (block < rest);
	const size_t first = (size_t)segment * r->segment_elements;

	if (first >= length) {
		*ret_start = start;
		return 0;
	}
	*ret_start = start + first;
	return length - first < r->segment_elements ? length - first : r->segment_elements;
}

/* The block that is received in a step; what is sent in step s is what was received in step s - 1. */
static uint32_t block_received(const struct ring *r, uint32_t step)
{
	return (r->self + 2 * r->n - 1 - step % r->n) % r->n;
}

static uint32_t block_sent(const struct ring *r, uint32_t step)
{
	return (r->self + 2 * r->n - step % r->n) % r->n;
}

static char *at(const struct ring *r, const void *base, size_t element)
{
	return (char *)(uintptr_t)base + element * r->job->type->bytes;
}

static char *slot(const struct ring *r, uint32_t number)
{
	return (char *)r->job->scratch + (number % WINDOW) * r->segment_elements * r->job->type->bytes;
}

static bool is_reducing(const struct ring *r, uint32_t number)
{
	return number / r->segments < r->n - 1;
}

static int listen_next(struct ring *r, struct err *e)
{
	const uint32_t number = r->listening, step = number / r->segments, segment = number % r->segments;
	struct request *rq = &r->receives[number % WINDOW];
	size_t start, length = span(r, block_received(r, step), segment, &start);
	void *to = is_reducing(r, number) ? slot(r, number) : at(r, r->job->out, start);

	r->listening++;
	*rq = (struct request){ .peer = r->previous };
	if (length == 0)
		return 0;
	return request_receive(r->ep, r->previous, to, length * r->job->type->bytes, r->tag | number,
			       "an all-reduce segment", rq, e);
}

static int send_next(struct ring *r, struct err *e)
{
	const uint32_t number = r->sending, step = number / r->segments, segment = number % r->segments;
	struct request *rq = &r->sends[number % WINDOW];
	size_t start, length = span(r, block_sent(r, step), segment, &start);
	/* Our own contribution goes out as it came in; everything later is a result so far. */
	const void *from = at(r, step == 0 ? r->job->in : r->job->out, start);

	r->sending++;
	*rq = (struct request){ .peer = r->next };
	if (length == 0)
		return 0;
	return request_send(r->ep, r->next, from, length * r->job->type->bytes, r->tag | number,
			    "an all-reduce segment", rq, e);
}

static void take(struct ring *r)
{
	const uint32_t number = r->taken, step = number / r->segments, segment = number % r->segments;
	const struct algorithm_job *job = r->job;
	size_t start, length = span(r, block_received(r, step), segment, &start);

	r->taken++;
	if (length == 0 || !is_reducing(r, number))
		return;
	job->type->combine(job->op, at(r, job->out, start), at(r, job->in, start), slot(r, number), length);
	if (step == r->n - 2) /* all ranks are in: this rank finishes the block before it is handed out */
		job->type->finish(job->op, at(r, job->out, start), length, r->n);
}

/* In the second round a block is overwritten in place with its result; in place, our own send of it must have ended. */
static bool may_listen(const struct ring *r)
{
	const uint32_t round = (r->n - 1) * r->segments;
	return r->listening < r->total && r->listening < r->taken + WINDOW &&
	       (r->listening < round || r->sent > r->listening - round);
}

static bool may_send(const struct ring *r)
{
	return r->sending < r->total && r->sending < r->sent + WINDOW &&
	       (r->sending < r->segments || r->taken > r->sending - r->segments);
}

static int advance(struct ring *r, bool *ret_moved, struct err *e)
{
	int rc = 0;

	*ret_moved = false;
	while (rc == 0 && r->taken < r->listening && request_done(&r->receives[r->taken % WINDOW])) {
		take(r);
		*ret_moved = true;
		/* Pass it on before the next is reduced. */
		if (may_send(r))
			rc = send_next(r, e);
	}
	while (r->sent < r->sending && request_done(&r->sends[r->sent % WINDOW])) {
		r->sent++;
		*ret_moved = true;
	}
	while (rc == 0 && may_listen(r)) {
		rc = listen_next(r, e);
		*ret_moved = true;
	}
	while (rc == 0 && may_send(r)) {
		rc = send_next(r, e);
		*ret_moved = true;
	}
	return rc;
}

static int go_round(struct ring *r, struct err *e)
{
	while (r->taken < r->total || r->sent < r->total) {
		bool moved;
		int n = advance(r, &moved, e);
		if (n == 0)
			n = request_progress(r->ep, e);
		if (n == 0 && !moved)
			n = request_idle(
				r->ep,
				r->taken < r->total ? &r->receives[r->taken % WINDOW] : &r->sends[r->sent % WINDOW], e);
		if (n < 0)
			return n;
	}
	return 0;
}

static size_t elements_per_segment(size_t element_bytes)
{
	return SEGMENT_BYTES / element_bytes;
}

static int run(const struct algorithm_job *job, struct err *e)
{
	struct ring r = {
		.job = job,
		.ep = job->team->endpoint,
		.n = job->team->ranks->size,
		.self = job->team->ranks->rank,
		.tag = team_next_tag(job->team),
		.segment_elements = elements_per_segment(job->type->bytes),
	};
	const size_t block = (job->count + r.n - 1) / r.n;

	if (r.n == 1) {
		if (job->in != job->out)
			memcpy(job->out, job->in, job->count * job->type->bytes);
		job->type->finish(job->op, job->out, job->count, 1);
		return 0;
	}
	r.next = (r.self + 1) % r.n;
	r.previous = (r.self + r.n - 1) % r.n;
	if (block < r.segment_elements)
		r.segment_elements = block;
	if (block == 0)
		return 0;
	r.segments = (uint32_t)((block + r.segment_elements - 1) / r.segment_elements);
	r.total = 2 * (r.n - 1) * r.segments;
	if ((uint64_t)r.segments * 2 * (r.n - 1) >= 1u << 20)
		return err_set(e, -E2BIG, "an all-reduce of %zu bytes between %u ranks has too many segments",
			       job->count * job->type->bytes, r.n);
	return go_round(&r, e);
}

static bool fits(uint32_t ranks)
{
	(void)ranks;
	return true;
}

static bool is_best(uint32_t ranks, size_t bytes)
{
	(void)ranks;
	(void)bytes;
	return true;
}

static size_t scratch_bytes(uint32_t ranks, size_t bytes)
{
	/* A block is at most an element (of 8 bytes) more than its even share. */
	const size_t block = bytes / ranks + 16;
	return WINDOW * (block < SEGMENT_BYTES ? block : SEGMENT_BYTES);
}

const struct algorithm_ops algorithm_ring = {
	.name = "ring",
	.fits = fits,
	.is_best = is_best,
	.scratch_bytes = scratch_bytes,
	.run = run,
};
