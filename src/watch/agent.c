/* SPDX-License-Identifier: MIT */
#include "watch/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "watch/queue.h"
#include "watch/sink.h"
#include "watch/source.h"
#include "watch/spool.h"

#define QUEUE_RECORDS 16384
#define QUEUE_BYTES (4u << 20)
/* How long a mark without records may wait for its commit: after a crash so much is read again, and found known. */
#define MARK_LAZY_MS 60000
#define WRITE_RETRY_MS 1000
#define THREAD_STACK_BYTES (256u << 10)
#define SOURCES_MAX 8
#define SINKS_MAX 8

struct running_source {
	const struct source_ops *ops;
	struct source_env env;
	void *state;
	pthread_t thread;
	bool started;
};

struct running_sink {
	struct sink *sink;
	pthread_t thread;
	bool started;
};

struct agent {
	const struct watch_config *config;
	char host[65];
	char *boot_id;
	char *kmsg_source; /* the key of the log's cursor: other logs than the machine's have cursors of their own */
	int stop_fd;
	struct queue *queue;
	struct spool *spool;
	pthread_t writer;
	bool writer_started;
	bool leaving; /* set before spool_wake_all: the writer gives up on a spool that does not take records */
	struct running_source sources[SOURCES_MAX];
	struct running_sink sinks[SINKS_MAX];
};

static void agent_fini(struct agent *a)
{
	for (size_t i = 0; i < SOURCES_MAX; i++) {
		if (a->sources[i].state)
			a->sources[i].ops->close(a->sources[i].state);
		free(a->sources[i].state);
	}
	for (size_t i = 0; i < SINKS_MAX; i++)
		sink_free(a->sinks[i].sink);
	queue_free(a->queue);
	spool_free(a->spool);
	free(a->boot_id);
	free(a->kmsg_source);
	if (a->stop_fd >= 0)
		close(a->stop_fd);
}

static int start_thread(pthread_t *ret, void *(*body)(void *), void *arg, struct err *e)
{
	pthread_attr_t how;
	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, THREAD_STACK_BYTES);
	int rc = pthread_create(ret, &how, body, arg);
	pthread_attr_destroy(&how);
	return rc ? err_set(e, -rc, "cannot start a thread: %s", strerror(rc)) : 0;
}

static void *source_body(void *arg)
{
	struct running_source *r = arg;
	r->ops->run(r->state, &r->env);
	return NULL;
}

static void *sink_body(void *arg)
{
	sink_run(((struct running_sink *)arg)->sink);
	return NULL;
}

/* Keeps one batch; a spool that fails (a full disk) is tried until it takes it. False: the agent ends without it. */
static bool keep(struct agent *a, const struct queue_batch *b)
{
	const struct spool_mark mark = { a->kmsg_source, a->boot_id, b->mark };
	bool said = false;
	for (;;) {
		struct err e = { 0 };
		if (spool_append(a->spool, b->records, b->count, b->has_mark ? &mark : NULL, &e) == 0) {
			if (said)
				log_info("spool_back", "records=%zu", b->count);
			return true;
		}
		if (!said)
			log_error("spool_failed", "%s; it is tried again, and the kernel log waits", e.msg);
		said = true;
		if (__atomic_load_n(&a->leaving, __ATOMIC_ACQUIRE))
			return false;
		clock_sleep_ms(WRITE_RETRY_MS);
	}
}

static void *writer_body(void *arg)
{
	struct agent *a = arg;
	bool gave_up = false; /* then nothing more is kept: a later mark would pass over what was left */
	uint32_t lazy_ms = 0; /* the first mark is kept at once: from then on a start knows what it has missed */
	for (bool closed = false; !closed; lazy_ms = MARK_LAZY_MS) {
		struct queue_batch b __attribute__((cleanup(queue_batch_fini))) = { 0 };
		if (queue_take(a->queue, lazy_ms, &b) < 0) {
			clock_sleep_ms(WRITE_RETRY_MS); /* out of memory: the records wait in the queue */
			continue;
		}
		closed = b.closed;
		if (gave_up || (!b.count && !b.has_mark) || keep(a, &b))
			continue;
		gave_up = true;
		log_error("events_left",
			  "the spool takes no records; what the kernel log still holds is read at the next start");
	}
	return NULL;
}

static int prepare(struct agent *a, struct err *e)
{
	struct utsname names;
	uname(&names);
	snprintf(a->host, sizeof(a->host), "%s", names.nodename);
	int rc = world_read(a->config->world, "/proc/sys/kernel/random/boot_id", &a->boot_id, e);
	if (rc < 0)
		return rc;
	bool machines_own = strcmp(a->config->kmsg, "/dev/kmsg") == 0;
	a->kmsg_source = str_printf("kmsg%s%s", machines_own ? "" : ":", machines_own ? "" : a->config->kmsg);
	a->stop_fd = eventfd(0, EFD_CLOEXEC);
	a->queue = queue_new(QUEUE_RECORDS, QUEUE_BYTES);
	if (!a->queue || !a->kmsg_source || a->stop_fd < 0)
		return err_set(e, -ENOMEM, "the agent could not get its memory");
	return spool_open(a->config->spool_dir, &a->spool, e);
}

