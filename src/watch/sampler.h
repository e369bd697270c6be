/* SPDX-License-Identifier: MIT */
/*
 * NVML in a child: `kiln watch once --json --only gpu --in-process` opens the library, samples and lets go. A child that
 * is stuck inside the driver is left alone, never killed in the middle of an ioctl (that can hang the GPU for good:
 * dcgm-exporter issue 84); no other is started before it has ended.
 * Thread rule: one thread at a time.
 */
#ifndef KILN_WATCH_SAMPLER_H
#define KILN_WATCH_SAMPLER_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Past it a child counts as stuck. Loading NVML takes a second or two on a node whose driver is not persistent. */
#define SAMPLER_TIMEOUT_MS 10000

struct sampler {
	const char *program; /* kiln; borrowed */
	int stop_fd;         /* readable: give up at once; -1: none */
	pid_t stuck;         /* a child that did not answer; 0: none */
};

/* Gives what the child printed: see sample_gpus. -ETIMEDOUT: it did not answer and is left alone; -EBUSY: an earlier child
 * is still stuck; -ECANCELED: told to stop; -ECHILD: it crashed; -ENODEV: there is nothing to sample, e says why. */
int sampler_run(struct sampler *s, uint32_t timeout_ms, json_t **ret, struct err *e);
/* The user ends it all: asks a stuck child to end too (SIGTERM, not SIGKILL). */
void sampler_fini(struct sampler *s);

#endif
