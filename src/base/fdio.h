/* SPDX-License-Identifier: MIT */
/*
 * Files and folders: whole reads with a cap, atomic writes, trees. dirfd may be AT_FDCWD everywhere.
 * Everything opened is close-on-exec. Errors: err_sys with the path in the message.
 */
#ifndef KILN_BASE_FDIO_H
#define KILN_BASE_FDIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Gives the file's bytes with a NUL behind (free() it). -EFBIG past max_bytes. ret_len may be NULL. Works on /proc and
 * /sys, whose sizes read as 0. */
int fdio_read_file(int dirfd, const char *path, size_t max_bytes, char **ret, size_t *ret_len, struct err *e);
/* Writes beside the target and renames over it: readers see the old or the new, never a part; on failure nothing new
 * is left. The data is on disk (fdatasync) before the rename. */
int fdio_write_file(int dirfd, const char *path, const void *data, size_t len, mode_t mode, struct err *e);
/* All n bytes, or an error; retries EINTR and short writes. */
int fdio_write_all(int fd, const void *data, size_t n, const char *what, struct err *e);
/* Makes the folder and its parents; one that is there is fine. */
int fdio_mkdir_p(const char *path, mode_t mode, struct err *e);
/* Removes a file or a tree without following links and without crossing into another mounted file system (-EBUSY names
 * the mount). What is not there is fine. */
int fdio_remove_tree(const char *path, struct err *e);
/* Copies a tree with owners, modes, times, links and hard links, as `cp -a`; dst must not exist. */
int fdio_copy_tree(const char *src, const char *dst, struct err *e);
bool fdio_exists(int dirfd, const char *path);
/* Joins with one slash; gives the string; NULL when out of memory. */
char *fdio_join(const char *dir, const char *name);
/* Bytes that a tree holds (regular files, hard links once). */
int fdio_tree_bytes(const char *path, uint64_t *ret, struct err *e);

#endif
