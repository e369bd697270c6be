/* SPDX-License-Identifier: MIT */
/* What the image tests share: a folder of their own, and a small tree in it. */
#ifndef KILN_TESTS_IMAGE_TREE_H
#define KILN_TESTS_IMAGE_TREE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"

#define TREE_EPOCH 1700000000

/* The test's own folder; KILN_STATE points into it. Made by tree_setup, removed by tree_teardown. */
static char tree_dir[64];

static inline int tree_setup(void **state)
{
	(void)state;
	snprintf(tree_dir, sizeof(tree_dir), "/tmp/kiln-test-XXXXXX");
	if (!mkdtemp(tree_dir))
		return -1;
	AUTO_STR kept = str_printf("%s/state", tree_dir);
	return setenv("KILN_STATE", kept, 1);
}

static inline int tree_teardown(void **state)
{
	(void)state;
	return fdio_remove_tree(tree_dir, NULL);
}

/* A path below the test's folder; freed by the caller. */
static inline char *tree_path(const char *rel)
{
	return str_printf("%s/%s", tree_dir, rel);
}

static inline void tree_folder(const char *rel, mode_t mode)
{
	AUTO_STR path = tree_path(rel);
	assert_int_equal(fdio_mkdir_p(path, 0755, NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static inline void tree_file(const char *rel, const char *text, mode_t mode)
{
	AUTO_STR path = tree_path(rel);
	AUTO_STR parent = strndup(path, (size_t)(strrchr(path, '/') - path));
	assert_int_equal(fdio_mkdir_p(parent, 0755, NULL), 0);
	assert_int_equal(fdio_write_file(AT_FDCWD, path, text, strlen(text), mode, NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static inline void tree_link(const char *rel, const char *target)
{
	AUTO_STR path = tree_path(rel);
	assert_int_equal(symlink(target, path), 0);
}

static inline void tree_hard_link(const char *rel, const char *of)
{
	AUTO_STR path = tree_path(rel);
	AUTO_STR from = tree_path(of);
	assert_int_equal(link(from, path), 0);
}

/* overlayfs' deletion and its mark of a folder that hides what is below. */
static inline void tree_whiteout(const char *rel)
{
	AUTO_STR path = tree_path(rel);
	assert_int_equal(mknod(path, S_IFCHR, makedev(0, 0)), 0);
}

static inline void tree_opaque(const char *rel)
{
	AUTO_STR path = tree_path(rel);
	assert_int_equal(setxattr(path, "trusted.overlay.opaque", "y", 1, 0), 0);
}

static inline char *tree_read(const char *rel)
{
	char *text = NULL;
	AUTO_STR path = tree_path(rel);
	assert_int_equal(fdio_read_file(AT_FDCWD, path, 1 << 20, &text, NULL, NULL), 0);
	return text;
}

static inline void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

#endif
