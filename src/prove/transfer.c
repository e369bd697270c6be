/* SPDX-License-Identifier: MIT */
#include "prove/transfer.h"

#include <errno.h>
#include <string.h>

#include "prove/buffer.h"
#include "prove/datatype.h"
#include "prove/transfer_measure.h"

/* Behind each message's place in the receiver's buffer: bytes that nobody may write. */
#define GUARD_BYTES 64
#define GUARD 0x5a
/* In flight at once on either side, as far as they fit into the buffer's bytes. */
#define WINDOW 255
#define BUFFER_BYTES (64u << 20)

void transfer_fill(uint8_t *to, size_t bytes, uint32_t from, uint32_t number)
{
	const uint64_t seed = (uint64_t)number << 32 | from;

	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		const uint64_t word = datatype_bits(seed, from, i);
		const size_t n = bytes - i < sizeof(word) ? bytes - i : sizeof(word);
		memcpy(to + i, &word, n);
	}
}

size_t transfer_verify(const uint8_t *got, size_t bytes, uint32_t from, uint32_t number, uint8_t *ret_want)
{
	const uint64_t seed = (uint64_t)number << 32 | from;

	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		const uint64_t word = datatype_bits(seed, from, i);
		const size_t n = bytes - i < sizeof(word) ? bytes - i : sizeof(word);
		uint8_t want[sizeof(word)];
		memcpy(want, &word, sizeof(want));
		for (size_t j = 0; j < n; j++)
			if (got[i + j] != want[j]) {
				*ret_want = want[j];
				return i + j;
			}
	}
	return bytes;
}

struct burst {
	struct team *team;
	const struct transfer_options *options;
	uint32_t peer;
	uint32_t window;
	size_t stride;
	struct buffer memory;
	struct request requests[WINDOW];
};

static uint8_t *place(const struct burst *b, uint32_t number)
{
	return (uint8_t *)b->memory.data + (number % b->window) * b->stride;
}

static int send_burst(struct burst *b, uint32_t tag, struct err *e)
{
	const struct transfer_options *o = b->options;
	int rc = 0;

	for (uint32_t i = 0; i < o->messages + b->window && rc == 0; i++) {
		struct request *rq = &b->requests[i % b->window];
		if (i >= b->window)
			rc = request_wait(b->team->endpoint, rq, e);
		if (rc < 0 || i >= o->messages)
			continue;
		transfer_fill(place(b, i), o->message_bytes, b->team->ranks->rank, i);
		rc = request_send(b->team->endpoint, b->peer, place(b, i), o->message_bytes, tag | i, "a message", rq,
				  e);
	}
	return rc;
}

static void judge(const struct burst *b, uint32_t number, struct transfer_burst *ret)
{
	const size_t bytes = b->options->message_bytes;
	const uint8_t *got = place(b, number);
	size_t moved = b->requests[number % b->window].moved_bytes;
	uint8_t want = GUARD;
	size_t at = transfer_verify(got, moved < bytes ? moved : bytes, b->peer, number, &want);

	ret->received++;
	for (size_t i = bytes; at == bytes && i < bytes + GUARD_BYTES; i++)
		if (got[i] != GUARD) {
			at = i;
			want = GUARD;
			break;
		}
	if (at == bytes)
		return;
	if (ret->bad++ == 0) {
		ret->first_bad = number;
		ret->bad_offset = at;
		ret->want = want;
		ret->got = got[at];
	}
}

static int receive_burst(struct burst *b, uint32_t tag, struct transfer_burst *ret, struct err *e)
{
	const struct transfer_options *o = b->options;
	int rc = 0;

	for (uint32_t i = 0; i < o->messages + b->window && rc == 0; i++) {
		struct request *rq = &b->requests[i % b->window];
		if (i >= b->window && i - b->window < o->messages) {
			rc = request_wait(b->team->endpoint, rq, e);
			if (rc == 0)
				judge(b, i - b->window, ret);
		}
		if (rc < 0 || i >= o->messages)
			continue;
		/* Room for more than is sent, as the plugins' own test has: a length that is not kept shows. */
		memset(place(b, i), GUARD, b->stride);
		rc = request_receive(b->team->endpoint, b->peer, place(b, i), b->stride, tag | i, "a message", rq, e);
	}
	return rc;
}

