/* SPDX-License-Identifier: MIT */
/*
 * Messages between pairs of ranks (0,1), (2,3), ...: first a burst whose every byte the receiver checks, both ways; then
 * latency and bandwidth per size.
 */
#ifndef KILN_PROVE_TRANSFER_H
#define KILN_PROVE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "prove/team.h"

struct transfer_options {
	uint32_t messages;      /* in the burst */
	uint64_t message_bytes; /* of each */
	uint64_t min_bytes, max_bytes;
	uint32_t iterations; /* per size; fewer for large ones */
};

/* One direction of a pair's burst. Fixed size: it is exchanged as it is. */
struct transfer_burst {
	uint32_t from, to;
	uint32_t received;   /* messages that came */
	uint32_t bad;        /* of those: wrong content, wrong length, or written past the end */
	uint32_t first_bad;  /* the first such message */
	uint64_t bad_offset; /* its first wrong byte */
	uint8_t want, got;   /* that byte */
};

struct transfer_size {
	uint32_t from, to;
	uint64_t bytes;
	uint32_t iterations;
	double latency_min_us, latency_p50_us, latency_p99_us; /* one way: half a round trip */
	double bandwidth_gb_s;                                 /* one way, 10^9 bytes */
};

struct transfer_result {
	struct transfer_burst *bursts; /* two per pair */
	size_t burst_count;
	struct transfer_size *sizes; /* pair by pair */
	size_t size_count;
	bool verified;
};

/* Called on rank 0 as each is known; both may be NULL. */
struct transfer_listener {
	void (*on_burst)(void *arg, const struct transfer_burst *b);
	void (*on_size)(void *arg, const struct transfer_size *s);
	void *arg;
};

/* Collective, for an even number of ranks; every rank gets the same result. A wrong byte is no error: it shows in the
 * result. Errors: ERR_INPUT; request's; the rank set's. */
int transfer_run(struct team *t, const struct transfer_options *o, const struct transfer_listener *listener,
		 struct transfer_result **ret, struct err *e);
void transfer_result_free(struct transfer_result *r);
AUTO_DEFINE(transfer_result)

/* The bytes of message `number` from rank `from`: each depends on its place, so lost, swapped and shifted bytes show. */
void transfer_fill(uint8_t *to, size_t bytes, uint32_t from, uint32_t number);
/* Where got differs first, or bytes when it does not. ret_want: what should be there. */
size_t transfer_verify(const uint8_t *got, size_t bytes, uint32_t from, uint32_t number, uint8_t *ret_want);

/* The result as `kiln prove transfer --json` prints it; NULL when out of memory. */
json_t *transfer_json(const struct team *t, const struct transfer_options *o, const struct transfer_result *r);

#endif
