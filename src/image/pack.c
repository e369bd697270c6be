/* SPDX-License-Identifier: MIT */
#include "image/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/buf.h"

#define PACK_PATH_MAX ((size_t)16 << 10)
#define PACK_XATTR_NAMES_MAX 4096
#define PACK_XATTR_VALUE_MAX 65536

/* A file with several names: those after the first become hard links to it. */
struct pack_link {
	dev_t dev;
	ino_t ino;
	char *first; /* its name in the tar */
};

struct packing {
	const char *dir;
	int64_t epoch;
	struct archive *archive;
	struct pack_stream *stream;
	struct pack_link *links;
	size_t link_count;
	struct err *e; /* of the stream, filled inside libarchive's callback */
	int failed;
};

bool pack_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

bool pack_is_opaque(const char *path)
{
	char value[2];
	return lgetxattr(path, PACK_OPAQUE_XATTR, value, sizeof(value)) >= 1 && value[0] == 'y';
}

static la_ssize_t packing_write(struct archive *a, void *arg, const void *data, size_t n)
{
	struct packing *p = arg;

	p->failed = pack_stream_write(p->stream, data, n, p->e);
	if (p->failed < 0) {
		archive_set_error(a, -p->failed, "write");
		return -1;
	}
	return (la_ssize_t)n;
}

static void packing_fini(struct packing *p)
{
	if (p->archive && p->failed < 0)
		archive_write_fail(p->archive); /* or it would write the tar's end behind what is missing */
	if (p->archive)
		archive_write_free(p->archive);
	pack_stream_free(p->stream);
	for (size_t i = 0; i < p->link_count; i++)
		free(p->links[i].first);
	free(p->links);
}

/* libarchive's own complaint, unless the stream had one. */
static int packing_error(struct packing *p, const char *name)
{
	if (p->failed < 0)
		return p->failed;
	return err_set(p->e, -EIO, "pack %s/%s: %s", p->dir, name, archive_error_string(p->archive));
}

/* The name under which the file was packed before; NULL: this is the first, and it is remembered. */
static int packing_link(struct packing *p, const struct stat *st, const char *name, const char **ret)
{
	*ret = NULL;
	if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
		return 0;
	for (size_t i = 0; i < p->link_count; i++) {
		if (p->links[i].ino == st->st_ino && p->links[i].dev == st->st_dev) {
			*ret = p->links[i].first;
			return 0;
		}
	}
	struct pack_link *more = realloc(p->links, (p->link_count + 1) * sizeof(*more));
	if (!more)
		return err_set(p->e, -ENOMEM, "out of memory for packing %s", p->dir);
	p->links = more;
	more[p->link_count] = (struct pack_link){ st->st_dev, st->st_ino, strdup(name) };
	if (!more[p->link_count].first)
		return err_set(p->e, -ENOMEM, "out of memory for packing %s", p->dir);
	p->link_count++;
	return 0;
}

static int packing_xattrs(struct packing *p, struct archive_entry *entry, const char *path)
{
	char names[PACK_XATTR_NAMES_MAX];
	AUTO_STR value = NULL;
	ssize_t len = llistxattr(path, names, sizeof(names));

	if (len < 0)
		return errno == ENOTSUP ? 0 : err_sys(p->e, "list the attributes of %s", path);
	for (const char *name = names; name < names + len; name += strlen(name) + 1) {
		if (strcmp(name, "security.capability") != 0 && strncmp(name, "user.", 5) != 0)
			continue;
		if (!value && !(value = malloc(PACK_XATTR_VALUE_MAX)))
			return err_set(p->e, -ENOMEM, "out of memory for packing %s", path);
		ssize_t n = lgetxattr(path, name, value, PACK_XATTR_VALUE_MAX);
		if (n < 0)
			return err_sys(p->e, "read attribute %s of %s", name, path);
		archive_entry_xattr_add_entry(entry, name, value, (size_t)n);
	}
	return 0;
}

static int packing_content(struct packing *p, const char *path, const char *name, int64_t size)
{
	char block[65536];
	int64_t left = size;
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(p->e, "open %s", path);

	while (left > 0) {
		ssize_t n = read(fd, block, sizeof(block));
		if (n < 0)
			return err_sys(p->e, "read %s", path);
		if (n == 0)
			return err_set(p->e, -EIO, "read %s: it became shorter while it was packed", path);
		if (n > left)
			n = (ssize_t)left;
		if (archive_write_data(p->archive, block, (size_t)n) != n)
			return packing_error(p, name);
		left -= n;
	}
	return 0;
}

/* An empty marker file: ".wh.x" says that x is deleted, ".wh..wh..opq" that its folder hides what is below. */
static int packing_marker(struct packing *p, const char *name)
{
	struct archive_entry *entry = archive_entry_new();
	int rc = 0;

	if (!entry)
		return err_set(p->e, -ENOMEM, "out of memory for packing %s", p->dir);
	archive_entry_copy_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, 0);
	archive_entry_set_mtime(entry, p->epoch, 0);
	if (archive_write_header(p->archive, entry) < ARCHIVE_WARN)
		rc = packing_error(p, name);
	archive_entry_free(entry);
	return rc;
}

