/* SPDX-License-Identifier: MIT */
/*
 * Running other programs. Arguments are a list, never a shell line. A child gets /dev/null as standard input unless
 * told otherwise, dies with us (PR_SET_PDEATHSIG) unless detached, and inherits no descriptor but the ones named.
 * Secrets do not go into argv: pass them by input_text or by file.
 */
#ifndef KILN_BASE_CHILD_H
#define KILN_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct child_spec {
	const char *const *argv; /* NULL-ended; argv[0] is looked up in PATH */
	const char *const *env;  /* NULL-ended NAME=value list that replaces the environment; NULL inherits */
	const char *cwd;         /* NULL: ours */
	const char *input_text;  /* written to standard input, then closed; NULL: /dev/null */
	int log_fd;              /* > 0: standard output and error are appended here; 0: captured (see child_result) */
	bool inherit_stdio;      /* true: the child has our standard input, output and error */
	bool stdout_only;        /* capture only standard output; standard error goes to log_fd if > 0, else to ours */
	uint32_t timeout_ms;     /* 0: none; past it the child's process group is killed and -ETIMEDOUT comes back */
	int (*before_exec)(
		void *arg); /* runs in the child just before exec (namespaces, chroot); non-zero: the child exits 126 */
	void *arg;
	void (*tick)(void *arg,
		     const char *latest_line); /* called about every 100 ms while it runs, for progress; may be NULL */
	void *tick_arg;
};

struct child_result {
	int status;   /* exit status, or -signal */
	char *output; /* captured, at most 4 MiB kept (the latest), NUL-ended; NULL when a log_fd took it; free() it */
	size_t output_len;
};

/* Runs to the end. 0 when it ran, whatever its status (see child_check). -ENOENT: no such program ("X is not
 * installed"); -ETIMEDOUT. ret must be given; ret->output is owned by the caller also on failure (may be NULL). */
int child_run(const struct child_spec *spec, struct child_result *ret, struct err *e);
/* Runs to the end and turns a non-zero status into an ERR_CHILD error that carries the last line of its output. */
int child_check(const struct child_spec *spec, struct err *e);
/* As child_check and gives what it printed (free() it). */
int child_output(const struct child_spec *spec, char **ret, struct err *e);

/* The last n lines of a file or of a text, for showing what a failed step printed. Gives the text; "" when unreadable. */
char *child_last_lines(const char *path, unsigned n);
char *child_last_lines_of(const char *text, unsigned n);
/* Where a program is on PATH: gives the path, or NULL. */
char *child_which(const char *name);

#endif
