/* SPDX-License-Identifier: MIT */
#include "base/child_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0 when there is nothing to read any more: everybody who held the other end is gone. */
static ssize_t read_again(int fd, void *to, size_t n)
{
	ssize_t got;
	while ((got = read(fd, to, n)) < 0 && errno == EINTR)
		;
	return got;
}

/* The guard itself. It keeps nothing of ours open: not the terminal, not a pipe that somebody waits on. */
static void guard(int watch) __attribute__((noreturn));
static void guard(int watch)
{
	pid_t group = 0;
	char more;
	setpgid(0, 0); /* what is typed at the terminal is not for it */
	prctl(PR_SET_NAME, "kiln-guard");
	if (dup2(watch, 0) < 0)
		_exit(1);
	if (syscall(SYS_close_range, 1u, ~0u, 0u) < 0)
		for (int fd = 1; fd < 4096; fd++)
			close(fd);
	if (read_again(0, &group, sizeof(group)) == (ssize_t)sizeof(group))
		while (read_again(0, &more, 1) > 0)
			;
	if (group > 1)
		kill(-group, SIGKILL);
	_exit(0);
}

int child_guard_open(struct child_guard *g)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		guard(ends[0]);
	int why = errno;
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return -why;
	}
	*g = (struct child_guard){ pid, ends[1] };
	return 0;
}

void child_guard_name(const struct child_guard *g)
{
	pid_t own = getpid();
	while (g->lifeline >= 0 && write(g->lifeline, &own, sizeof(own)) < 0 && errno == EINTR)
		;
}

void child_guard_close(struct child_guard *g)
{
	/* Killed first: once the lifeline is closed, it would take us for dead. */
	if (g->pid > 0) {
		kill(g->pid, SIGKILL);
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (g->lifeline >= 0)
		close(g->lifeline);
	*g = (struct child_guard){ 0, -1 };
}
