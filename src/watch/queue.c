/* SPDX-License-Identifier: MIT */
#include "watch/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	struct record **records; /* max_records places */
	size_t count, bytes;
	size_t max_records, max_bytes;
	bool has_mark, closed;
	uint64_t mark;
};

struct queue *queue_new(size_t max_records, size_t max_bytes)
{
	AUTO(queue) q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	pthread_condattr_t mono;
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, &mono);
	pthread_cond_init(&q->emptied, &mono);
	pthread_condattr_destroy(&mono);
	q->max_records = max_records;
	q->max_bytes = max_bytes;
	q->records = calloc(max_records, sizeof(struct record *));
	return q->records ? steal(q) : NULL;
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->count; i++)
		record_free(q->records[i]);
	free(q->records);
	pthread_cond_destroy(&q->filled);
	pthread_cond_destroy(&q->emptied);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

void queue_put(struct queue *q, struct record *r)
{
	pthread_mutex_lock(&q->lock);
	while (q->count == q->max_records || (q->count && q->bytes > q->max_bytes))
		pthread_cond_wait(&q->emptied, &q->lock);
	q->records[q->count++] = r;
	q->bytes += strlen(r->json);
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

void queue_mark(struct queue *q, uint64_t seq)
{
	pthread_mutex_lock(&q->lock);
	/* The writer sleeps without a deadline while there is nothing to keep: the first mark must set one. */
	if (!q->has_mark)
		pthread_cond_signal(&q->filled);
	q->has_mark = true;
	q->mark = seq;
	pthread_mutex_unlock(&q->lock);
}

void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

/* Called locked. */
static void wait_filled(struct queue *q, uint32_t lazy_ms)
{
	struct timespec until = { 0 };
	while (!q->count && !q->closed) {
		if (!q->has_mark) {
			pthread_cond_wait(&q->filled, &q->lock);
			continue;
		}
		if (!until.tv_sec) {
			clock_gettime(CLOCK_MONOTONIC, &until);
			until.tv_sec += lazy_ms / 1000;
			until.tv_nsec += (long)(lazy_ms % 1000) * 1000000;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
		}
		if (pthread_cond_timedwait(&q->filled, &q->lock, &until) == ETIMEDOUT)
			return;
	}
}

int queue_take(struct queue *q, uint32_t lazy_ms, struct queue_batch *ret)
{
	pthread_mutex_lock(&q->lock);
	wait_filled(q, lazy_ms);
	struct queue_batch b = { .count = q->count, .has_mark = q->has_mark, .mark = q->mark, .closed = q->closed };
	if (b.count) {
		b.records = malloc(b.count * sizeof(struct record *));
		if (!b.records) {
			pthread_mutex_unlock(&q->lock);
			return -ENOMEM;
		}
		memcpy(b.records, q->records, b.count * sizeof(struct record *));
	}
	q->count = 0;
	q->bytes = 0;
	q->has_mark = false;
	pthread_cond_broadcast(&q->emptied);
	pthread_mutex_unlock(&q->lock);
	*ret = b;
	return 0;
}

void queue_batch_fini(struct queue_batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		record_free(b->records[i]);
	free(b->records);
	*b = (struct queue_batch){ 0 };
}
