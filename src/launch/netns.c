/* SPDX-License-Identifier: MIT */
#include "launch/netns.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "base/own.h"
#include "launch/launch.h"
#include "launch/netlink.h"

#define NETNS_DIR "/run/netns"
/* That kiln made NETNS_DIR, and so removes it. On /run, so that it never outlives a boot. */
#define MADE_DIR "/run/kiln-netns"
#define NETNS_PATH_BYTES 128

static void path_of(const char *name, char ret[NETNS_PATH_BYTES])
{
	snprintf(ret, NETNS_PATH_BYTES, NETNS_DIR "/%s", name);
}

/* Serialises making and removing NETNS_DIR itself between kilns. */
static int lock_run(struct err *e)
{
	AUTO_FD fd = open("/run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_sys(e, "lock '/run'");
	return steal_fd(&fd);
}

/*
 * NETNS_DIR is a mount of its own, shared, as `ip netns add` makes it: were it a plain folder, a later `ip netns add`
 * would mount it over itself and hide our names from being unmounted.
 */
static int make_dir(struct err *e)
{
	if (mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL) == 0)
		return 0;
	if (!fdio_exists(AT_FDCWD, NETNS_DIR) && mkdir(MADE_DIR, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", MADE_DIR);
	if (mkdir(NETNS_DIR, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", NETNS_DIR);
	if (mount(NETNS_DIR, NETNS_DIR, "none", MS_BIND | MS_REC, NULL) < 0 ||
	    mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL) < 0) {
		err_sys(e, "mount '%s' over itself", NETNS_DIR);
		return err_hint(e, "in a container it takes --privileged");
	}
	return 0;
}

/* Fails, and stays, while another's namespaces are in it. The lock is held. */
static void remove_dir(void)
{
	if (!fdio_exists(AT_FDCWD, MADE_DIR))
		return;
	AUTO_DIR dir = opendir(NETNS_DIR);
	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir))
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			return;
	if (dir)
		closedir(steal(dir));
	if (umount2(NETNS_DIR, UMOUNT_NOFOLLOW) < 0 && errno != EINVAL && errno != ENOENT)
		return;
	if (rmdir(NETNS_DIR) == 0 || errno == ENOENT)
		(void)rmdir(MADE_DIR);
}

int netns_enter(int ns_fd, int *ret_home_fd, struct err *e)
{
	AUTO_FD home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0)
		return err_sys(e, "open the network namespace");
	if (setns(ns_fd, CLONE_NEWNET) < 0)
		return err_sys(e, "enter a network namespace");
	*ret_home_fd = steal_fd(&home);
	return 0;
}

void netns_leave(int home_fd)
{
	if (setns(home_fd, CLONE_NEWNET) < 0)
		abort();
	close(home_fd);
}

/* In the fresh namespace: names it and opens what the caller wants of it. */
static int furnish(const char *path, int *ret_ns_fd, int *ret_netlink_fd, struct err *e)
{
	AUTO_FD ns = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ns < 0)
		return err_sys(e, "open the new network namespace");
	if (mount("/proc/thread-self/ns/net", path, "none", MS_BIND, NULL) < 0)
		return err_sys(e, "name the network namespace '%s'", path);
	AUTO_FD netlink = netlink_open(e);
	if (netlink < 0)
		return netlink;
	int rc = netlink_set_up(netlink, "lo", e);
	if (rc < 0)
		return rc;
	*ret_ns_fd = steal_fd(&ns);
	*ret_netlink_fd = steal_fd(&netlink);
	return 0;
}

int netns_add(const char *name, int *ret_ns_fd, int *ret_netlink_fd, struct err *e)
{
	char path[NETNS_PATH_BYTES];
	path_of(name, path);
	{
		AUTO_FD lock = lock_run(e);
		int rc = lock < 0 ? lock : make_dir(e);
		if (rc < 0)
			return rc;
		/* The name first: killed from here on, `down` finds at least an empty file. */
		AUTO_FD file = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		if (file < 0)
			return err_sys(e, "name network namespace '%s'", name);
	}
	AUTO_FD home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0)
		return err_sys(e, "open the network namespace");
	if (unshare(CLONE_NEWNET) < 0) {
		if (errno == EINVAL)
			return err_set(e, -EOPNOTSUPP, "this kernel has no network namespaces");
		return err_sys(e, "make a network namespace");
	}
	int rc = furnish(path, ret_ns_fd, ret_netlink_fd, e);
	netns_leave(steal_fd(&home));
	return rc;
}

int netns_open(const char *name, struct err *e)
{
	char path[NETNS_PATH_BYTES];
	path_of(name, path);
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "open network namespace '%s'", name);
	struct stat ns, ours;
	if (fstat(fd, &ns) < 0 || stat("/proc/self/ns/net", &ours) < 0)
		return err_sys(e, "look at network namespace '%s'", name);
	if (ns.st_dev != ours.st_dev)
		return err_set(e, -ENOENT, "'%s' is not a network namespace", path);
	/* Were it ours, killing what is in it would kill the machine. */
	if (ns.st_ino == ours.st_ino)
		return err_set(e, -EDEADLK,
			       "'%s' is the network namespace that kiln itself runs in: run kiln outside of it", path);
	return steal_fd(&fd);
}

/* True for "kiln-CLUSTER" and "kiln-CLUSTER-I". */
static bool is_of(const char *file, const char *cluster)
{
	size_t n = strlen(cluster);
	if (strncmp(file, "kiln-", 5) != 0 || strncmp(file + 5, cluster, n) != 0)
		return false;
	const char *rest = file + 5 + n;
	return *rest == '\0' ||
	       (rest[0] == '-' && rest[1] != '\0' && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

int netns_list(const char *cluster, char ***ret, struct err *e)
{
	AUTO_STRINGS names = calloc(LAUNCH_NODES_MAX + 2, sizeof(*names));
	if (!names)
		return err_set(e, -ENOMEM, "list network namespaces");
	AUTO_DIR dir = opendir(NETNS_DIR);
	if (!dir && errno != ENOENT)
		return err_sys(e, "read '%s'", NETNS_DIR);
	size_t n = 0;
	for (struct dirent *d = dir ? readdir(dir) : NULL; d && n <= LAUNCH_NODES_MAX; d = readdir(dir)) {
		if (!is_of(d->d_name, cluster))
			continue;
		names[n] = strdup(d->d_name);
		if (!names[n++])
			return err_set(e, -ENOMEM, "list network namespaces");
	}
	*ret = steal(names);
	return 0;
}

int netns_remove(const char *name, struct err *e)
{
	char path[NETNS_PATH_BYTES];
	path_of(name, path);
	AUTO_FD lock = lock_run(e);
	if (lock < 0)
		return lock;
	/* More than once: whoever mounted /run/netns over itself again has stacked the name too. */
	while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		;
	if (errno != EINVAL && errno != ENOENT)
		return err_sys(e, "unmount '%s'", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_sys(e, "remove '%s'", path);
	remove_dir();
	return 0;
}

int netns_tidy(struct err *e)
{
	AUTO_FD lock = lock_run(e);
	if (lock < 0)
		return lock;
	remove_dir();
	return 0;
}
