/* SPDX-License-Identifier: MIT */
/* digest_of_file and digest_of_tree. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"

#define PART_BYTES (128 * 1024)

int digest_of_file(int dirfd, const char *path, char ret[DIGEST_HEX_BYTES], struct err *e)
{
	AUTO_FD fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return err_sys(e, "cannot read '%s'", path);
	AUTO(digest) d = digest_new();
	AUTO_STR part = malloc(PART_BYTES);
	if (!d || !part)
		return err_set(e, -ENOMEM, "cannot hash '%s': out of memory", path);
	for (;;) {
		ssize_t n = read(fd, part, PART_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "cannot read '%s'", path);
		if (n == 0)
			break;
		digest_add(d, part, (size_t)n);
	}
	digest_hex(d, ret);
	return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void close_fts(FTS **f)
{
	if (*f)
		fts_close(*f);
}

/* kind, permission bits, then what it holds. */
static int add_entry(struct digest *d, const FTSENT *f, const char *relative, struct err *e)
{
	const struct stat *st = f->fts_statp;
	char line[64], hex[DIGEST_HEX_BYTES], target[4096];
	digest_add_field(d, relative);
	switch (st->st_mode & S_IFMT) {
	case S_IFDIR:
		snprintf(line, sizeof(line), "d %04o", (unsigned)st->st_mode & 07777);
		digest_add_field(d, line);
		return 0;
	case S_IFREG:
		snprintf(line, sizeof(line), "f %04o", (unsigned)st->st_mode & 07777);
		digest_add_field(d, line);
		int rc = digest_of_file(AT_FDCWD, f->fts_path, hex, e);
		if (rc == 0)
			digest_add_field(d, hex);
		return rc;
	case S_IFLNK:
		digest_add_field(d, "l");
		ssize_t n = readlink(f->fts_path, target, sizeof(target) - 1);
		if (n < 0)
			return err_sys(e, "cannot read the link '%s'", f->fts_path);
		target[n] = '\0';
		digest_add_field(d, target);
		return 0;
	default: /* devices, pipes, sockets */
		snprintf(line, sizeof(line), "o %06o %" PRIu64, (unsigned)st->st_mode, (uint64_t)st->st_rdev);
		digest_add_field(d, line);
		return 0;
	}
}

int digest_of_tree(const char *path, char ret[DIGEST_HEX_BYTES], struct err *e)
{
	char *const roots[] = { (char *)path, NULL };
	__attribute__((cleanup(close_fts))) FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	AUTO(digest) d = digest_new();
	if (!fts || !d)
		return err_set(e, -ENOMEM, "cannot hash '%s': out of memory", path);
	size_t skip = strlen(path);
	errno = 0;
	for (FTSENT *f; (f = fts_read(fts)); errno = 0) {
		if (f->fts_info == FTS_DP)
			continue;
		if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS) {
			errno = f->fts_errno;
			return err_sys(e, "cannot read '%s'", f->fts_path);
		}
		const char *relative = f->fts_path + (f->fts_pathlen < skip ? f->fts_pathlen : skip);
		while (*relative == '/')
			relative++;
		int rc = add_entry(d, f, relative, e);
		if (rc < 0)
			return rc;
	}
	if (errno)
		return err_sys(e, "cannot read '%s'", path);
	digest_hex(d, ret);
	return 0;
}
