/* SPDX-License-Identifier: MIT */
/*
 * PR_SET_PDEATHSIG ends the program that we started, but not what that started in turn. A guard is a small process that
 * outlives us for a moment: when we are gone, however we went, it kills the program's whole process group.
 * Only child.c uses it.
 */
#ifndef KILN_BASE_CHILD_GUARD_H
#define KILN_BASE_CHILD_GUARD_H

#include <sys/types.h>

struct child_guard {
	pid_t pid;    /* 0: none */
	int lifeline; /* our end of a pipe: closed by our death; -1: none */
};

/* Starts a guard that knows no group yet. 0 or a negative errno. All signals must be blocked. */
int child_guard_open(struct child_guard *g);
/* In the child, before exec: names itself, the leader of its group. Async-signal-safe. */
void child_guard_name(const struct child_guard *g);
/* Ends the guard; the group is left alone. Takes one that was never opened, too ({ 0, -1 }). */
void child_guard_close(struct child_guard *g);

#endif
