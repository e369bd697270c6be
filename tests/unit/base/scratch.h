/* SPDX-License-Identifier: MIT */
/* A folder of the test's own, gone when the test is over. */
#ifndef TEST_SCRATCH_H
#define TEST_SCRATCH_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fdio.h"

static char scratch[64]; /* its name */

static int scratch_setup(void **state)
{
	(void)state;
	strcpy(scratch, "/tmp/kiln-test-XXXXXX");
	return mkdtemp(scratch) ? 0 : -1;
}

static int scratch_teardown(void **state)
{
	(void)state;
	return fdio_remove_tree(scratch, NULL);
}

/* SCRATCH/name, in one of a few static places. */
static inline const char *in_scratch(const char *name)
{
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	return path;
}

static inline void put_file(const char *name, const char *text)
{
	FILE *f = fopen(in_scratch(name), "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static inline void put_folder(const char *name)
{
	assert_int_equal(fdio_mkdir_p(in_scratch(name), 0755, NULL), 0);
}

#define scratch_test(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

#endif
