/* SPDX-License-Identifier: MIT */
/*
 * What a running verb shows. On a terminal: one line per running step, redrawn, with elapsed time and what is left; when
 * it is not a terminal: one plain line when a step starts to take long and one when it ends. Goes to standard error, so
 * that results on standard output stay clean.
 * Thread rule: every call may come from any thread.
 */
#ifndef KILN_BASE_PROGRESS_H
#define KILN_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/own.h"

struct progress;
struct progress_step; /* owned by its progress */

/* to: where to show; NULL shows nothing. total_steps: for "3/7"; 0 when not known. NULL when out of memory. */
struct progress *progress_new(FILE *to, unsigned total_steps);
void progress_free(struct progress *p);
AUTO_DEFINE(progress)

/* A step begins. p == NULL is fine everywhere below and does nothing. Never fails: when memory is short, nothing is shown. */
struct progress_step *progress_start(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* done/total in `unit` ("B" is shown as K, M, G); total 0: unknown. From these the time left is told. */
void progress_update(struct progress_step *s, uint64_t done, uint64_t total, const char *unit);
/* What it is doing now: a line of a log, a file name. Borrowed for the call. */
void progress_note(struct progress_step *s, const char *text);

enum progress_end { PROGRESS_DONE, PROGRESS_CACHED, PROGRESS_FAILED, PROGRESS_WARN };
/* The step is over; s is dead after it. note may be NULL. */
void progress_end(struct progress_step *s, enum progress_end how, const char *note);

#endif
