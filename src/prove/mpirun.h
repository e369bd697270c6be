/* SPDX-License-Identifier: MIT */
/* Open MPI's mpirun as our launcher: the command line for a hosts file, and what its exit status means. */
#ifndef KILN_PROVE_MPIRUN_H
#define KILN_PROVE_MPIRUN_H

#include <stdbool.h>

#include "prove/hosts.h"

struct mpirun_options {
	const char *hosts_path;
	const struct hosts *hosts;
	uint32_t ranks;
	bool one_per_host;        /* else as the slots say */
	bool is_root;             /* mpirun refuses root unless told */
	const char *subnet;       /* "10.77.0.0/24", for its own connections; NULL: it finds one */
	char *const *program;     /* NULL-ended argv of a rank; [0] a path that is good on every host */
	char *const *environment; /* ours: FI_*, NCCL_* and KILN_* are handed on */
};

/* Gives the NULL-ended argv (AUTO_STRINGS). -ENOMEM. */
int mpirun_arguments(const struct mpirun_options *o, char ***ret, struct err *e);
/* The subnet of ours that holds the first host ("10.77.0.0/24"); NULL when it is a name or no subnet of ours does. */
char *mpirun_subnet(const struct hosts *h);
/* As a person would type it: gives the text; NULL when out of memory. */
char *mpirun_text(char *const *argv);
/* Runs it with our standard output and error and gives the exit status that ours shall be: a rank's 0 to 4 as it is,
 * everything else 4 (something remote failed). When a rank has said that it failed ("kiln ...: ...") and mpirun does not
 * end within grace_ms, since it cannot reach a host any more, it is ended. -ENODEV: mpirun is not installed; -EHOSTUNREACH
 * in ERR_REMOTE: it had to be ended. */
int mpirun_run(char *const *argv, uint32_t grace_ms, int *ret_status, struct err *e);

#endif
