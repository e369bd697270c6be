/* SPDX-License-Identifier: MIT */
/* A recorded tree for tests: files under a fresh folder in /tmp, seen through a struct world. */
#ifndef TEST_DEVICE_TREE_H
#define TEST_DEVICE_TREE_H

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fdio.h"
#include "base/world.h"

struct tree {
	char root[64];
	struct world world;
};

static inline void tree_init(struct tree *t)
{
	strcpy(t->root, "/tmp/kiln-test-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	assert_int_equal(world_init(&t->world, t->root, NULL), 0);
}

static inline void tree_fini(struct tree *t)
{
	world_fini(&t->world);
	assert_int_equal(fdio_remove_tree(t->root, NULL), 0);
}

static inline void tree_write(const struct tree *t, const char *path, const char *text)
{
	char full[512], folder[512];
	snprintf(full, sizeof(full), "%s%s", t->root, path);
	strcpy(folder, full);
	assert_int_equal(fdio_mkdir_p(dirname(folder), 0755, NULL), 0);
	assert_int_equal(fdio_write_file(AT_FDCWD, full, text, strlen(text), 0644, NULL), 0);
}

#endif
