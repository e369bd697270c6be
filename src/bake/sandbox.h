/* SPDX-License-Identifier: MIT */
/*
 * Runs a program with a stack of layers as its root, in mount, process, host name, IPC and network namespaces of its
 * own: it sees no host file but those bound for it, and no network. Everything in it dies with kiln, and its mounts go
 * with it, so that even a SIGKILL leaves only files.
 */
#ifndef KILN_BAKE_SANDBOX_H
#define KILN_BAKE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "image/overlay.h"

struct sandbox_bind {
	const char *from; /* on the host; NULL: passed over */
	const char *to;   /* inside, absolute, not below /tmp: made when it is not there, on a memory file system */
	bool writable;
};

struct sandbox {
	const struct overlay *overlay;
	const char *root; /* an empty folder where the stack is mounted */
	const struct sandbox_bind *binds;
	size_t bind_count;
	const char *const *argv; /* argv[0]: absolute, inside */
	const char *const *env;  /* NULL-ended: the whole environment */
	bool keep_host; /* the program runs on the host's own root (mmdebstrap, mksquashfs), which is read through
				  * a private mount namespace; the stack is mounted at `root` beside it; binds are not made */
	int log_fd;     /* where its output goes */
	void (*tick)(void *arg, const char *latest_line); /* may be NULL */
	void *tick_arg;
	bool (*stopped)(void *arg); /* asked about ten times a second; true kills everything in it */
	void *stopped_arg;
};

/* 0 with *ret_status, the program's exit status or -signal; 125: the sandbox itself could not be set up (the reason is
 * in the log). -EINTR: stopped; -EPERM: no rights for namespaces. */
int sandbox_run(const struct sandbox *s, int *ret_status, struct err *e);

#endif
