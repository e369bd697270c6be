/* SPDX-License-Identifier: MIT */
/*
 * Powers of two, small messages: in round k every rank swaps all it has with the rank whose number differs in bit k, and
 * reduces. log2(n) one-way times; the ring needs 2(n-1).
 */
#include <string.h>

#include "prove/algorithm.h"

/* Above it the ring's halves win over whole vectors (measured over tcp;ofi_rxm, 2 ranks). */
#define BEST_BYTES 65536
/* A vector goes in chunks of at most what tcp;ofi_rxm sends without a rendezvous (its buffers' 16 KiB), which at these
 * sizes costs more than the copy that it saves; and a chunk is reduced while the next is on the wire. */
#define CHUNK_BYTES 16384
#define CHUNKS_MAX 16

static bool fits(uint32_t ranks)
{
	return (ranks & (ranks - 1)) == 0;
}

static bool is_best(uint32_t ranks, size_t bytes)
{
	(void)ranks;
	return bytes <= BEST_BYTES;
}

static size_t scratch_bytes(uint32_t ranks, size_t bytes)
{
	(void)ranks;
	return bytes; /* one vector: a round is taken in only once the one before is reduced */
}

/* One swap with one partner. */
struct swap {
	const struct algorithm_job *job;
	struct endpoint *ep;
	uint32_t partner, tag;
	const char *have; /* what we send: the input, or the result so far */
	size_t chunk;     /* elements */
	uint32_t chunks;
	struct request sends[CHUNKS_MAX], receives[CHUNKS_MAX];
};

/* A chunk's bytes from its start, and how many elements it has. */
static size_t span(const struct swap *s, uint32_t i, size_t *ret_offset)
{
	const size_t first = i * s->chunk, left = s->job->count - first;

	*ret_offset = first * s->job->type->bytes;
	return left < s->chunk ? left : s->chunk;
}

static int start(struct swap *s, struct err *e)
{
	const size_t size = s->job->type->bytes;
	size_t at;
	int rc = 0;

	for (uint32_t i = 0; i < s->chunks && rc == 0; i++) {
		size_t n = span(s, i, &at);
		rc = request_receive(s->ep, s->partner, (char *)s->job->scratch + at, n * size, s->tag | i,
				     "an all-reduce round", &s->receives[i], e);
	}
	for (uint32_t i = 0; i < s->chunks && rc == 0; i++) {
		size_t n = span(s, i, &at);
		rc = request_send(s->ep, s->partner, s->have + at, n * size, s->tag | i, "an all-reduce round",
				  &s->sends[i], e);
	}
	return rc;
}

static int finish(struct swap *s, struct err *e)
{
	const struct algorithm_job *job = s->job;
	size_t at;
	int rc = 0;

	for (uint32_t i = 0; i < s->chunks && rc == 0; i++) {
		size_t n = span(s, i, &at);
		rc = request_wait(s->ep, &s->receives[i], e);
		/* What we send may be job->out, which is about to change: the send must have ended too. */
		if (rc == 0)
			rc = request_wait(s->ep, &s->sends[i], e);
		if (rc == 0)
			job->type->combine(job->op, (char *)job->out + at, s->have + at, (char *)job->scratch + at, n);
	}
	return rc;
}

static int run(const struct algorithm_job *job, struct err *e)
{
	struct team *t = job->team;
	const uint32_t n = t->ranks->size;
	const size_t bytes = job->count * job->type->bytes;
	struct swap s = { .job = job, .ep = t->endpoint, .tag = team_next_tag(t), .have = job->in };
	const size_t least = (job->count + CHUNKS_MAX - 1) / CHUNKS_MAX;
	int rc = 0;

	if (n == 1 && job->in != job->out)
		memcpy(job->out, job->in, bytes);
	s.chunk = CHUNK_BYTES / job->type->bytes > least ? CHUNK_BYTES / job->type->bytes : least;
	s.chunks = (uint32_t)((job->count + s.chunk - 1) / s.chunk);
	for (uint32_t bit = 1; bit < n && rc == 0; bit <<= 1) {
		s.partner = t->ranks->rank ^ bit;
		rc = start(&s, e);
		if (rc == 0)
			rc = finish(&s, e);
		s.have = job->out;
		s.tag += CHUNKS_MAX;
	}
	if (rc == 0)
		job->type->finish(job->op, job->out, job->count, n);
	return rc;
}

const struct algorithm_ops algorithm_recursive_doubling = {
	.name = "recursive_doubling",
	.fits = fits,
	.is_best = is_best,
	.scratch_bytes = scratch_bytes,
	.run = run,
};
