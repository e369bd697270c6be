/* SPDX-License-Identifier: MIT */
/* A state folder of the test's own, removed at its end. */
#ifndef KILN_TEST_LAUNCH_STATE_H
#define KILN_TEST_LAUNCH_STATE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka wants those above first */
#include <cmocka.h>

#include "base/fdio.h"
#include "base/own.h"

static char state_root[64];

static inline int state_setup(void **unused)
{
	(void)unused;
	snprintf(state_root, sizeof(state_root), "/tmp/kiln-test-launch-XXXXXX");
	return !mkdtemp(state_root) || setenv("KILN_STATE", state_root, 1);
}

static inline int state_teardown(void **unused)
{
	(void)unused;
	return fdio_remove_tree(state_root, NULL);
}

#endif
