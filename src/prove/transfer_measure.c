/* SPDX-License-Identifier: MIT */
#include "prove/transfer_measure.h"

#include <errno.h>

#include "base/clock.h"
#include "prove/buffer.h"
#include "prove/statistics.h"

#define STEP 4
#define WARMUP 3
/* Messages in flight when bandwidth is measured, as far as they fit into the buffer's bytes. */
#define WINDOW 32
#define BUFFER_BYTES (16u << 20)
/* Large messages need fewer turns: about this much is moved per size and measurement. */
#define BYTES_PER_SIZE (128ull << 20)

struct pair {
	struct team *team;
	uint32_t peer;
	bool leads; /* the lower rank: it holds the watch */
	struct buffer memory;
	double *times_us;
};

static int swap_once(struct pair *p, uint64_t bytes, uint32_t tag, struct err *e)
{
	struct request send, receive;
	int rc = request_receive(p->team->endpoint, p->peer, p->memory.data, bytes, tag, "a ping", &receive, e);

	if (rc == 0 && p->leads)
		rc = request_send(p->team->endpoint, p->peer, (char *)p->memory.data + bytes, bytes, tag, "a ping",
				  &send, e);
	if (rc == 0)
		rc = request_wait(p->team->endpoint, &receive, e);
	if (rc == 0 && !p->leads)
		rc = request_send(p->team->endpoint, p->peer, (char *)p->memory.data + bytes, bytes, tag, "a ping",
				  &send, e);
	return rc == 0 ? request_wait(p->team->endpoint, &send, e) : rc;
}

static int measure_latency(struct pair *p, struct transfer_size *s, struct err *e)
{
	const uint32_t tag = team_next_tag(p->team);
	struct statistics stats;
	int rc = 0;

	for (uint32_t i = 0; i < WARMUP && rc == 0; i++)
		rc = swap_once(p, s->bytes, tag, e);
	for (uint32_t i = 0; i < s->iterations && rc == 0; i++) {
		int64_t start = clock_mono_ns();
		rc = swap_once(p, s->bytes, tag, e);
		p->times_us[i] = (double)(clock_mono_ns() - start) / 2e3;
	}
	statistics_of(p->times_us, s->iterations, &stats);
	s->latency_min_us = stats.min;
	s->latency_p50_us = stats.p50;
	s->latency_p99_us = stats.p99;
	return rc;
}

/* The leader sends a stream; the last message is answered, so the watch stops when all has arrived. */
static int measure_bandwidth(struct pair *p, struct transfer_size *s, struct err *e)
{
	const uint32_t tag = team_next_tag(p->team);
	const uint64_t fit = BUFFER_BYTES / s->bytes;
	const uint32_t window = fit < 1 ? 1 : fit < WINDOW ? (uint32_t)fit : WINDOW;
	const uint32_t total = WARMUP + s->iterations;
	struct request requests[WINDOW], answer;
	int64_t start = 0;
	char byte = 0;
	int rc = 0;

	for (uint32_t i = 0; i < total + window && rc == 0; i++) {
		struct request *rq = &requests[i % window];
		char *at = (char *)p->memory.data + (i % window) * s->bytes;
		if (i == WARMUP)
			start = clock_mono_ns();
		if (i >= window && i - window < total)
			rc = request_wait(p->team->endpoint, rq, e);
		if (rc < 0 || i >= total)
			continue;
		rc = p->leads ? request_send(p->team->endpoint, p->peer, at, s->bytes, tag, "a stream", rq, e)
			      : request_receive(p->team->endpoint, p->peer, at, s->bytes, tag, "a stream", rq, e);
	}
	if (rc == 0)
		rc = p->leads ? request_receive(p->team->endpoint, p->peer, &byte, 1, tag | 1, "an answer", &answer, e)
			      : request_send(p->team->endpoint, p->peer, &byte, 1, tag | 1, "an answer", &answer, e);
	if (rc == 0)
		rc = request_wait(p->team->endpoint, &answer, e);
	s->bandwidth_gb_s = (double)(s->iterations * s->bytes) / (double)(clock_mono_ns() - start);
	return rc;
}

static int measure_size(struct pair *p, const struct transfer_options *o, uint64_t bytes, struct transfer_size *ret,
			struct err *e)
{
	const uint64_t most = BYTES_PER_SIZE / bytes;
	struct transfer_size s = { .from = p->team->ranks->rank & ~1u, .to = p->team->ranks->rank | 1, .bytes = bytes };
	int rc;

	s.iterations = o->iterations < most ? o->iterations : most < 5 ? 5 : (uint32_t)most;
	rc = measure_latency(p, &s, e);
	if (rc == 0)
		rc = team_barrier(p->team, e);
	if (rc == 0)
		rc = measure_bandwidth(p, &s, e);
	*ret = s;
	return rc;
}

/* 8, 32, ... and the largest itself. */
static uint64_t next_size(const struct transfer_options *o, uint64_t bytes)
{
	if (bytes == o->max_bytes)
		return 0;
	return bytes * STEP < o->max_bytes ? bytes * STEP : o->max_bytes;
}

static void pair_fini(struct pair *p)
{
	buffer_fini(&p->memory);
	free(p->times_us);
}

static int pair_init(struct pair *p, struct team *t, const struct transfer_options *o, struct err *e)
{
	const uint64_t bytes = 2 * o->max_bytes > BUFFER_BYTES ? 2 * o->max_bytes : BUFFER_BYTES;

	*p = (struct pair){ .team = t, .peer = t->ranks->rank ^ 1, .leads = t->ranks->rank % 2 == 0 };
	p->times_us = calloc((size_t)o->iterations + 5, sizeof(*p->times_us));
	if (!p->times_us)
		return err_set(e, -ENOMEM, "%u iterations", o->iterations);
	return buffer_init(&p->memory, t->endpoint, bytes, e);
}

int transfer_measure(struct team *t, const struct transfer_options *o, const struct transfer_listener *listener,
		     struct transfer_result *r, struct err *e)
{
	__attribute__((cleanup(pair_fini))) struct pair p = { 0 };
	const uint32_t n = t->ranks->size;
	__attribute__((cleanup(own_free))) struct transfer_size *all = calloc(n, sizeof(*all));
	size_t sizes = 0, at = 0;
	int rc = pair_init(&p, t, o, e);

	for (uint64_t bytes = o->min_bytes; bytes; bytes = next_size(o, bytes))
		sizes++;
	r->sizes = calloc(sizes * (n / 2), sizeof(*r->sizes));
	if (rc == 0 && (!all || !r->sizes))
		return err_set(e, -ENOMEM, "%zu sizes of %u ranks", sizes, n);
	for (uint64_t bytes = o->min_bytes; bytes && rc == 0; bytes = next_size(o, bytes), at++) {
		struct transfer_size mine;
		rc = measure_size(&p, o, bytes, &mine, e);
		if (rc == 0)
			rc = rank_exchange(t->ranks, &mine, sizeof(mine), all, e);
		for (uint32_t pair = 0; pair < n / 2 && rc == 0; pair++) {
			struct transfer_size *s = &r->sizes[pair * sizes + at];
			*s = all[2 * pair];
			if (listener->on_size && t->ranks->rank == 0)
				listener->on_size(listener->arg, s);
		}
	}
	r->size_count = sizes * (n / 2);
	return rc;
}
