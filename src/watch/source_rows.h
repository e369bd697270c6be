/* SPDX-License-Identifier: MIT */
/* The rows that source.c lists, one per source_*.c. */
#ifndef KILN_WATCH_SOURCE_ROWS_H
#define KILN_WATCH_SOURCE_ROWS_H

#include "watch/source.h"

extern const struct source_ops source_kmsg;
extern const struct source_ops source_nvml;
extern const struct source_ops source_efa;

#endif
