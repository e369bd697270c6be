/* SPDX-License-Identifier: MIT */
#include "launch/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "base/own.h"

#define KILL_LIMIT_MS 10000

static bool has(pid_t pid, const char *link, const struct stat *what)
{
	char path[64];
	struct stat its;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, link);
	return stat(path, &its) == 0 && its.st_ino == what->st_ino && its.st_dev == what->st_dev;
}

/* True when the last number of "NSpid:" is 1 and not the only one (proc(5), /proc/pid/status). */
static bool is_init(pid_t pid)
{
	char path[48];
	AUTO_STR text = NULL;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (fdio_read_file(AT_FDCWD, path, 64 * 1024, &text, NULL, NULL) < 0)
		return false;
	const char *at = strstr(text, "\nNSpid:");
	if (!at)
		return false;
	at += strlen("\nNSpid:");
	size_t len = strcspn(at, "\n");
	return len > 2 && at[len - 1] == '1' && at[len - 2] == '\t' && memchr(at + 1, '\t', len - 2);
}

/* Field 22 of /proc/pid/stat: the start, in clock ticks since boot. */
static int64_t uptime_of(pid_t pid)
{
	char path[48];
	AUTO_STR text = NULL;
	struct timespec now;
	unsigned long long start_ticks = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fdio_read_file(AT_FDCWD, path, 4096, &text, NULL, NULL) < 0)
		return 0;
	const char *at = strrchr(text, ')'); /* the name before it may hold anything */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &start_ticks) != 1 || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return 0;
	int64_t start_ns = (int64_t)(start_ticks * (1000000000ULL / (unsigned long long)sysconf(_SC_CLK_TCK)));
	int64_t up_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec - start_ns;
	return up_ns > 0 ? up_ns : 0;
}

int process_list(const char *link, int fd, struct process **ret, size_t *ret_count, struct err *e)
{
	struct stat what;
	AUTO_DIR proc = opendir("/proc");
	if (!proc || fstat(fd, &what) < 0)
		return err_sys(e, "look for processes");
	size_t n = 0, room = 64;
	__attribute__((cleanup(own_free))) struct process *list = calloc(room, sizeof(*list));
	if (!list)
		return err_set(e, -ENOMEM, "look for processes");
	for (struct dirent *d = readdir(proc); d; d = readdir(proc)) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
		if (pid <= 0 || pid == getpid() || !has(pid, link, &what))
			continue;
		if (n == room) {
			struct process *more = realloc(list, 2 * room * sizeof(*list));
			if (!more)
				return err_set(e, -ENOMEM, "look for processes");
			list = more;
			room *= 2;
		}
		list[n++] = (struct process){ .pid = pid, .is_init = is_init(pid), .uptime_ns = uptime_of(pid) };
	}
	*ret = steal(list);
	*ret_count = n;
	return 0;
}

/* Signals one of them, if it is still the one that was meant: a number may have been given to another since. Gives a pidfd
 * that becomes readable when the process has ended, or -1 when it has already. */
static int signal_one(pid_t pid, const char *link, const struct stat *what, int signal)
{
	AUTO_FD process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (process < 0 || !has(pid, link, what))
		return -1;
	(void)syscall(SYS_pidfd_send_signal, process, signal, NULL, 0);
	return steal_fd(&process);
}

/*
 * Signals all and waits for their end. It takes the pidfds: a dying process lets go of its namespaces and files, by which
 * it was found, a good while before it is gone.
 */
static int signal_all(const struct process *list, size_t n, const char *link, const struct stat *what, int signal,
		      uint32_t wait_ms, struct err *e)
{
	int64_t until = clock_mono_ns() + wait_ms * INT64_C(1000000);
	__attribute__((cleanup(own_free))) int *fds = calloc(n, sizeof(*fds));
	if (!fds)
		return err_set(e, -ENOMEM, "end processes");
	for (size_t i = 0; i < n; i++)
		fds[i] = signal_one(list[i].pid, link, what, signal);
	for (size_t i = 0; i < n; i++) {
		struct pollfd ended = { .fd = fds[i], .events = POLLIN };
		int64_t left_ms = (until - clock_mono_ns()) / 1000000;
		while (fds[i] >= 0 && poll(&ended, 1, left_ms > 0 ? (int)left_ms + 1 : 0) < 0 && errno == EINTR)
			;
		own_close(&fds[i]);
	}
	return 0;
}

int process_kill(const char *link, int fd, uint32_t grace_ms, unsigned *ret_killed, struct err *e)
{
	struct stat what;
	if (fstat(fd, &what) < 0)
		return err_sys(e, "look for processes");
	int64_t until = clock_mono_ns() + (grace_ms + KILL_LIMIT_MS) * INT64_C(1000000);
	for (unsigned round = 0;; round++) {
		__attribute__((cleanup(own_free))) struct process *found = NULL;
		size_t n = 0;
		int rc = process_list(link, fd, &found, &n, e);
		if (rc < 0 || n == 0)
			return rc;
		if (round == 0)
			*ret_killed += (unsigned)n;
		if (clock_mono_ns() > until)
			return err_set(e, -EBUSY, "process %d does not end, 10 s after SIGKILL", (int)found[0].pid);
		bool soft = round == 0 && grace_ms > 0;
		rc = signal_all(found, n, link, &what, soft ? SIGTERM : SIGKILL, soft ? grace_ms : KILL_LIMIT_MS, e);
		if (rc < 0)
			return rc;
	}
}
