/* SPDX-License-Identifier: MIT */
/*
 * Records on their way from the sources to the writer, in memory. A source that finds it full waits: for the kernel log
 * the ring in the kernel then holds what comes, and if that overflows too the gap is seen in the sequence numbers.
 * Thread rule: any thread.
 */
#ifndef KILN_WATCH_QUEUE_H
#define KILN_WATCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"
#include "watch/record.h"

struct queue;

/* NULL: out of memory. */
struct queue *queue_new(size_t max_records, size_t max_bytes);
/* Takes NULL. Frees what is still inside. */
void queue_free(struct queue *q);
AUTO_DEFINE(queue)

/* Takes r. Waits while the queue is full. */
void queue_put(struct queue *q, struct record *r);
/* The kernel log has been read up to seq, and every event up to there was put before this call. Does not wake the writer. */
void queue_mark(struct queue *q, uint64_t seq);
/* No more puts will come. */
void queue_close(struct queue *q);

struct queue_batch {
	struct record **records; /* owned by the batch */
	size_t count;
	bool has_mark;
	uint64_t mark;
	bool closed; /* the last batch */
};
/* Waits for records, for the close, or, when there is a new mark, at most lazy_ms. Gives all that there is (queue_batch_fini
 * it). -ENOMEM: nothing was taken. */
int queue_take(struct queue *q, uint32_t lazy_ms, struct queue_batch *ret);
void queue_batch_fini(struct queue_batch *b);

#endif
