/* SPDX-License-Identifier: MIT */
#include "image/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "image/pack.h"
#include "image/unpack_stream.h"

AUTO_DEFINE(archive_entry)

struct unpacking {
	const char *blob;
	const char *dir;
	struct unpack_stream *stream;
	struct archive *in;
	struct archive *out;
	struct err *e;
	int failed; /* of the stream, inside libarchive's callback */
};

static la_ssize_t unpacking_read(struct archive *a, void *arg, const void **data)
{
	struct unpacking *u = arg;
	ssize_t n = unpack_stream_read(u->stream, data, u->e);

	if (n < 0) {
		u->failed = (int)n;
		archive_set_error(a, EIO, "read");
		return -1;
	}
	return n;
}

static int unpacking_error(struct unpacking *u, struct archive *a, const char *name)
{
	if (u->failed < 0)
		return u->failed;
	int number = archive_errno(a);
	if (a == u->in)
		return err_input(u->e, "%s is damaged: %s: copy or bake the image again", u->blob,
				 archive_error_string(a));
	return err_set(u->e, number > 0 ? -number : -EIO, "unpack %s into %s/%s: %s", u->blob, u->dir, name,
		       archive_error_string(a));
}

/* ".wh.x" becomes overlayfs' deletion of x, ".wh..wh..opq" marks its folder. 1: it was such a marker. */
static int unpacking_marker(struct unpacking *u, const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	int head = (int)(base - name);

	if (strncmp(base, PACK_WHITEOUT_PREFIX, strlen(PACK_WHITEOUT_PREFIX)) != 0)
		return 0;
	AUTO_STR folder = str_printf("/%.*s", head, name);
	if (!folder)
		return err_set(u->e, -ENOMEM, "out of memory for a path");
	int rc = fdio_mkdir_p(folder, 0755, u->e); /* some writers leave it out: it is the lower layer's */
	if (rc < 0)
		return rc;
	if (strcmp(base, PACK_OPAQUE_NAME) == 0) {
		if (setxattr(folder, PACK_OPAQUE_XATTR, "y", 1, 0) < 0)
			return err_sys(u->e, "mark %s%s as opaque", u->dir, folder);
		return 1;
	}
	AUTO_STR gone = str_printf("/%.*s%s", head, name, base + strlen(PACK_WHITEOUT_PREFIX));
	if (!gone)
		return err_set(u->e, -ENOMEM, "out of memory for a path");
	if (mknod(gone, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST)
		return err_sys(u->e, "mark %s%s as deleted", u->dir, gone);
	return 1;
}

/* Keeps the attributes that pack_tree writes too. Others could be overlayfs' own orders (trusted.overlay.redirect), which
 * a layer from anywhere must not give. */
static int unpacking_attributes(struct unpacking *u, struct archive_entry *entry)
{
	const char *name;
	const void *value;
	size_t n;
	if (archive_entry_xattr_count(entry) == 0)
		return 0;
	AUTO(archive_entry) all = archive_entry_clone(entry);
	if (!all)
		return err_set(u->e, -ENOMEM, "out of memory for unpacking %s", u->blob);
	archive_entry_xattr_clear(entry);
	archive_entry_xattr_reset(all);
	while (archive_entry_xattr_next(all, &name, &value, &n) == ARCHIVE_OK)
		if (strcmp(name, "security.capability") == 0 || strncmp(name, "user.", 5) == 0)
			archive_entry_xattr_add_entry(entry, name, value, n);
	return 0;
}

static int unpacking_entry(struct unpacking *u, struct archive_entry *entry)
{
	const void *block;
	size_t n;
	la_int64_t offset;
	const char *name = archive_entry_pathname(entry);
	if (!name)
		return err_input(u->e, "%s holds a name that cannot be read", u->blob);
	int rc = unpacking_marker(u, name);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = unpacking_attributes(u, entry);
	if (rc < 0)
		return rc;

	if (archive_write_header(u->out, entry) < ARCHIVE_WARN)
		return unpacking_error(u, u->out, name);
	while ((rc = archive_read_data_block(u->in, &block, &n, &offset)) == ARCHIVE_OK)
		if (archive_write_data_block(u->out, block, n, offset) < ARCHIVE_WARN)
			return unpacking_error(u, u->out, name);
	if (rc != ARCHIVE_EOF)
		return unpacking_error(u, u->in, name);
	if (archive_write_finish_entry(u->out) < ARCHIVE_WARN)
		return unpacking_error(u, u->out, name);
	return 0;
}

static int unpacking_entries(struct unpacking *u)
{
	struct archive_entry *entry;
	const void *rest;
	ssize_t n;
	int rc;

	while ((rc = archive_read_next_header(u->in, &entry)) == ARCHIVE_OK || rc == ARCHIVE_WARN) {
		rc = unpacking_entry(u, entry);
		if (rc < 0)
			return rc;
	}
	if (rc != ARCHIVE_EOF)
		return unpacking_error(u, u->in, "");
	while ((n = unpack_stream_read(u->stream, &rest, u->e)) > 0)
		; /* the tar's padding counts for the digest */
	if (n < 0)
		return (int)n;
	return archive_write_close(u->out) < ARCHIVE_WARN ? unpacking_error(u, u->out, "") : 0;
}

static int unpacking_open(struct unpacking *u)
{
	u->in = archive_read_new();
	u->out = archive_write_disk_new();
	if (!u->in || !u->out)
		return err_set(u->e, -ENOMEM, "out of memory for unpacking %s", u->blob);
	archive_write_disk_set_options(u->out, ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
						       ARCHIVE_EXTRACT_XATTR | ARCHIVE_EXTRACT_SECURE_NODOTDOT);
	if (archive_read_support_format_tar(u->in) != ARCHIVE_OK ||
	    archive_read_open(u->in, u, NULL, unpacking_read, NULL) != ARCHIVE_OK)
		return unpacking_error(u, u->in, "");
	return 0;
}

/* A thread of its own may have a root of its own: an entry's path, whatever it says, stays inside dir. */
static void *unpacking_thread(void *arg)
{
	struct unpacking *u = arg;
	int rc;

	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if (utf8)
		uselocale(utf8);
	if (unshare(CLONE_FS) < 0 || chroot(u->dir) < 0 || chdir("/") < 0)
		rc = err_sys(u->e, "enter %s", u->dir);
	else
		rc = unpacking_open(u);
	if (rc == 0) {
		umask(0);
		rc = unpacking_entries(u);
	}
	u->failed = rc;
	/* Freed here, not by the caller: libarchive sets folders' times then, by names below this thread's root. */
	if (u->in)
		archive_read_free(u->in);
	if (u->out)
		archive_write_free(u->out);
	if (utf8) {
		uselocale(LC_GLOBAL_LOCALE);
		freelocale(utf8);
	}
	return NULL;
}

int unpack_layer(const char *blob, const char *dir, struct pack_result *ret, struct err *e)
{
	struct err local = { 0 };
	AUTO(unpack_stream) stream = NULL;
	pthread_t thread;
	int rc = unpack_stream_open(blob, &stream, e);
	if (rc < 0)
		return rc;

	struct unpacking u = { .blob = blob, .dir = dir, .stream = stream, .e = e ? e : &local };
	rc = pthread_create(&thread, NULL, unpacking_thread, &u);
	if (rc != 0)
		return err_set(e, -rc, "start a thread to unpack %s", blob);
	pthread_join(thread, NULL);
	if (u.failed == 0)
		unpack_stream_result(stream, ret);
	return u.failed;
}