static int open_sinks(struct agent *a, struct err *e)
{
	for (size_t i = 0; i < SINKS_MAX && sinks[i]; i++) {
		int rc = sink_new(sinks[i], a->config, a->spool, &a->sinks[i].sink, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int open_sources(struct agent *a, struct err *e)
{
	size_t count = 0;
	for (size_t i = 0; sources[i] && count < SOURCES_MAX; i++) {
		struct running_source *r = &a->sources[count];
		struct err why = { 0 };
		r->ops = sources[i];
		r->env = (struct source_env){
			.config = a->config, .origin = { a->host, a->boot_id }, .queue = a->queue, .stop_fd = a->stop_fd
		};
		int rc = 0;
		if (r->ops->keeps_cursor)
			rc = spool_source_seq(a->spool, a->kmsg_source, a->boot_id, &r->env.has_mark, &r->env.mark,
					      &why);
		r->state = calloc(1, r->ops->state_size);
		if (rc == 0)
			rc = r->state ? r->ops->open(r->state, &r->env, &why) : -ENOMEM;
		if (rc == -EOPNOTSUPP) {
			log_info("source_absent", "source=%s: %s", r->ops->name, why.msg);
			r->ops->close(r->state);
			free(steal(r->state));
			continue;
		}
		if (rc < 0) {
			if (e)
				*e = why;
			return rc;
		}
		count++;
	}
	return 0;
}

static int start(struct agent *a, struct err *e)
{
	int rc = start_thread(&a->writer, writer_body, a, e);
	a->writer_started = rc == 0;
	for (size_t i = 0; i < SINKS_MAX && a->sinks[i].sink && rc == 0; i++) {
		rc = start_thread(&a->sinks[i].thread, sink_body, &a->sinks[i], e);
		a->sinks[i].started = rc == 0;
	}
	for (size_t i = 0; i < SOURCES_MAX && a->sources[i].state && rc == 0; i++) {
		rc = start_thread(&a->sources[i].thread, source_body, &a->sources[i], e);
		a->sources[i].started = rc == 0;
	}
	return rc;
}

/* In the order of the flow, so that each stage ends when all before it has. */
static void stop(struct agent *a)
{
	uint64_t one = 1;
	__atomic_store_n(&a->leaving, true, __ATOMIC_RELEASE);
	if (write(a->stop_fd, &one, sizeof(one)) < 0)
		log_error("agent_stop", "cannot tell the sources to end");
	for (size_t i = 0; i < SOURCES_MAX; i++)
		if (a->sources[i].started)
			pthread_join(a->sources[i].thread, NULL);
	queue_close(a->queue);
	if (a->writer_started)
		pthread_join(a->writer, NULL);
	spool_wake_all(a->spool);
	for (size_t i = 0; i < SINKS_MAX; i++)
		if (a->sinks[i].started)
			pthread_join(a->sinks[i].thread, NULL);
}

static void wait_for_the_end(const struct watch_config *config, const sigset_t *signals)
{
	int64_t until_ns = clock_mono_ns() + (int64_t)config->for_ms * 1000000;
	for (;;) {
		int64_t left_ns = until_ns - clock_mono_ns();
		struct timespec left = { left_ns / 1000000000, left_ns % 1000000000 };
		int sig;
		if (config->for_ms && left_ns <= 0)
			return;
		if (config->for_ms)
			sig = sigtimedwait(signals, NULL, &left);
		else
			sig = sigwaitinfo(signals, NULL);
		if (sig > 0) {
			log_info("agent_stopping", "signal=%s", sig == SIGTERM ? "SIGTERM" : "SIGINT");
			return;
		}
	}
}

int agent_run(const struct watch_config *config, struct err *e)
{
	struct agent a __attribute__((cleanup(agent_fini))) = { .config = config, .stop_fd = -1 };
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	/* Before any thread: all inherit it, and only this one takes the signals. */
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	mallopt(M_ARENA_MAX, 1); /* few allocations, many threads: one arena keeps the agent small */
	int rc = prepare(&a, e);
	if (rc == 0)
		rc = open_sinks(&a, e);
	if (rc == 0)
		rc = open_sources(&a, e);
	if (rc == 0)
		rc = start(&a, e);
	if (rc == 0) {
		log_info("agent_started", "pid=%ld spool=%s event_log=%s", (long)getpid(), config->spool_dir,
			 config->event_log);
		wait_for_the_end(config, &signals);
	}
	if (a.writer_started)
		stop(&a);
	if (rc == 0)
		log_info("agent_stopped", "pid=%ld", (long)getpid());
	return rc;
}
