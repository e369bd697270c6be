/* SPDX-License-Identifier: MIT */
#include "launch/node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/own.h"
#include "launch/netns.h"

#define AWAIT_MS 10000

static int open_console(const struct node_plan *p, struct err *e)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/node%u/console.log", p->folder, p->number);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return fd < 0 ? err_sys(e, "make '%s'", path) : fd;
}

/* clone(2) as fork: the child is pid 1 of its own process numbers, and we know the pid it has here. */
static pid_t fork_isolated(void)
{
	const unsigned long flags =
		CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWCGROUP | SIGCHLD;
	return (pid_t)syscall(SYS_clone, flags, 0L, 0L, 0L, 0L);
}

int node_start(const struct node_plan *p, int ns_fd, pid_t *ret_pid, int *ret_report_fd, struct err *e)
{
	int report[2], home;
	AUTO_FD console = open_console(p, e);
	if (console < 0)
		return console;
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_FD report_read = report[0];
	AUTO_FD report_write = report[1];
	/* The parent goes into the namespace, not the child: so there is no moment at which a node runs outside of it, where
	 * `down` could not find it. Signals are blocked so that none is lost between birth and the child's own mask. */
	int rc = netns_enter(ns_fd, &home, e);
	if (rc < 0)
		return rc;
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid_t pid = fork_isolated();
	if (pid == 0)
		node_init_run(p, console, report_write);
	int failed = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	netns_leave(home);
	if (pid < 0) {
		errno = failed;
		return failed == EINVAL
			       ? err_set(e, -EOPNOTSUPP, "this kernel lacks pid, mount, UTS, IPC or cgroup namespaces")
			       : err_sys(e, "start node '%s'", p->name);
	}
	*ret_pid = pid;
	*ret_report_fd = steal_fd(&report_read);
	return 0;
}

int node_await(const char *name, int report_fd, struct err *e)
{
	AUTO_FD fd = report_fd;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct node_report said = { 0 };
	int64_t until = clock_mono_ns() + AWAIT_MS * INT64_C(1000000);
	int n;
	do {
		int64_t left_ms = (until - clock_mono_ns()) / 1000000;
		n = poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(e, "wait for node '%s'", name);
	if (n == 0)
		return err_set(e, -ETIMEDOUT, "node '%s' did not set itself up within %d s", name, AWAIT_MS / 1000);
	ssize_t got = read(fd, &said, sizeof(said));
	if (got < 0)
		return err_sys(e, "wait for node '%s'", name);
	if (got == 0) /* closed by exec: sshd runs */
		return 0;
	said.what[sizeof(said.what) - 1] = '\0';
	errno = said.code;
	err_sys(e, "node '%s': %s", name, said.what);
	return said.code == ENODEV ? err_hint(e, "this kernel lacks that file system: 'modprobe overlay' may bring it")
				   : -said.code;
}
