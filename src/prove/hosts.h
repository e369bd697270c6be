/* SPDX-License-Identifier: MIT */
/* Open MPI's hostfile: one "address slots=N [max_slots=M]" a line; '#' begins a comment. */
#ifndef KILN_PROVE_HOSTS_H
#define KILN_PROVE_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

#define HOSTS_MAX 4096
#define HOSTS_NAME_BYTES 256

struct host {
	char name[HOSTS_NAME_BYTES]; /* an address or a name */
	uint32_t slots;              /* ranks that may run there; 1 when the line does not say */
};

struct hosts {
	size_t count;
	struct host *at;
	uint32_t slots; /* of all */
};

/* ERR_INPUT "FILE:LINE: what; expected 'address slots=N'" for a bad line, a host that is named twice, or a file without
 * hosts; -ENOENT and the like when it cannot be read. */
int hosts_read(const char *path, struct hosts **ret, struct err *e);
/* From a text; path is only for messages. */
int hosts_parse(const char *path, const char *text, struct hosts **ret, struct err *e);
void hosts_free(struct hosts *h);
AUTO_DEFINE(hosts)

#endif
