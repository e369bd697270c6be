/* SPDX-License-Identifier: MIT */
#include "bake/tidy.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"
#include "image/pack.h"

/* Globs over whole paths; '*' does not pass a '/'. A folder that matches goes with all that is in it. */
static const char *const tidy_removed[] = {
	/* the package manager's caches, lists, locks and backups; all are made again when needed */
	"var/cache/apt/*.bin",
	"var/cache/apt/archives/*.deb",
	"var/cache/apt/archives/lock",
	"var/lib/apt/lists/*",
	"var/lib/apt/periodic",
	"var/lib/dpkg/*-old",
	"var/lib/dpkg/lock",
	"var/lib/dpkg/lock-frontend",
	"var/lib/dpkg/triggers/Lock",
	"var/cache/debconf/*-old",
	"var/cache/ldconfig/aux-cache", /* holds inode numbers */
	"etc/apt/apt.conf.d/99mmdebstrap",
	"etc/dpkg/dpkg.cfg.d/99mmdebstrap",
	/* logs: they tell of the bake, with its times */
	"var/log/apt",
	"var/log/*.log",
	"var/log/dpkg.log*",
	"var/log/btmp",
	"var/log/wtmp",
	"var/log/faillog",
	"var/log/lastlog",
	"var/log/tallylog",
	"var/log/journal/*",
	/* backups and locks of the user database */
	"etc/passwd-",
	"etc/group-",
	"etc/shadow-",
	"etc/gshadow-",
	"etc/subuid-",
	"etc/subgid-",
	"etc/.pwd.lock",
	/* secrets and identity: each node makes its own */
	"etc/ssh/ssh_host_*",
	"var/lib/dbus/machine-id",
	"var/lib/systemd/random-seed",
	"root/.ssh",
	"root/.bash_history",
	"root/.cache",
	"root/.gnupg",
	"root/.wget-hsts",
	/* what the sandbox put there, or copied from the machine that bakes */
	"usr/sbin/policy-rc.d",
	"usr/local/sbin/adduser",
	"usr/local/sbin/addgroup",
	"usr/local/sbin/useradd",
	"usr/local/sbin/groupadd",
	"etc/resolv.conf",
	"etc/hostname",
	"dev/*",
	"proc/*",
	"sys/*",
	"run/*",
	"tmp/*",
	"var/tmp/*",
};

static const char *const tidy_emptied[] = {
	"etc/machine-id",         /* must exist for systemd to fill at the first boot */
	"var/lib/dpkg/available", /* only dselect reads it; what stands in it depends on who installed */
};

struct tidying {
	const char *fs;
	const struct view *below;
	int64_t epoch;
	struct err *e;
};

static bool tidy_matches(const char *const *globs, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(globs[i], path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

/* overlayfs marks every new folder as opaque to save itself a look-up. On a stack in another order that would hide
 * other components' files: only what truly replaces a folder below keeps the mark. */
static int tidy_opaque(const struct tidying *t, const char *at, const char *path)
{
	struct stat st;

	if (!pack_is_opaque(at) || (view_find(t->below, path, NULL, &st) && S_ISDIR(st.st_mode)))
		return 0;
	return lremovexattr(at, PACK_OPAQUE_XATTR) < 0 ? err_sys(t->e, "unmark %s", at) : 0;
}

static int tidy_time(const struct tidying *t, const char *at)
{
	struct stat st;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = t->epoch } };

	if (lstat(at, &st) < 0)
		return err_sys(t->e, "look at %s", at);
	if (st.st_mtim.tv_sec < t->epoch && st.st_mtim.tv_nsec == 0)
		return 0;
	if (st.st_mtim.tv_sec < t->epoch)
		times[1].tv_sec = st.st_mtim.tv_sec;
	return utimensat(AT_FDCWD, at, times, AT_SYMLINK_NOFOLLOW) < 0 ? err_sys(t->e, "set the time of %s", at) : 0;
}

static int tidy_folder(const struct tidying *t, const char *rel);

static int tidy_entry(const struct tidying *t, const char *rel)
{
	struct stat st;
	AUTO_STR at = fdio_join(t->fs, rel);
	if (!at)
		return err_set(t->e, -ENOMEM, "out of memory for a path");
	if (tidy_matches(tidy_removed, COUNT_OF(tidy_removed), rel))
		return fdio_remove_tree(at, t->e);
	if (lstat(at, &st) < 0)
		return err_sys(t->e, "look at %s", at);

	int rc = 0;
	if (S_ISREG(st.st_mode) && st.st_size > 0 && tidy_matches(tidy_emptied, COUNT_OF(tidy_emptied), rel) &&
	    truncate(at, 0) < 0)
		rc = err_sys(t->e, "empty %s", at);
	if (rc == 0 && S_ISDIR(st.st_mode))
		rc = tidy_opaque(t, at, rel);
	if (rc == 0 && S_ISDIR(st.st_mode))
		rc = tidy_folder(t, rel);
	return rc < 0 ? rc : tidy_time(t, at); /* last: what happened inside changed a folder's time */
}

static int tidy_folder(const struct tidying *t, const char *rel)
{
	AUTO_STR at = *rel ? fdio_join(t->fs, rel) : strdup(t->fs);
	AUTO_DIR dir = at ? opendir(at) : NULL;
	int rc = 0;

	if (!dir)
		return err_sys(t->e, "list %s", at ? at : rel);
	for (struct dirent *d; rc == 0 && (d = readdir(dir));) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		AUTO_STR sub = *rel ? fdio_join(rel, d->d_name) : strdup(d->d_name);
		rc = sub ? tidy_entry(t, sub) : err_set(t->e, -ENOMEM, "out of memory for a path");
	}
	return rc;
}

int tidy_layer(const char *fs, const struct view *below, int64_t epoch, struct err *e)
{
	struct tidying t = { .fs = fs, .below = below, .epoch = epoch, .e = e };
	int rc = tidy_folder(&t, "");
	return rc < 0 ? rc : tidy_time(&t, fs);
}
