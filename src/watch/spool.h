/* SPDX-License-Identifier: MIT */
/*
 * The durable queue between sources and sinks: a SQLite database (WAL, synchronous=FULL) in a folder that one agent at a
 * time may hold. Tables:
 *	events (n, id UNIQUE, wall_ns, json)      metrics (n, wall_ns, json)
 *	source_cursor (source, boot_id, seq)      sink_cursor (sink, events_n, metrics_n, state)
 * What spool_append has returned from is on the disk.
 * Thread rule: any thread; calls take turns.
 */
#ifndef KILN_WATCH_SPOOL_H
#define KILN_WATCH_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"
#include "watch/record.h"

struct spool;

/* dir: made when it is not there. -EBUSY: another agent holds it (its pid is told); ERR_SQLITE: damaged or written by a
 * newer kiln; -EACCES, -ENOSPC and the like. */
int spool_open(const char *dir, struct spool **ret, struct err *e);
/* Takes NULL. */
void spool_free(struct spool *s);
AUTO_DEFINE(spool)

/* How far a source had been read in this boot; *ret_known false: never. ERR_SQLITE errors. */
int spool_source_seq(struct spool *s, const char *source, const char *boot_id, bool *ret_known, uint64_t *ret_seq,
		     struct err *e);

struct spool_mark {
	const char *source;
	const char *boot_id;
	uint64_t seq;
};
/* Keeps the records and moves the source's cursor (mark may be NULL), both or neither. An event whose id is there already
 * is left out. Old, delivered records are trimmed now and then. -ENOSPC, ERR_SQLITE: nothing was kept, try again. */
int spool_append(struct spool *s, struct record *const *records, size_t count, const struct spool_mark *mark,
		 struct err *e);

struct spool_list {
	struct record *at; /* count of them; their json is owned by the list */
	size_t count;
};
/* At most limit records of a kind behind place n, in order. Gives a list (spool_list_fini it); may be empty. */
int spool_read(struct spool *s, enum record_kind kind, int64_t after_n, size_t limit, struct spool_list *ret,
	       struct err *e);
void spool_list_fini(struct spool_list *l);

/* Where a sink stands and what it keeps there ("" when it has never been). Gives the state (free() it). */
int spool_sink_load(struct spool *s, const char *sink, enum record_kind kind, int64_t *ret_n, char **ret_state,
		    struct err *e);
/* Moves a sink's place and what it keeps there, on the disk when it returns. ERR_SQLITE, -ENOSPC: it has not moved. */
int spool_sink_save(struct spool *s, const char *sink, enum record_kind kind, int64_t n, const char *state,
		    struct err *e);
/* The last place taken; 0: none. */
int64_t spool_end(struct spool *s, enum record_kind kind);

/* Sleeps until a record of the kind stands behind place n (true) or spool_wake_all was called (false). */
bool spool_wait(struct spool *s, enum record_kind kind, int64_t after_n);
/* Sleeps for ms; false at once when spool_wake_all has been called. */
bool spool_sleep(struct spool *s, uint32_t ms);
/* The agent is ending: nothing sleeps in here any more. */
void spool_wake_all(struct spool *s);

#endif
