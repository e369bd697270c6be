/* SPDX-License-Identifier: MIT */
/* The rows that sink.c lists, one per sink_*.c. */
#ifndef KILN_WATCH_SINK_ROWS_H
#define KILN_WATCH_SINK_ROWS_H

#include "watch/sink.h"

extern const struct sink_ops sink_file;
extern const struct sink_ops sink_metrics;
extern const struct sink_ops sink_console;

#endif
