/* SPDX-License-Identifier: MIT */
/*
 * A file of JSON lines that others may rotate, truncate or write to as well. It is opened for each append, so a rotation
 * needs no signal and no deleted file is kept open.
 */
#ifndef KILN_WATCH_LINEFILE_H
#define KILN_WATCH_LINEFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Which file it was and how long, right after an append. All 0: none. */
struct linefile_at {
	uint64_t dev, inode, size;
};

/* Makes the file when it is not there (0640), and says why it cannot be written otherwise. */
int linefile_check(const char *path, struct err *e);
/* Appends whole lines and waits until they are on the disk. A last line that a crash left torn is taken away when it is one
 * of ours (it begins {"kind":") and ended otherwise. On failure what was written of this append is taken back as far as the
 * disk allows. -ENOSPC and the like. */
int linefile_append(const char *path, const void *lines, size_t n, struct linefile_at *ret, struct err *e);

/* Calls each for every complete line behind offset. 0, or each's negative result, or a read error. -ENOENT: no file. */
int linefile_scan(const char *path, uint64_t offset, int (*each)(void *arg, const char *line, size_t n), void *arg,
		  struct err *e);
/* Which file stands at path now. -ENOENT: none. */
int linefile_stat(const char *path, struct linefile_at *ret);
/* The name under which a rotated file lies in path's folder, by its inode: gives the path (free() it); NULL: not there. */
char *linefile_rotated(const char *path, const struct linefile_at *was);

#endif
