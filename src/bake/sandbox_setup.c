/* SPDX-License-Identifier: MIT */
#include "bake/sandbox_setup.h"

#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/own.h"

static int setup_failed(const char *what, const char *on)
{
	char line[PATH_MAX + 160];
	int n = snprintf(line, sizeof(line), "kiln: cannot %s %s: %s\n", what, on, strerror(errno));
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
		return -1;
	return -1;
}

/* root + path, in a buffer of the caller's. */
static const char *setup_path(char at[PATH_MAX], const struct sandbox *s, const char *path)
{
	snprintf(at, PATH_MAX, "%s%s", s->root, path);
	return at;
}

static int setup_mount(const struct sandbox *s, const char *type, const char *path, unsigned long flags,
		       const char *options)
{
	char at[PATH_MAX];
	setup_path(at, s, path);
	if (mkdir(at, 0755) < 0 && errno != EEXIST)
		return setup_failed("make", at);
	return mount(type, at, type, flags, options) < 0 ? setup_failed("mount", at) : 0;
}

static int setup_devices(const struct sandbox *s)
{
	static const struct {
		const char *path;
		unsigned minor_number, major_number;
	} nodes[] = {
		{ "/dev/null", 3, 1 },   { "/dev/zero", 5, 1 },    { "/dev/full", 7, 1 },
		{ "/dev/random", 8, 1 }, { "/dev/urandom", 9, 1 }, { "/dev/tty", 0, 5 },
	};
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },       { "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" }, { "/proc/self/fd/2", "/dev/stderr" },
		{ "pts/ptmx", "/dev/ptmx" },
	};
	char at[PATH_MAX];

	if (setup_mount(s, "tmpfs", "/dev", MS_NOSUID, "mode=755,size=64m") < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(nodes); i++) {
		dev_t device = makedev(nodes[i].major_number, nodes[i].minor_number);
		setup_path(at, s, nodes[i].path);
		if (mknod(at, S_IFCHR | 0666, device) < 0 || chmod(at, 0666) < 0)
			return setup_failed("make", at);
	}
	for (size_t i = 0; i < COUNT_OF(links); i++)
		if (symlink(links[i][0], setup_path(at, s, links[i][1])) < 0)
			return setup_failed("make", at);
	if (setup_mount(s, "devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5") < 0)
		return -1;
	return setup_mount(s, "tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777,size=512m");
}

/* Makes every folder on the way to `at` (below the sandbox's /run, which is memory). */
static int setup_folders(char *at, size_t from)
{
	for (char *slash = strchr(at + from + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int rc = mkdir(at, 0755);
		*slash = '/';
		if (rc < 0 && errno != EEXIST)
			return -1;
	}
	return mkdir(at, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

/* An empty file to bind a file onto. */
static int setup_file(char *at, size_t from)
{
	char *slash = strrchr(at, '/');

	*slash = '\0';
	int rc = setup_folders(at, from);
	*slash = '/';
	int fd = rc == 0 ? open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
	return fd < 0 ? -1 : close(fd);
}

static int setup_bind(const struct sandbox *s, const struct sandbox_bind *b)
{
	char at[PATH_MAX];
	struct stat st;

	setup_path(at, s, b->to);
	if (stat(b->from, &st) < 0)
		return setup_failed("find", b->from);
	if ((S_ISDIR(st.st_mode) ? setup_folders(at, strlen(s->root)) : setup_file(at, strlen(s->root))) < 0)
		return setup_failed("make", at);
	if (mount(b->from, at, NULL, MS_BIND, NULL) < 0)
		return setup_failed("bind", b->from);
	if (!b->writable && mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
		return setup_failed("make read-only", at);
	return 0;
}

/* The stack becomes the root and the host's goes away. In a chroot that is no mount of its own, pivot_root refuses:
 * then chroot must do. */
static int setup_enter(const struct sandbox *s)
{
	if (chdir(s->root) < 0)
		return setup_failed("enter", s->root);
	if (syscall(SYS_pivot_root, ".", ".") == 0) {
		if (umount2(".", MNT_DETACH) < 0)
			return setup_failed("leave", "the host's root");
	} else if (chroot(".") < 0) {
		return setup_failed("enter", s->root);
	}
	return chdir("/") < 0 ? setup_failed("enter", "/") : 0;
}

static int setup_stack(const struct sandbox *s)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return setup_failed("make private", "the mounts");
	return overlay_mount(s->overlay, s->root) < 0 ? setup_failed("mount the layers at", s->root) : 0;
}

/* Programs that talk to themselves over 127.0.0.1 work; there is no other interface. */
static int setup_loopback(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &lo);
	if (fd >= 0)
		close(fd);
	return rc < 0 ? setup_failed("bring up", "lo") : 0;
}

int sandbox_setup_root(const struct sandbox *s)
{
	umask(0022);
	if (setup_stack(s) < 0 || setup_mount(s, "proc", "/proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL) < 0 ||
	    setup_devices(s) < 0 || setup_mount(s, "tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=755") < 0 ||
	    setup_mount(s, "tmpfs", "/tmp", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
		return -1;
	for (size_t i = 0; i < s->bind_count; i++)
		if (s->binds[i].from && setup_bind(s, &s->binds[i]) < 0)
			return -1;
	if (sethostname("bake", 4) < 0)
		return setup_failed("set", "the host name");
	if (setup_loopback() < 0)
		return -1;
	return setup_enter(s);
}

int sandbox_setup_beside(const struct sandbox *s)
{
	umask(0022);
	if (setup_stack(s) < 0)
		return -1;
	/* Of the new process namespace, or programs see the host's processes under the wrong numbers. */
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NOEXEC | MS_NODEV, NULL) < 0)
		return setup_failed("mount", "/proc");
	return chdir("/") < 0 ? setup_failed("enter", "/") : 0;
}
