/* SPDX-License-Identifier: MIT */
/*
 * Processes found by something they hold, which nobody can forget to record: a network namespace ("ns/net"), or the file
 * that is their standard error ("fd/2").
 */
#ifndef KILN_LAUNCH_PROCESS_H
#define KILN_LAUNCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct process {
	pid_t pid;
	bool is_init; /* pid 1 of process numbers below ours */
	int64_t uptime_ns;
};

/* The processes whose /proc/PID/link is the file that fd holds, ourselves excluded. Gives a list (free() it) and its length.
 * Those of others are found only by root. -ENOMEM, or that /proc cannot be read. */
int process_list(const char *link, int fd, struct process **ret, size_t *ret_count, struct err *e);
/* Kills them until there are none: with SIGTERM for the first grace_ms, then SIGKILL. Adds to ret_killed how many there
 * were. -EBUSY when something stays for 10 s. */
int process_kill(const char *link, int fd, uint32_t grace_ms, unsigned *ret_killed, struct err *e);

#endif
