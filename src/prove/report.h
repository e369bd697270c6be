/* SPDX-License-Identifier: MIT */
/*
 * One HTML file that shows what a set of result files says: no script, no reference to anything outside itself.
 */
#ifndef KILN_PROVE_REPORT_H
#define KILN_PROVE_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "prove/check.h"

/* What was read, by kind; every member is a JSON array, empty when no file of the kind was given. */
struct report {
	char *title;
	int64_t made_ns; /* wall clock */
	json_t *plans;
	json_t *bakes;
	json_t *clusters;
	json_t *nodes;
	json_t *transfers;
	json_t *collectives;
	json_t *events;
	json_t *metrics;
	json_t *event_ids; /* object: the events that are already in, by host and id */
	bool has_watch;    /* a file of watch was given, though it may hold no event */
	size_t bytes;      /* read so far */
};

/* -ENOMEM. title is copied. */
int report_new(const char *title, int64_t made_ns, struct report **ret, struct err *e);
void report_free(struct report *r);
AUTO_DEFINE(report)

/* Reads one result file: the object that a verb's --json prints, or the JSON lines of watch; nccl-tests' own -J file is
 * taken as well. ERR_INPUT with file and line when it is neither; -ENOENT and the like when it cannot be read. */
int report_add(struct report *r, const char *path, struct err *e);
/* As report_add, from a text; path is only for messages. */
int report_add_text(struct report *r, const char *path, const char *text, struct err *e);

/* The whole page. -ENOMEM, -E2BIG. */
int report_page(const struct report *r, struct buf *to, struct err *e);
/* The page into a file, which is replaced in one step. Errors as fdio_write_file. */
int report_write(const struct report *r, const char *path, struct err *e);
/* The worst that any part says; CHECK_SKIP when no part has a verdict. */
enum check_outcome report_verdict(const struct report *r);

#endif
