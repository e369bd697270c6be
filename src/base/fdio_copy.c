/* SPDX-License-Identifier: MIT */
/* fdio_copy_tree: in the way of `cp -a`. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <linux/fs.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"

/* A file with several names: the second name is linked to the copy of the first. */
struct first_name {
	dev_t dev;
	ino_t ino;
	char *copy; /* owned */
};

static int compare_first(const void *a, const void *b)
{
	const struct first_name *x = a, *y = b;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void free_first(void *at)
{
	struct first_name *f = at;
	free(f->copy);
	free(f);
}

/* 1: linked to its first copy; 0: this is the first name, remembered; negative errno. */
static int link_to_first(void **names, const struct stat *st, const char *to)
{
	struct first_name *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct first_name){ st->st_dev, st->st_ino, strdup(to) };
	struct first_name **found = f->copy ? tsearch(f, names, compare_first) : NULL;
	if (!found || *found != f)
		free_first(f);
	if (!found)
		return -ENOMEM;
	if (*found == f)
		return 0;
	return link((*found)->copy, to) < 0 ? -errno : 1;
}

/* Extended attributes: file capabilities, access lists. A file system that has none, or attributes that only root may
 * set, are no failure: `cp -a` does the same. */
static void copy_attributes(const char *from, const char *to)
{
	char names[4096], value[4096];
	ssize_t n = llistxattr(from, names, sizeof(names));
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t len = lgetxattr(from, names + at, value, sizeof(value));
		if (len >= 0 && lsetxattr(to, names + at, value, (size_t)len, 0) < 0)
			continue;
	}
}

/* Owner before mode: chown takes set-user-id bits away. Who is not root keeps what is his, as `cp -a`. */
static int copy_metadata(const char *from, const char *to, const struct stat *st)
{
	if (lchown(to, st->st_uid, st->st_gid) < 0 && errno != EPERM)
		return -errno;
	if (!S_ISLNK(st->st_mode) && chmod(to, st->st_mode & 07777) < 0)
		return -errno;
	copy_attributes(from, to);
	struct timespec times[2] = { st->st_atim, st->st_mtim };
	return utimensat(AT_FDCWD, to, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Copies the bytes [at, end) by the kernel where it can. */
static int copy_range(int from, int to, off_t at, off_t end)
{
	char part[65536];
	bool by_kernel = true;
	while (at < end) {
		size_t want = (size_t)(end - at);
		off_t in = at, out = at;
		ssize_t n = by_kernel ? copy_file_range(from, &in, to, &out, want, 0) : -1;
		if (by_kernel && n <= 0) {
			if (n < 0 && (errno == ENOSPC || errno == EIO || errno == EDQUOT))
				return -errno;
			by_kernel = false;
			continue;
		}
		if (!by_kernel) {
			n = pread(from, part, want < sizeof(part) ? want : sizeof(part), at);
			if (n == 0)
				return 0; /* it was cut while we read */
			if (n > 0)
				n = pwrite(to, part, (size_t)n, at);
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return -errno;
		}
		at += n;
	}
	return 0;
}

/* A regular file; holes stay holes. */
static int copy_file(const char *path, const char *copy, const struct stat *st)
{
	AUTO_FD from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (from < 0)
		return -errno;
	AUTO_FD to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	for (off_t at = 0; at < st->st_size;) {
		off_t data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
		if (hole < 0) { /* no such call here: all of it */
			data = at;
			hole = st->st_size;
		}
		int rc = copy_range(from, to, data, hole);
		if (rc < 0)
			return rc;
		at = hole;
	}
	if (ftruncate(to, st->st_size) < 0)
		return -errno;
	return close(steal_fd(&to)) < 0 ? -errno : 0;
}

static int copy_link(const char *path, const char *copy)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target));
	if (n < 0)
		return -errno;
	if (n == (ssize_t)sizeof(target))
		return -ENAMETOOLONG;
	target[n] = '\0';
	return symlink(target, copy) < 0 ? -errno : 0;
}

static int copy_entry(const FTSENT *f, const char *to, void **names)
{
	const struct stat *st = f->fts_statp;
	int rc = 0;
	if (f->fts_info == FTS_D) /* its own mode and times come when it is full (FTS_DP) */
		return mkdir(to, 0700) < 0 ? -errno : 0;
	if (f->fts_info == FTS_DP)
		return copy_metadata(f->fts_path, to, st);
	if (st->st_nlink > 1)
		rc = link_to_first(names, st, to);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (S_ISREG(st->st_mode))
		rc = copy_file(f->fts_path, to, st);
	else if (S_ISLNK(st->st_mode))
		rc = copy_link(f->fts_path, to);
	else
		rc = mknod(to, st->st_mode, st->st_rdev) < 0 ? -errno : 0;
	return rc < 0 ? rc : copy_metadata(f->fts_path, to, st);
}

static int copy_all(FTS *fts, size_t skip, const char *dst, void **names, struct err *e)
{
	errno = 0;
	for (FTSENT *f; (f = fts_read(fts)); errno = 0) {
		if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS) {
			errno = f->fts_errno;
			return err_sys(e, "cannot read '%s'", f->fts_path);
		}
		AUTO_STR to = str_printf("%s%s", dst, f->fts_path + skip);
		if (!to)
			return err_set(e, -ENOMEM, "cannot copy '%s': out of memory", f->fts_path);
		int rc = copy_entry(f, to, names);
		if (rc < 0) {
			errno = -rc;
			return err_sys(e, "cannot copy '%s' to '%s'", f->fts_path, to);
		}
	}
	return errno ? err_sys(e, "cannot copy to '%s'", dst) : 0;
}

int fdio_copy_tree(const char *src, const char *dst, struct err *e)
{
	struct stat st;
	if (lstat(dst, &st) == 0)
		return err_set(e, -EEXIST, "cannot copy '%s' to '%s': it exists already", src, dst);
	AUTO_STR from = strdup(src);
	if (!from)
		return err_set(e, -ENOMEM, "cannot copy '%s': out of memory", src);
	size_t n = strlen(from);
	while (n > 1 && from[n - 1] == '/')
		from[--n] = '\0';
	char *const roots[] = { from, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!fts)
		return err_sys(e, "cannot copy '%s'", src);
	void *names = NULL;
	int rc = copy_all(fts, n, dst, &names, e);
	fts_close(fts);
	tdestroy(names, free_first);
	if (rc < 0)
		fdio_remove_tree(dst, NULL);
	return rc;
}
