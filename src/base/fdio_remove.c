/* SPDX-License-Identifier: MIT */
/* fdio_remove_tree: every step is relative to an open folder and follows no link, so that nothing outside the tree can
 * be reached however the tree changes while it is removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"

/* Which mount a thing is on: its mount id where the kernel tells it (5.8), which also sees bind mounts, else its device. */
static int mount_of(int dirfd, const char *name, int flags, uint64_t *ret)
{
	struct statx x;
	if (statx(dirfd, name, flags | AT_NO_AUTOMOUNT, STATX_MNT_ID | STATX_TYPE, &x) < 0)
		return -errno;
	if (x.stx_mask & STATX_MNT_ID)
		*ret = x.stx_mnt_id;
	else
		*ret = makedev(x.stx_dev_major, x.stx_dev_minor);
	return 0;
}

static int remove_at(int dirfd, const char *name, const char *shown, uint64_t mount, struct err *e);

/* Removes what is in an open folder. Names are collected before any is removed: readdir may skip otherwise. */
static int empty_folder(int fd, const char *shown, uint64_t mount, struct err *e)
{
	int again = dup(fd);
	AUTO_DIR dir = again >= 0 ? fdopendir(again) : NULL;
	if (!dir) {
		own_close(&again);
		return err_sys(e, "cannot remove '%s'", shown);
	}
	AUTO_BUF names;
	buf_init(&names, SIZE_MAX / 2);
	errno = 0;
	for (struct dirent *d; (d = readdir(dir)); errno = 0)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			buf_add(&names, d->d_name, strlen(d->d_name) + 1);
	if (errno)
		return err_sys(e, "cannot remove '%s'", shown);
	if (names.failed)
		return err_set(e, names.failed, "cannot remove '%s': out of memory", shown);
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1) {
		AUTO_STR below = fdio_join(shown, names.data + at);
		if (!below)
			return err_set(e, -ENOMEM, "cannot remove '%s': out of memory", shown);
		int rc = remove_at(fd, names.data + at, below, mount, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Opens a folder to empty it; one that its owner may not read or write is opened up first. */
static int open_folder(int dirfd, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dirfd, name, flags);
	if (fd < 0 && errno == EACCES && fchmodat(dirfd, name, 0700, 0) == 0)
		fd = openat(dirfd, name, flags);
	if (fd >= 0 && faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES)
		fchmod(fd, 0700); /* when it is not ours to open up, the removal itself says so */
	return fd;
}

static int remove_at(int dirfd, const char *name, const char *shown, uint64_t mount, struct err *e)
{
	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	struct stat st;
	int why = errno;
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode)) {
		errno = why;
		return err_sys(e, "cannot remove '%s'", shown);
	}
	AUTO_FD fd = open_folder(dirfd, name);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "cannot remove '%s'", shown);
	uint64_t here = 0;
	int rc = mount_of(fd, "", AT_EMPTY_PATH, &here);
	if (rc < 0)
		return err_set(e, rc, "cannot remove '%s': cannot tell which mount it is on", shown);
	if (here != mount)
		return err_set(e, -EBUSY, "cannot remove '%s': a file system is mounted there; unmount it first",
			       shown);
	rc = empty_folder(fd, shown, mount, e);
	if (rc < 0)
		return rc;
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return err_sys(e, "cannot remove '%s'", shown);
	return 0;
}

int fdio_remove_tree(const char *path, struct err *e)
{
	AUTO_STR whole = strdup(path);
	if (!whole)
		return err_set(e, -ENOMEM, "cannot remove '%s': out of memory", path);
	size_t n = strlen(whole);
	while (n > 1 && whole[n - 1] == '/')
		whole[--n] = '\0';
	char *slash = strrchr(whole, '/');
	const char *name = slash ? slash + 1 : whole;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_set(e, -EINVAL, "cannot remove '%s': it does not name one thing in a folder", path);
	AUTO_STR parent = !slash ? strdup(".") : slash == whole ? strdup("/") : strndup(whole, (size_t)(slash - whole));
	if (!parent)
		return err_set(e, -ENOMEM, "cannot remove '%s': out of memory", path);
	AUTO_FD fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "cannot remove '%s'", path);
	uint64_t mount = 0;
	int rc = mount_of(fd, "", AT_EMPTY_PATH, &mount);
	if (rc < 0)
		return err_set(e, rc, "cannot remove '%s': cannot tell which mount it is on", path);
	return remove_at(fd, name, whole, mount, e);
}
