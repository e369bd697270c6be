/* SPDX-License-Identifier: MIT */
/* The variables that a job on this node would see, and where each comes from. */
#ifndef KILN_PROVE_CHECK_ENV_H
#define KILN_PROVE_CHECK_ENV_H

#include <stddef.h>

#include "base/err.h"
#include "base/own.h"
#include "base/world.h"

struct check_env {
	size_t count;
	struct check_env_row {
		char *name;
		char *value;
		char *where; /* "environment", "/etc/environment", "/etc/nccl.conf", "/etc/profile.d/efa.sh" */
	} * rows;
};

/* Reads /proc/self/environ, /etc/environment, the *.sh of /etc/profile.d (plain assignments only) and NCCL's own files,
 * /etc/nccl.conf and ~/.nccl.conf. A name is kept once, from the first that sets it. Unreadable files are passed over.
 * -ENOMEM. */
int check_env_load(const struct world *w, struct check_env **ret, struct err *e);
void check_env_free(struct check_env *v);
AUTO_DEFINE(check_env)
/* NULL when it is not set anywhere. */
const struct check_env_row *check_env_find(const struct check_env *v, const char *name);

#endif
