/* SPDX-License-Identifier: MIT */
/*
 * A sink is one row in a file of its name; sink.c lists them and runs each in a thread of its own with a cursor of its own
 * in the spool, so that a slow or dead sink delays nobody.
 */
#ifndef KILN_WATCH_SINK_H
#define KILN_WATCH_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "watch/config.h"
#include "watch/record.h"
#include "watch/spool.h"

struct sink_ops {
	const char *name; /* also its key in the spool */
	const char *help; /* one line */
	enum record_kind takes;
	bool from_now;     /* begins at the spool's end at each start and keeps no cursor (a person is watching) */
	size_t state_size; /* the core allocates it zeroed and frees it */
	/* kept: what save gave last ("" at first). Failures end the agent's start: a target that can never work is told at
	 * once. */
	int (*open)(void *state, const struct watch_config *config, const char *kept, struct err *e);
	/* All of them or an error: after an error the same records, and perhaps more, come again. */
	int (*write)(void *state, const struct record *records, size_t count, struct err *e);
	/* What is to be kept with the cursor after a write: gives a text (free() it); NULL when out of memory. */
	char *(*save)(const void *state);
	/* Accepts a state that open has not filled or only half. */
	void (*close)(void *state);
};

/* NULL-ended. */
extern const struct sink_ops *const sinks[];

struct sink; /* a row at work */

/* Opens the sink where it left off. Errors of the row's open and of the spool. Borrows all three. */
int sink_new(const struct sink_ops *ops, const struct watch_config *config, struct spool *spool, struct sink **ret,
	     struct err *e);
void sink_free(struct sink *s);
AUTO_DEFINE(sink)
/* Delivers one batch. 1: some were delivered; 0: nothing to deliver; else the row's error: the records stay in the
 * spool. */
int sink_step(struct sink *s, struct err *e);
/* Delivers until spool_wake_all, then what is still there as long as the target takes it. A target that fails is tried again,
 * from 1 s to 30 s apart. */
void sink_run(struct sink *s);

#endif
