/* SPDX-License-Identifier: MIT */
#include "watch/linefile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "base/own.h"

static const char ours[] = "{\"kind\":\"";

static int open_to_append(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
	if (fd < 0)
		return err_sys(e, "cannot write '%s'", path);
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(e, -EINVAL, "cannot write '%s': not a regular file", path);
}

int linefile_check(const char *path, struct err *e)
{
	AUTO_FD fd = open_to_append(path, e);
	return fd < 0 ? fd : 0;
}

/* Where the last line begins: behind the last newline. */
static off_t last_line(int fd, off_t size)
{
	char some[4096];
	while (size > 0) {
		off_t from = size > (off_t)sizeof(some) ? size - (off_t)sizeof(some) : 0;
		ssize_t n = pread(fd, some, (size_t)(size - from), from);
		if (n <= 0)
			return size;
		for (ssize_t i = n; i > 0; i--)
			if (some[i - 1] == '\n')
				return from + i;
		size = from;
	}
	return 0;
}

/* Ends or takes away a torn last line, so that what is appended begins a line. */
static int mend(int fd, off_t size, const char *path, struct err *e)
{
	char head[sizeof(ours) - 1];
	off_t from = last_line(fd, size);
	if (from == size)
		return 0;
	ssize_t n = pread(fd, head, sizeof(head), from);
	if (n > 0 && memcmp(head, ours, (size_t)n) == 0)
		return ftruncate(fd, from) < 0 ? err_sys(e, "cannot mend '%s'", path) : 0;
	return fdio_write_all(fd, "\n", 1, path, e);
}

/* A new file is on the disk only when its folder is. */
static void sync_folder(const char *path)
{
	AUTO_STR copy = strdup(path);
	AUTO_FD fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0)
		fsync(fd);
}

int linefile_append(const char *path, const void *lines, size_t n, struct linefile_at *ret, struct err *e)
{
	struct stat st;
	AUTO_FD fd = open_to_append(path, e);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return err_sys(e, "'%s'", path);
	if (st.st_size == 0)
		sync_folder(path);
	int rc = mend(fd, st.st_size, path, e);
	if (rc < 0)
		return rc;
	off_t before = lseek(fd, 0, SEEK_END);
	rc = fdio_write_all(fd, lines, n, path, e);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = err_sys(e, "cannot write '%s'", path);
	if (rc == 0 && fstat(fd, &st) < 0)
		rc = err_sys(e, "'%s'", path);
	if (rc < 0) {
		/* What cannot be taken back is found by its ids before the next try. */
		if (ftruncate(fd, before) < 0)
			err_hint(e, "a part of it could not be taken back");
		return rc;
	}
	*ret = (struct linefile_at){ st.st_dev, st.st_ino, (uint64_t)st.st_size };
	return 0;
}

int linefile_scan(const char *path, uint64_t offset, int (*each)(void *arg, const char *line, size_t n), void *arg,
		  struct err *e)
{
	AUTO_FILE f = fopen(path, "re");
	AUTO_STR line = NULL;
	size_t room = 0;
	ssize_t n;
	if (!f || fseeko(f, (off_t)offset, SEEK_SET) < 0)
		return err_sys(e, "cannot read '%s'", path);
	while ((n = getline(&line, &room, f)) > 0) {
		if (line[n - 1] != '\n')
			break;
		int rc = each(arg, line, (size_t)n - 1);
		if (rc < 0)
			return rc;
	}
	return ferror(f) ? err_sys(e, "cannot read '%s'", path) : 0;
}

int linefile_stat(const char *path, struct linefile_at *ret)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return -errno;
	*ret = (struct linefile_at){ st.st_dev, st.st_ino, (uint64_t)st.st_size };
	return 0;
}

char *linefile_rotated(const char *path, const struct linefile_at *was)
{
	AUTO_STR copy = strdup(path);
	const char *folder = copy ? dirname(copy) : NULL;
	AUTO_DIR d = folder ? opendir(folder) : NULL;
	const struct dirent *entry;
	while (d && (entry = readdir(d))) {
		struct linefile_at at = { 0 };
		AUTO_STR name = entry->d_ino == was->inode ? fdio_join(folder, entry->d_name) : NULL;
		if (name && linefile_stat(name, &at) == 0 && at.dev == was->dev && at.inode == was->inode)
			return steal(name);
	}
	return NULL;
}
