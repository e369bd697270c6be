/* SPDX-License-Identifier: MIT */
/* What the agent is told to do. All strings are borrowed for as long as it runs. */
#ifndef KILN_WATCH_CONFIG_H
#define KILN_WATCH_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/world.h"

struct watch_config {
	const struct world *world;
	const char *program; /* kiln itself, run again for each NVML sample */
	const char *spool_dir;
	const char *event_log;      /* path */
	const char *metrics_log;    /* path */
	uint64_t metrics_max_bytes; /* the metrics log is moved to PATH.1 before it grows past this */
	bool from_now;    /* at a first start, the kernel log is read from its end instead of from its oldest record */
	const char *kmsg; /* path under the world's root */
	uint32_t period_ms; /* between samples */
	uint32_t for_ms;    /* 0: until told to stop */
	FILE *terminal;     /* each event is shown here in one line; NULL: it is logged */
};

#endif
