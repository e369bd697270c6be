/* SPDX-License-Identifier: MIT */
/* Jobs that wait for each other, run by a few threads: of those that are ready, the first of the list is next. */
#ifndef KILN_BAKE_GRAPH_H
#define KILN_BAKE_GRAPH_H

#include <stddef.h>

#include "base/err.h"

#define GRAPH_AFTER_MAX 256

struct graph_job {
	int (*run)(void *arg, struct err *e); /* 0 or a negative errno; on a thread of the graph's */
	void *arg;
	size_t after[GRAPH_AFTER_MAX]; /* indices of jobs that must have ended well */
	size_t after_count;
};

/* Runs all; the first failure lets nothing new begin, waits for what runs, and is what comes back. failed (may be NULL)
 * is told at once, on the failing thread, so that others can be stopped. -EDEADLK: jobs wait for each other. */
int graph_run(struct graph_job *jobs, size_t count, unsigned threads, void (*failed)(void *arg), void *failed_arg,
	      struct err *e);

#endif
