/* SPDX-License-Identifier: MIT */
#include "base/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/own.h"

int fdio_read_file(int dirfd, const char *path, size_t max_bytes, char **ret, size_t *ret_len, struct err *e)
{
	AUTO_FD fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_sys(e, "cannot read '%s'", path);
	AUTO_BUF b;
	buf_init(&b, max_bytes);
	char part[32768];
	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "cannot read '%s'", path);
		if (n == 0)
			break;
		int rc = buf_add(&b, part, (size_t)n);
		if (rc == -E2BIG)
			return err_set(e, -EFBIG, "cannot read '%s': it is larger than %zu bytes", path, max_bytes);
		if (rc < 0)
			return err_set(e, rc, "cannot read '%s': out of memory", path);
	}
	size_t len = b.len;
	char *text = buf_steal(&b);
	if (!text)
		return err_set(e, -ENOMEM, "cannot read '%s': out of memory", path);
	*ret = text;
	if (ret_len)
		*ret_len = len;
	return 0;
}

int fdio_write_all(int fd, const void *data, size_t n, const char *what, struct err *e)
{
	const char *at = data;
	while (n > 0) {
		ssize_t done = write(fd, at, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_sys(e, "cannot write '%s'", what);
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

/* Opens a new file beside path. Gives its name: ".NAME.PID-N.new", so that one left by a killed process can be told. */
static int open_beside(int dirfd, const char *path, char **ret_name)
{
	static atomic_uint number;
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	for (int tries = 0; tries < 100; tries++) {
		AUTO_STR name = str_printf("%.*s.%.200s.%ld-%u.new", folder, path, path + folder, (long)getpid(),
					   atomic_fetch_add(&number, 1));
		if (!name) {
			errno = ENOMEM;
			return -1;
		}
		int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd >= 0)
			*ret_name = steal(name);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

int fdio_write_file(int dirfd, const char *path, const void *data, size_t len, mode_t mode, struct err *e)
{
	AUTO_STR beside = NULL;
	AUTO_FD fd = open_beside(dirfd, path, &beside);
	if (fd < 0)
		return err_sys(e, "cannot write '%s'", path);
	int rc = fdio_write_all(fd, data, len, path, e);
	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = err_sys(e, "cannot set the mode of '%s'", path);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = err_sys(e, "cannot write '%s'", path);
	/* close() may be where a network file system tells that the disk is full */
	if (close(steal_fd(&fd)) < 0 && rc == 0)
		rc = err_sys(e, "cannot write '%s'", path);
	if (rc == 0 && renameat(dirfd, beside, dirfd, path) < 0)
		rc = err_sys(e, "cannot replace '%s'", path);
	if (rc < 0)
		unlinkat(dirfd, beside, 0);
	return rc;
}

int fdio_mkdir_p(const char *path, mode_t mode, struct err *e)
{
	AUTO_STR part = strdup(path);
	if (!part)
		return err_set(e, -ENOMEM, "cannot make the folder '%s': out of memory", path);
	for (char *c = part;; c++) {
		bool last = *c == '\0';
		if ((!last && *c != '/') || c == part)
			continue;
		*c = '\0';
		struct stat st;
		if (mkdir(part, mode) < 0) {
			int why = errno;
			/* EROFS, EACCES and others also come back for a folder that is there already */
			if (stat(part, &st) < 0) {
				errno = why;
				return err_sys(e, "cannot make the folder '%s'", part);
			}
			if (!S_ISDIR(st.st_mode)) {
				errno = ENOTDIR;
				return err_sys(e, "cannot make the folder '%s'", part);
			}
		}
		if (last)
			return 0;
		*c = '/';
	}
}

bool fdio_exists(int dirfd, const char *path)
{
	struct stat st;
	return fstatat(dirfd, path, &st, 0) == 0;
}

char *fdio_join(const char *dir, const char *name)
{
	size_t n = strlen(dir);
	while (n > 1 && dir[n - 1] == '/')
		n--;
	while (*name == '/')
		name++;
	if (n == 0)
		return strdup(name);
	return str_printf("%.*s%s%s", (int)n, dir, n == 1 && dir[0] == '/' ? "" : "/", name);
}