static int packing_describe(struct packing *p, struct archive_entry *entry, const struct stat *st, const char *path,
			    const char *name)
{
	char target[PATH_MAX];
	const char *first = NULL;
	int rc = packing_link(p, st, name, &first);
	if (rc < 0)
		return rc;

	archive_entry_copy_pathname(entry, name);
	archive_entry_set_filetype(entry, st->st_mode & S_IFMT);
	archive_entry_set_perm(entry, st->st_mode & 07777);
	archive_entry_set_uid(entry, st->st_uid);
	archive_entry_set_gid(entry, st->st_gid);
	archive_entry_set_mtime(entry, st->st_mtim.tv_sec < p->epoch ? st->st_mtim.tv_sec : p->epoch, 0);
	archive_entry_set_size(entry, S_ISREG(st->st_mode) && !first ? st->st_size : 0);
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		archive_entry_set_rdev(entry, st->st_rdev);
	if (S_ISLNK(st->st_mode)) {
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			return err_sys(p->e, "read link %s", path);
		target[n] = '\0';
		archive_entry_copy_symlink(entry, target);
	}
	if (first) {
		archive_entry_copy_hardlink(entry, first);
		return 0;
	}
	return packing_xattrs(p, entry, path);
}

static int packing_entry(struct packing *p, const struct stat *st, const char *path, const char *name)
{
	struct archive_entry *entry = archive_entry_new();
	if (!entry)
		return err_set(p->e, -ENOMEM, "out of memory for packing %s", path);

	int rc = packing_describe(p, entry, st, path, name);
	int64_t size = archive_entry_size(entry);
	if (rc == 0 && archive_write_header(p->archive, entry) < ARCHIVE_WARN)
		rc = packing_error(p, name);
	archive_entry_free(entry);
	return rc == 0 && size > 0 ? packing_content(p, path, name, size) : rc;
}

static int packing_folder(struct packing *p, const char *rel);

/* One name of a folder: rel is its path in the tar. */
static int packing_visit(struct packing *p, const char *rel, const char *base)
{
	struct stat st;
	AUTO_STR path = str_printf("%s/%s", p->dir, rel);
	if (!path)
		return err_set(p->e, -ENOMEM, "out of memory for packing %s", p->dir);
	if (lstat(path, &st) < 0)
		return err_sys(p->e, "look at %s", path);

	if (strncmp(base, PACK_WHITEOUT_PREFIX, strlen(PACK_WHITEOUT_PREFIX)) == 0)
		return err_set(p->e, -EINVAL, "pack %s: a layer cannot hold a name that begins with %s", path,
			       PACK_WHITEOUT_PREFIX);
	if (S_ISSOCK(st.st_mode))
		return 0;
	if (pack_is_whiteout(&st)) {
		AUTO_STR marker = str_printf("%.*s" PACK_WHITEOUT_PREFIX "%s", (int)(base - rel), rel, base);
		return marker ? packing_marker(p, marker) : err_set(p->e, -ENOMEM, "out of memory for packing");
	}
	int rc = packing_entry(p, &st, path, rel);
	if (rc < 0 || !S_ISDIR(st.st_mode))
		return rc;
	if (pack_is_opaque(path)) {
		AUTO_STR marker = str_printf("%s/" PACK_OPAQUE_NAME, rel);
		rc = marker ? packing_marker(p, marker) : err_set(p->e, -ENOMEM, "out of memory for packing");
	}
	return rc < 0 ? rc : packing_folder(p, rel);
}

static int name_compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int name_is_real(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int packing_folder(struct packing *p, const char *rel)
{
	struct dirent **names = NULL;
	AUTO_STR path = str_printf("%s/%s", p->dir, rel);
	int rc = 0;

	if (!path)
		return err_set(p->e, -ENOMEM, "out of memory for packing %s", p->dir);
	int n = scandir(path, &names, name_is_real, name_compare);
	if (n < 0)
		return err_sys(p->e, "list %s", path);
	for (int i = 0; i < n; i++) {
		AUTO_STR sub = str_printf("%s%s%s", rel, *rel ? "/" : "", names[i]->d_name);
		if (rc == 0 && (!sub || strlen(sub) > PACK_PATH_MAX))
			rc = err_set(p->e, sub ? -ENAMETOOLONG : -ENOMEM, "pack %s: the path is too long", path);
		if (rc == 0)
			rc = packing_visit(p, sub, sub + strlen(sub) - strlen(names[i]->d_name));
		free(names[i]);
	}
	free(names);
	return rc;
}

static int packing_open(struct packing *p)
{
	p->archive = archive_write_new();
	if (!p->archive)
		return err_set(p->e, -ENOMEM, "out of memory for packing %s", p->dir);
	/* "Restricted": extended headers only for what needs them, so no access times, inode or device numbers. */
	if (archive_write_set_format_pax_restricted(p->archive) != ARCHIVE_OK ||
	    archive_write_set_options(p->archive, "xattrheader=SCHILY") != ARCHIVE_OK ||
	    archive_write_add_filter_none(p->archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(p->archive, 65536) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(p->archive, 1) != ARCHIVE_OK ||
	    archive_write_open(p->archive, p, NULL, packing_write, NULL) != ARCHIVE_OK)
		return packing_error(p, "");
	return 0;
}

static int packing_run(struct packing *p, struct pack_result *ret)
{
	int rc = packing_open(p);
	if (rc == 0)
		rc = packing_folder(p, "");
	if (rc == 0 && archive_write_close(p->archive) != ARCHIVE_OK)
		rc = packing_error(p, "");
	return rc < 0 ? rc : pack_stream_end(p->stream, ret, p->e);
}

int pack_tree(const char *dir, int64_t epoch, int fd, const char *name, struct pack_result *ret, struct err *e)
{
	struct err local = { 0 };
	__attribute__((cleanup(packing_fini))) struct packing p = { .dir = dir, .epoch = epoch, .e = e ? e : &local };
	int rc = pack_stream_new(fd, name, &p.stream, p.e);
	if (rc < 0)
		return rc;

	/* libarchive writes names that are not ASCII as UTF-8 and asks the thread's locale how they are spelt. */
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	rc = packing_run(&p, ret);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return rc;
}
