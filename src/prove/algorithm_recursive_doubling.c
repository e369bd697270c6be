/* SPDX-License-Identifier: MIT */
/*
 * Powers of two, small messages: in round k every rank swaps all it has with the rank whose number differs in bit k, and
 * reduces. log2(n) one-way times; the ring needs 2(n-1).
 */
#include <string.h>

#include "prove/algorithm.h"

/* Above it the ring's halves win over whole vectors (measured over TCP: 2 ranks cross between 32 and 128 KiB). */
#define BEST_BYTES 65536

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

static int run(const struct algorithm_job *job, struct err *e)
{
	struct team *t = job->team;
	const uint32_t n = t->ranks->size, self = t->ranks->rank;
	const size_t bytes = job->count * job->type->bytes;
	const uint32_t tag = team_next_tag(t);
	const void *have = job->in;
	struct request send, receive;
	uint32_t round = 0;
	int rc = 0;

	if (n == 1 && job->in != job->out)
		memcpy(job->out, job->in, bytes);
	for (uint32_t bit = 1; bit < n && rc == 0; bit <<= 1, round++) {
		uint32_t partner = self ^ bit;
		rc = request_receive(t->endpoint, partner, job->scratch, bytes, tag | round, "an all-reduce round",
				     &receive, e);
		if (rc == 0)
			rc = request_send(t->endpoint, partner, have, bytes, tag | round, "an all-reduce round", &send,
					  e);
		/* What we send may be job->out, which is about to change: the send must have ended too. */
		if (rc == 0)
			rc = request_wait(t->endpoint, &receive, e);
		if (rc == 0)
			rc = request_wait(t->endpoint, &send, e);
		if (rc == 0) {
			job->type->combine(job->op, job->out, have, job->scratch, job->count);
			have = job->out;
		}
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
