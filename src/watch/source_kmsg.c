/* SPDX-License-Identifier: MIT */
/* The kernel log, read as it comes: never waits for a disk, and notices what the ring dropped. */
#include <errno.h>
#include <inttypes.h>

#include "base/log.h"
#include "watch/source_rows.h"

/* At the end: what is still in the ring is read, for at most this long under a flood. */
#define DRAIN_MAX_NS 1000000000LL
#define RETRY_MS 1000

struct state {
	struct kmsg *log;
	struct kmsg_record record;
	bool has_last;
	uint64_t last; /* sequence number */
	bool said_bad;
};

/* Reads to the end without looking, so that the mark stands there, also for a next start. */
static int pass_over(struct state *s, const struct source_env *env, struct err *e)
{
	int rc;
	while ((rc = kmsg_next(s->log, &s->record, e)) != -EAGAIN) {
		if (rc == -EPIPE || rc == -EBADMSG)
			continue;
		if (rc < 0)
			return rc;
		s->has_last = true;
		s->last = s->record.seq;
	}
	if (s->has_last)
		queue_mark(env->queue, s->last);
	return 0;
}

static int open_log(void *state, const struct source_env *env, struct err *e)
{
	struct state *s = state;
	s->has_last = env->has_mark;
	s->last = env->mark;
	int rc = kmsg_open(env->config->world, env->config->kmsg, &s->log, e);
	if (rc == 0 && !s->has_last && env->config->from_now)
		rc = pass_over(s, env, e);
	return rc;
}

static void close_log(void *state)
{
	struct state *s = state;
	kmsg_free(s->log);
}

/* The kernel's clock counts from boot. It stands still in suspend and may drift from CLOCK_MONOTONIC by a little; a
 * record cannot be from the future. */
static int64_t wall_of(const struct world *w, uint64_t usec)
{
	int64_t age_ns = w->mono_ns() - (int64_t)usec * 1000;
	return w->wall_ns() - (age_ns > 0 ? age_ns : 0);
}

static void put(const struct source_env *env, struct record *r)
{
	if (r)
		queue_put(env->queue, r);
	else
		log_error("event_lost", "no memory for an event");
}

static void report_gap(struct state *s, const struct source_env *env, int64_t wall_ns)
{
	uint64_t first = s->last + 1, last = s->record.seq - 1;
	log_warn("kmsg_gap",
		 "first=%" PRIu64 " last=%" PRIu64 ": the kernel's ring overwrote records before they were read", first,
		 last);
	put(env, record_of_gap(&env->origin, wall_ns, first, last));
}

static void take(struct state *s, const struct source_env *env)
{
	const struct kmsg_record *k = &s->record;
	struct xid x;
	if (s->has_last && k->seq <= s->last)
		return; /* read before the restart */
	int64_t wall_ns = wall_of(env->config->world, k->usec);
	if (s->has_last && k->seq > s->last + 1)
		report_gap(s, env, wall_ns);
	else if (!s->has_last && k->seq > 0)
		log_info("kmsg_start", "first=%" PRIu64 ": older records of this boot are not in the ring any more",
			 k->seq);
	if (xid_parse(k->text, &x))
		put(env, record_of_xid(&env->origin, wall_ns, k, &x));
	s->has_last = true;
	s->last = k->seq;
	queue_mark(env->queue, k->seq);
}

/* Reads what there is. False: told to stop, and all is read. */
static bool read_all(struct state *s, const struct source_env *env, int64_t *stop_at_ns)
{
	struct err e = { 0 };
	for (;;) {
		int rc = kmsg_next(s->log, &s->record, &e);
		if (rc == 1)
			take(s, env);
		else if (rc == -EBADMSG && !s->said_bad)
			log_warn("kmsg_unreadable", "%s (said once)", e.msg);
		s->said_bad |= rc == -EBADMSG;
		if (rc != 1 && rc != -EBADMSG && rc != -EPIPE && rc != -EAGAIN) {
			log_error("kmsg_read", "%s", e.msg);
			return !source_wait(env, -1, RETRY_MS);
		}
		if (*stop_at_ns && (rc == -EAGAIN || env->config->world->mono_ns() > *stop_at_ns))
			return false;
		if (rc == -EAGAIN)
			return true;
	}
}

static void run(void *state, const struct source_env *env)
{
	struct state *s = state;
	int64_t stop_at_ns = 0;
	while (read_all(s, env, &stop_at_ns))
		if (source_wait(env, kmsg_wait_ms(s->log) < 0 ? kmsg_fd(s->log) : -1, kmsg_wait_ms(s->log)))
			stop_at_ns = env->config->world->mono_ns() + DRAIN_MAX_NS;
}

const struct source_ops source_kmsg = {
	.name = "kmsg",
	.help = "Xids and SXids from the kernel log",
	.state_size = sizeof(struct state),
	.keeps_cursor = true,
	.open = open_log,
	.run = run,
	.close = close_log,
};
