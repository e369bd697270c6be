/* SPDX-License-Identifier: MIT */
#include "base/world.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/own.h"

#define READ_MAX_BYTES (16u << 20)
#define LINKS_MAX 40 /* as the kernel */

static const char *env_of_process(const char *name)
{
	return getenv(name);
}

int world_init(struct world *w, const char *root, struct err *e)
{
	struct stat here, machine;
	const char *path = root && *root ? root : "/";
	AUTO_FD fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "cannot use '%s' as the root", path);
	if (fstat(fd, &here) < 0 || stat("/", &machine) < 0)
		return err_sys(e, "cannot use '%s' as the root", path);
	bool recorded = here.st_dev != machine.st_dev || here.st_ino != machine.st_ino;
	*w = (struct world){
		.root = recorded ? path : "/",
		.root_fd = steal_fd(&fd),
		.recorded = recorded,
		.wall_ns = clock_wall_ns,
		.mono_ns = clock_mono_ns,
		.env = env_of_process,
	};
	return 0;
}

void world_fini(struct world *w)
{
	own_close(&w->root_fd);
	w->root_fd = -1;
}

/* Where a kernel without openat2 (before 5.6, or a filter that hides it) is left to us: walks the path, taking links
 * apart, so that an absolute link and ".." stay inside the root. Gives a path without links, relative to the root. */
static int resolve(int root_fd, const char *path, bool follow_last, char **ret)
{
	AUTO_STR left = strdup(path);
	AUTO_STR done = strdup("");
	int links = 0;
	while (left && done) {
		char *at = left + strspn(left, "/");
		size_t n = strcspn(at, "/");
		if (n == 0)
			break;
		const char *rest = at + n;
		bool last = rest[strspn(rest, "/")] == '\0';
		AUTO_STR next = NULL;
		if (n == 2 && memcmp(at, "..", 2) == 0) {
			char *slash = strrchr(done, '/');
			next = strndup(done, slash ? (size_t)(slash - done) : 0);
		} else if (n == 1 && *at == '.') {
			next = strdup(done);
		} else {
			next = str_printf("%s%s%.*s", done, *done ? "/" : "", (int)n, at);
		}
		char target[4096];
		ssize_t len = next && *next && (!last || follow_last)
				      ? readlinkat(root_fd, next, target, sizeof(target) - 1)
				      : -1;
		if (len >= 0) {
			if (++links > LINKS_MAX)
				return -ELOOP;
			target[len] = '\0';
			char *more = str_printf("%s%s", target, rest);
			free(left);
			left = more;
			if (target[0] == '/')
				done[0] = '\0';
			continue;
		}
		free(done);
		done = steal(next);
		char *more = strdup(rest);
		free(left);
		left = more;
	}
	if (!left || !done)
		return -ENOMEM;
	if (!*done) {
		free(done);
		done = strdup(".");
		if (!done)
			return -ENOMEM;
	}
	*ret = steal(done);
	return 0;
}

static int open_inside(int root_fd, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT };
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return (int)fd;
	AUTO_STR plain = NULL;
	int rc = resolve(root_fd, path, !(flags & O_NOFOLLOW), &plain);
	if (rc < 0) {
		errno = -rc;
		return -1;
	}
	return openat(root_fd, plain, flags | O_NOFOLLOW);
}

/* The path as a reader finds it: with the recorded root in front. */
static int fail(const struct world *w, const char *path, struct err *e)
{
	return err_sys(e, "cannot read '%s%s'", w->recorded ? w->root : "", path);
}

int world_open(const struct world *w, const char *path, int flags, struct err *e)
{
	flags |= O_CLOEXEC;
	if (!(flags & O_PATH)) /* openat2 refuses the two together */
		flags |= O_NOCTTY;
	int fd = w->recorded ? open_inside(w->root_fd, path, flags) : openat(w->root_fd, path, flags);
	return fd < 0 ? fail(w, path, e) : fd;
}

int world_read(const struct world *w, const char *path, char **ret, struct err *e)
{
	AUTO_FD fd = world_open(w, path, O_RDONLY, e);
	if (fd < 0)
		return fd;
	AUTO_BUF b;
	buf_init(&b, READ_MAX_BYTES);
	char part[16384];
	for (;;) {
		ssize_t n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(w, path, e);
		if (n == 0)
			break;
		buf_add(&b, part, (size_t)n);
	}
	if (b.failed == -E2BIG) {
		errno = EFBIG;
		return fail(w, path, e);
	}
	if (b.len > 0 && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	char *text = buf_steal(&b);
	if (!text)
		return err_set(e, -ENOMEM, "cannot read '%s': out of memory", path);
	*ret = text;
	return 0;
}

bool world_exists(const struct world *w, const char *path)
{
	AUTO_FD fd = world_open(w, path, O_PATH, NULL);
	return fd >= 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int world_list(const struct world *w, const char *path, char ***ret, struct err *e)
{
	AUTO_STRINGS names = calloc(1, sizeof(*names));
	size_t count = 0;
	if (!names)
		return err_set(e, -ENOMEM, "cannot list '%s': out of memory", path);
	AUTO_FD fd = world_open(w, path, O_RDONLY | O_DIRECTORY, e);
	if (fd == -ENOENT || fd == -ENOTDIR) {
		*ret = steal(names);
		return 0;
	}
	if (fd < 0)
		return fd;
	AUTO_DIR dir = fdopendir(fd);
	if (!dir)
		return fail(w, path, e);
	steal_fd(&fd); /* the DIR owns it now */
	errno = 0;
	for (struct dirent *d; (d = readdir(dir)); errno = 0) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		char **more = reallocarray(names, count + 2, sizeof(*names));
		if (more) {
			names = more;
			names[count] = strdup(d->d_name);
			names[count + 1] = NULL;
		}
		if (!more || !names[count])
			return err_set(e, -ENOMEM, "cannot list '%s': out of memory", path);
		count++;
	}
	if (errno)
		return fail(w, path, e);
	qsort(names, count, sizeof(*names), by_name);
	*ret = steal(names);
	return 0;
}
