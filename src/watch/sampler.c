/* SPDX-License-Identifier: MIT */
#include "watch/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"

#define OUTPUT_MAX_BYTES (1u << 20)
#define REAP_POLL_MS 5

extern char **environ;

/* A process group of its own: Ctrl-C on the agent's terminal must not hit it inside the driver. */
static int spawn_child(const char *program, int out_fd, pid_t *ret, struct err *e)
{
	char *const argv[] = { "kiln", "watch", "once", "--json", "--only", "gpu", "--in-process", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&how);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&how, 0);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setsigdefault(&how, &all);
	int rc = posix_spawn(ret, program, &files, &how, argv, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return rc ? err_set(e, -rc, "NVML sample: cannot run '%s': %s", program, strerror(rc)) : 0;
}

static int left_ms(int64_t until_ns)
{
	int64_t left = (until_ns - clock_mono_ns() + 999999) / 1000000;
	return left > 0 ? (int)left : 0;
}

/* All that the child prints. -ETIMEDOUT, -ECANCELED. */
static int read_output(int fd, int stop_fd, int64_t until_ns, struct buf *to)
{
	char some[4096];
	for (;;) {
		struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = stop_fd, .events = POLLIN } };
		int n = poll(p, 2, left_ms(until_ns));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -ETIMEDOUT;
		if (p[1].revents)
			return -ECANCELED;
		ssize_t got = read(fd, some, sizeof(some));
		if (got <= 0)
			return 0;
		if (buf_add(to, some, (size_t)got) < 0)
			return -E2BIG;
	}
}

/* The child has closed its output: it ends now, unless it hangs on its way out. */
static int reap(pid_t pid, int stop_fd, int64_t until_ns, int *ret_status)
{
	for (;;) {
		pid_t done = waitpid(pid, ret_status, WNOHANG);
		if (done == pid)
			return 0;
		if (done < 0)
			return -errno;
		if (!left_ms(until_ns))
			return -ETIMEDOUT;
		struct pollfd stop = { .fd = stop_fd, .events = POLLIN };
		if (poll(&stop, 1, REAP_POLL_MS) > 0)
			return -ECANCELED;
	}
}

static int still_stuck(struct sampler *s)
{
	int status;
	if (!s->stuck || waitpid(s->stuck, &status, WNOHANG) == s->stuck) {
		s->stuck = 0;
		return 0;
	}
	return -EBUSY;
}

static int understand(const char *text, int status, json_t **ret, struct err *e)
{
	if (WIFSIGNALED(status))
		return err_set(e, -ECHILD, "NVML sample: its process was ended by signal %d (%s)", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	AUTO_JSON j = json_loads(text, 0, NULL);
	if (!j)
		return err_set(e, -ECHILD, "NVML sample: its process ended with status %d and no result",
			       WEXITSTATUS(status));
	if (json_array_size(json_object_get(j, "gpus")) == 0) {
		const char *why = json_string_value(json_array_get(json_object_get(j, "reasons"), 0));
		return err_set(e, -ENODEV, "%s", why ? why : "NVML sees no GPU");
	}
	*ret = steal(j);
	return 0;
}

int sampler_run(struct sampler *s, uint32_t timeout_ms, json_t **ret, struct err *e)
{
	int64_t until_ns = clock_mono_ns() + (int64_t)timeout_ms * 1000000;
	int ends[2], status = 0;
	pid_t pid;
	if (still_stuck(s) < 0)
		return err_set(e, -EBUSY, "NVML sample: process %d is still stuck inside the driver", (int)s->stuck);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "NVML sample: pipe");
	AUTO_FD in = ends[0];
	AUTO_FD out = ends[1];
	int rc = spawn_child(s->program, out, &pid, e);
	if (rc < 0)
		return rc;
	close(steal_fd(&out));
	AUTO_BUF text;
	buf_init(&text, OUTPUT_MAX_BYTES);
	rc = read_output(in, s->stop_fd, until_ns, &text);
	if (rc == 0)
		rc = reap(pid, s->stop_fd, until_ns, &status);
	if (rc == 0)
		return understand(buf_text(&text), status, ret, e);
	s->stuck = pid;
	return err_set(e, rc,
		       rc == -ETIMEDOUT ? "NVML did not answer within %.3g s: process %d is left alone"
					: "NVML sample of %.3g s given up: process %d",
		       timeout_ms / 1000.0, (int)pid);
}

void sampler_fini(struct sampler *s)
{
	if (still_stuck(s) < 0)
		kill(s->stuck, SIGTERM);
	s->stuck = 0;
}
