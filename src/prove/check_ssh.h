/* SPDX-License-Identifier: MIT */
/* Walks OpenSSH's configuration files with their Include lines. */
#ifndef KILN_PROVE_CHECK_SSH_H
#define KILN_PROVE_CHECK_SSH_H

#include <stdbool.h>

#include "base/world.h"

struct check_ssh_line {
	const char *file;
	unsigned line;
	const char *keyword;
	const char *value;  /* what follows, unquoted */
	const char *within; /* the Match or Host line that it is under, as written; NULL: none */
};

/* Calls each for every setting, in the order in which OpenSSH reads them (the first value of a keyword counts). Files
 * that are not there are passed over. home: for Include ~/...; may be NULL. */
void check_ssh_walk(const struct world *w, const char *path, const char *home,
		    void (*each)(void *arg, const struct check_ssh_line *l), void *arg);

#endif
