/* SPDX-License-Identifier: MIT */
/*
 * A source is one row in a file of its name; source.c lists them. Each runs in a thread of its own, puts records into the
 * queue and ends when told to stop.
 */
#ifndef KILN_WATCH_SOURCE_H
#define KILN_WATCH_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "watch/config.h"
#include "watch/queue.h"
#include "watch/record.h"

struct source_env {
	const struct watch_config *config;
	struct record_origin origin;
	struct queue *queue;
	int stop_fd;   /* becomes readable, and stays so, when the agent ends */
	bool has_mark; /* of a source that keeps a cursor: how far it has been read in this boot */
	uint64_t mark;
};

struct source_ops {
	const char *name;
	const char *help;  /* one line */
	size_t state_size; /* the core allocates it zeroed and frees it */
	bool keeps_cursor; /* marks the queue; the writer keeps the mark in the spool */
	/* -EOPNOTSUPP: there is nothing for this source on this machine (said once, not an error). Other failures end the
	 * agent's start. */
	int (*open)(void *state, const struct source_env *env, struct err *e);
	void (*run)(void *state, const struct source_env *env);
	/* Accepts a state that open has not filled or only half. */
	void (*close)(void *state);
};

/* NULL-ended. */
extern const struct source_ops *const sources[];

/* Sleeps for ms (-1: for ever) or until the agent ends or fd (-1: none) has input. True: the agent ends. */
bool source_wait(const struct source_env *env, int fd, int ms);

#endif
