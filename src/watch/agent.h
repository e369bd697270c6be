/* SPDX-License-Identifier: MIT */
/*
 * The agent: sources -> queue -> one writer -> spool -> sinks, each source and each sink in a thread of its own.
 *
 *	kmsg ──┐                                   ┌──> sink_file      (event log)
 *	nvml ──┼──> queue ──> writer ──> spool.db ─┼──> sink_metrics   (metrics log)
 *	efa  ──┘    memory    groups     durable   └──> sink_console
 */
#ifndef KILN_WATCH_AGENT_H
#define KILN_WATCH_AGENT_H

#include "base/err.h"
#include "watch/config.h"

/* Runs until config->for_ms has passed or SIGTERM or SIGINT comes, then reads what the kernel log still holds, delivers
 * what the sinks take, and returns 0. Failures are those of the start: of a source's or sink's open, -EBUSY: another agent
 * holds the spool. SIGTERM and SIGINT are blocked in the calling process from then on. */
int agent_run(const struct watch_config *config, struct err *e);

#endif
