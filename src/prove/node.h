/* SPDX-License-Identifier: MIT */
/*
 * All checks of one node at once, each in a process of its own: a driver that hangs, or a plugin that crashes when it is
 * loaded, takes its own check with it and no other.
 */
#ifndef KILN_PROVE_NODE_H
#define KILN_PROVE_NODE_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/world.h"
#include "prove/check.h"

struct node_row {
	const struct check *check;
	struct check_result result;
	int64_t ns; /* how long it took */
};

struct node_report {
	char host[256];
	char root[512];
	bool simulated; /* a row's evidence comes from a stand-in */
	int64_t ns;
	unsigned counts[CHECK_OUTCOMES];
	size_t count;
	struct node_row *rows;
};

/* Runs the rows (NULL-ended) in parallel. One that has not answered after deadline_ms becomes a skip; one whose process
 * dies gets its row's severity, with the signal as evidence. -ENOMEM, -EMFILE and the like when no process can be
 * started. Thread rule: forks, so call it before other threads are started. */
int node_run(const struct world *w, const struct check *const *rows, uint32_t deadline_ms, struct node_report **ret,
	     struct err *e);
void node_report_free(struct node_report *n);
AUTO_DEFINE(node_report)

/* The worst of all: fail, warn, pass; CHECK_SKIP when every row was skipped. */
enum check_outcome node_verdict(const struct node_report *n);
/* The mend that goes with a row: the result's own, else the check's. */
const char *node_row_mend(const struct node_row *row);
/* Gives the JSON result; NULL when out of memory. */
json_t *node_json(const struct node_report *n);
/* Adds the result as JUnit XML: warnings and passes are passed tests, with the evidence as their output. */
int node_junit(const struct node_report *n, struct buf *to);

#endif
