/* SPDX-License-Identifier: MIT */
/* A recorded machine made of small files, for one test: what is written here is all that the checks can see. */
#ifndef KILN_TESTS_PROVE_TREE_H
#define KILN_TESTS_PROVE_TREE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/own.h"
#include "base/world.h"
#include "prove/check.h"

struct tree {
	char root[64];
	struct world w;
};

static const char *tree_env(const char *name)
{
	(void)name;
	return NULL;
}

static inline void tree_make(struct tree *t)
{
	strcpy(t->root, "/tmp/kiln-tree-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	assert_int_equal(world_init(&t->w, t->root, NULL), 0);
	t->w.env = tree_env; /* not the environment of whoever runs the test */
}

static inline void tree_remove(struct tree *t)
{
	world_fini(&t->w);
	assert_int_equal(fdio_remove_tree(t->root, NULL), 0);
}

/* path as on the machine; a content of "->X" makes a link to X, one of "!0644 X" a file of that mode. */
static inline void tree_file(const struct tree *t, const char *path, const char *content)
{
	char full[512], dir[512];
	mode_t mode = 0600;
	snprintf(full, sizeof(full), "%s%s", t->root, path);
	snprintf(dir, sizeof(dir), "%s", full);
	*strrchr(dir, '/') = '\0';
	assert_int_equal(fdio_mkdir_p(dir, 0755, NULL), 0);
	if (content[0] == '-' && content[1] == '>') {
		assert_int_equal(symlink(content + 2, full), 0);
		return;
	}
	if (content[0] == '!') {
		mode = (mode_t)strtoul(content + 1, NULL, 8);
		content = strchr(content, ' ') + 1;
	}
	/* Not fdio_write_file, which waits for the disk. */
	FILE *f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(content, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(full, mode), 0);
}

/* Runs one check on the tree, as kiln does; a check that could not be made is a skip with its reason. */
static inline void tree_check(const struct tree *t, const char *id, struct check_result *ret)
{
	struct check_context c;
	struct err e = { 0 };
	const struct check *check = check_find(id);
	assert_non_null(check);
	check_context_init(&c, &t->w);
	*ret = (struct check_result){ .outcome = CHECK_SKIP };
	if (check->run(&c, ret, &e) < 0)
		check_skip(ret, "%s", e.msg);
}

#endif
