/* SPDX-License-Identifier: MIT */
/* fdio_tree_bytes. */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "base/own.h"

struct seen {
	dev_t dev;
	ino_t ino;
	uint64_t bytes;
};

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void close_fts(FTS **f)
{
	if (*f)
		fts_close(*f);
}

int fdio_tree_bytes(const char *path, uint64_t *ret, struct err *e)
{
	char *const roots[] = { (char *)path, NULL };
	__attribute__((cleanup(close_fts))) FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!fts)
		return err_sys(e, "cannot read '%s'", path);
	__attribute__((cleanup(own_free))) struct seen *links = NULL; /* files with several names: counted once below */
	size_t count = 0, room = 0;
	uint64_t sum = 0;
	errno = 0;
	for (FTSENT *f; (f = fts_read(fts)); errno = 0) {
		if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS) {
			errno = f->fts_errno;
			return err_sys(e, "cannot read '%s'", f->fts_path);
		}
		if (f->fts_info != FTS_F)
			continue;
		const struct stat *st = f->fts_statp;
		if (st->st_nlink == 1) {
			sum += (uint64_t)st->st_size;
			continue;
		}
		if (count == room) {
			room = room ? room * 2 : 256;
			struct seen *more = reallocarray(links, room, sizeof(*links));
			if (!more)
				return err_set(e, -ENOMEM, "cannot measure '%s': out of memory", path);
			links = more;
		}
		links[count++] = (struct seen){ st->st_dev, st->st_ino, (uint64_t)st->st_size };
	}
	if (errno)
		return err_sys(e, "cannot read '%s'", path);
	if (count)
		qsort(links, count, sizeof(*links), compare_seen);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || compare_seen(&links[i - 1], &links[i]) != 0)
			sum += links[i].bytes;
	*ret = sum;
	return 0;
}
