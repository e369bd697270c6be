/* SPDX-License-Identifier: MIT */
#include "bake/pool.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bake/fetch.h"
#include "base/buf.h"
#include "base/fdio.h"

#define POOL_RELEASE_MAX 4096

/* A download under its own name: a hard link, or a copy where the file system has none. It is verified once more: a file
 * that a crash or a disk has damaged would else fail every bake from now on, since it is there and of the right size. */
static int pool_link(const char *dir, const struct plan_source *s, struct err *e)
{
	char got[DIGEST_HEX_BYTES];
	AUTO_STR from = NULL;
	int rc = fetch_path(s->sha256, &from, e);
	if (rc == 0)
		rc = digest_of_file(AT_FDCWD, from, got, e);
	if (rc < 0)
		return rc;
	if (strcmp(got, s->sha256) != 0) {
		unlink(from);
		return err_native(e, -EBADMSG, ERR_REMOTE, 0,
				  "%s (%s) has changed on this disk since it was verified and was removed: run it "
				  "again to fetch it anew",
				  from, s->file);
	}
	AUTO_STR to = fdio_join(dir, s->file);
	if (!to)
		return err_set(e, -ENOMEM, "out of memory for a path");
	if (link(from, to) == 0 || errno == EEXIST)
		return 0;
	return errno == ENOENT ? err_sys(e, "use %s", from) : fdio_copy_tree(from, to, e);
}

static int pool_write(const char *dir, const char *name, const char *text, struct err *e)
{
	AUTO_STR path = fdio_join(dir, name);
	return path ? fdio_write_file(AT_FDCWD, path, text, strlen(text), 0644, e)
		    : err_set(e, -ENOMEM, "out of memory for a path");
}

int pool_make(const char *dir, const struct plan *p, const struct plan_step *s, struct err *e)
{
	char digest[DIGEST_HEX_BYTES];
	const char *index = s->deb_index ? s->deb_index : "";
	AUTO_BUF release;
	buf_init(&release, POOL_RELEASE_MAX);
	int rc = fdio_mkdir_p(dir, 0755, e);

	for (size_t i = 0; i < s->deb_count && rc == 0; i++)
		rc = pool_link(dir, &s->debs[i], e);
	if (rc == 0)
		rc = pool_write(dir, "Packages", index, e);
	if (rc < 0)
		return rc;
	digest_of(index, strlen(index), digest);
	/* mmdebstrap selects what is essential by the suite's name. */
	buf_printf(&release,
		   "Origin: kiln\nLabel: kiln\nSuite: %s\nCodename: %s\nArchitectures: %s\nSHA256:\n %s %zu Packages\n",
		   p->suite, p->suite, p->architecture, digest, strlen(index));
	if (release.failed < 0)
		return err_set(e, release.failed, "the suite's name is too long");
	return pool_write(dir, "Release", buf_text(&release), e);
}

int pool_make_sources(const char *dir, const struct plan_step *s, struct err *e)
{
	int rc = fdio_mkdir_p(dir, 0755, e);

	for (size_t i = 0; i < s->source_count && rc == 0; i++)
		rc = pool_link(dir, &s->sources[i], e);
	return rc;
}
