/* SPDX-License-Identifier: MIT */
#include "bake/graph.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/own.h"

#define GRAPH_THREADS_MAX 16u

enum graph_state { GRAPH_WAITING, GRAPH_RUNNING, GRAPH_DONE };

struct graph {
	struct graph_job *jobs;
	enum graph_state *states;
	size_t count;
	size_t done;
	size_t running;
	int rc;
	struct err error;
	void (*failed)(void *arg);
	void *failed_arg;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* The first job that can begin; count: none. */
static size_t graph_next(const struct graph *g)
{
	for (size_t i = 0; i < g->count; i++) {
		bool ready = g->states[i] == GRAPH_WAITING;
		for (size_t k = 0; ready && k < g->jobs[i].after_count; k++)
			ready = g->states[g->jobs[i].after[k]] == GRAPH_DONE;
		if (ready)
			return i;
	}
	return g->count;
}

/* With the lock held, which is given up while the job runs. */
static void graph_run_one(struct graph *g, size_t i)
{
	struct err error = { 0 };

	g->states[i] = GRAPH_RUNNING;
	g->running++;
	pthread_mutex_unlock(&g->lock);
	int rc = g->jobs[i].run(g->jobs[i].arg, &error);
	if (rc < 0 && g->failed)
		g->failed(g->failed_arg);
	pthread_mutex_lock(&g->lock);
	g->running--;
	g->done++;
	g->states[i] = GRAPH_DONE;
	if (rc < 0 && g->rc == 0) {
		g->rc = rc;
		g->error = error;
	}
	pthread_cond_broadcast(&g->changed);
}

static void *graph_thread(void *arg)
{
	struct graph *g = arg;

	pthread_mutex_lock(&g->lock);
	while (g->rc == 0 && g->done < g->count) {
		size_t i = graph_next(g);
		if (i < g->count) {
			graph_run_one(g, i);
		} else if (g->running > 0) {
			pthread_cond_wait(&g->changed, &g->lock);
		} else {
			g->rc = err_set(&g->error, -EDEADLK, "steps wait for each other");
			pthread_cond_broadcast(&g->changed);
		}
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

int graph_run(struct graph_job *jobs, size_t count, unsigned threads, void (*failed)(void *arg), void *failed_arg,
	      struct err *e)
{
	struct graph g = { .jobs = jobs, .count = count, .failed = failed, .failed_arg = failed_arg };
	pthread_t ids[GRAPH_THREADS_MAX];
	unsigned started = 0;

	g.states = calloc(count ? count : 1, sizeof(*g.states));
	if (!g.states)
		return err_set(e, -ENOMEM, "out of memory for %zu jobs", count);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.changed, NULL);
	while (started + 1 < threads && started < GRAPH_THREADS_MAX &&
	       pthread_create(&ids[started], NULL, graph_thread, &g) == 0)
		started++;
	graph_thread(&g); /* this thread works too, so it goes on also where no thread could be made */
	for (unsigned i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	pthread_cond_destroy(&g.changed);
	pthread_mutex_destroy(&g.lock);
	free(g.states);
	if (g.rc < 0 && e)
		*e = g.error;
	return g.rc;
}