/* Both directions of this rank's pair, one after the other. */
static int run_pair(struct team *t, const struct transfer_options *o, struct transfer_burst ret[2], struct err *e)
{
	const uint32_t self = t->ranks->rank, peer = self ^ 1;
	__attribute__((cleanup(own_free))) struct burst *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return err_set(e, -ENOMEM, "burst");
	b->team = t;
	b->options = o;
	b->peer = peer;
	b->stride = o->message_bytes + GUARD_BYTES;
	b->window = o->messages < WINDOW ? o->messages : WINDOW;
	if (b->window > BUFFER_BYTES / b->stride)
		b->window = b->stride < BUFFER_BYTES ? (uint32_t)(BUFFER_BYTES / b->stride) : 1;
	rc = buffer_init(&b->memory, t->endpoint, b->window * b->stride, e);
	for (uint32_t way = 0; way < 2 && rc == 0; way++) {
		const uint32_t tag = team_next_tag(t);
		ret[way] = (struct transfer_burst){ .from = (self & ~1u) + way, .to = (self & ~1u) + 1 - way };
		rc = ret[way].from == self ? send_burst(b, tag, e) : receive_burst(b, tag, &ret[way], e);
	}
	/* On failure the provider may still write there until the endpoint is closed: the process is about to end. */
	if (rc == 0)
		buffer_fini(&b->memory);
	return rc;
}

/* All ranks' findings into the result; what the receiver says counts. */
static int gather_bursts(struct team *t, const struct transfer_burst mine[2], struct transfer_result *r, struct err *e)
{
	const uint32_t n = t->ranks->size;
	__attribute__((cleanup(own_free))) struct transfer_burst *all = calloc(2 * (size_t)n, sizeof(*all));
	int rc;

	r->bursts = calloc(n, sizeof(*r->bursts));
	if (!all || !r->bursts)
		return err_set(e, -ENOMEM, "bursts of %u ranks", n);
	rc = rank_exchange(t->ranks, mine, 2 * sizeof(*mine), all, e);
	if (rc < 0)
		return rc;
	for (uint32_t rank = 0; rank < n; rank++)
		for (uint32_t way = 0; way < 2; way++)
			if (all[2 * rank + way].to == rank)
				r->bursts[(rank & ~1u) + way] = all[2 * rank + way];
	r->burst_count = n;
	return 0;
}

static int check_options(const struct team *t, const struct transfer_options *o, struct err *e)
{
	if (t->ranks->size % 2)
		return err_input(e, "%u ranks cannot be paired; start an even number", t->ranks->size);
	if (o->messages == 0 || o->messages >= 1u << 20)
		return err_input(e, "%u messages; expected 1 to %u", o->messages, (1u << 20) - 1);
	if (o->message_bytes == 0 || o->message_bytes > 64 << 20)
		return err_input(e, "messages of %llu bytes; expected 1 to 64M", (unsigned long long)o->message_bytes);
	if (o->min_bytes == 0 || o->min_bytes > o->max_bytes || o->max_bytes > 1 << 30)
		return err_input(e, "sizes from %llu to %llu bytes; expected 1 to 1G, the smaller first",
				 (unsigned long long)o->min_bytes, (unsigned long long)o->max_bytes);
	return o->iterations == 0 ? err_input(e, "0 iterations; expected at least 1") : 0;
}

int transfer_run(struct team *t, const struct transfer_options *o, const struct transfer_listener *listener,
		 struct transfer_result **ret, struct err *e)
{
	AUTO(transfer_result) r = calloc(1, sizeof(*r));
	struct transfer_burst mine[2] = { 0 };
	struct err checked = { 0 };
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "results");
	check_options(t, o, &checked);
	rc = rank_agree(t->ranks, &checked, e);
	if (rc == 0)
		rc = run_pair(t, o, mine, e);
	if (rc == 0)
		rc = gather_bursts(t, mine, r, e);
	if (rc < 0)
		return rc;
	r->verified = true;
	for (size_t i = 0; i < r->burst_count; i++) {
		r->verified = r->verified && r->bursts[i].bad == 0 && r->bursts[i].received == o->messages;
		if (listener->on_burst && t->ranks->rank == 0)
			listener->on_burst(listener->arg, &r->bursts[i]);
	}
	rc = transfer_measure(t, o, listener, r, e);
	if (rc < 0)
		return rc;
	*ret = steal(r);
	return 0;
}

void transfer_result_free(struct transfer_result *r)
{
	if (!r)
		return;
	free(r->bursts);
	free(r->sizes);
	free(r);
}
