/* SPDX-License-Identifier: MIT */
#include "bake/sandbox.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bake/sandbox_setup.h"
#include "base/child.h"
#include "base/own.h"

#define SANDBOX_NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET)
#define SANDBOX_FAILED 125 /* exit status of a sandbox that could not be set up */

/* Between kiln and the program stands one process, the keeper: it made the process namespace and waits for the program,
 * which is number 1 in it. Kiln kills the keeper to end everything. */
struct sandbox_shared {
	volatile pid_t keeper;
};

struct sandbox_running {
	const struct sandbox *sandbox;
	struct sandbox_shared *shared; /* memory that the keeper shares with us */
	bool stopped;
};

static void keeper_wait(pid_t program, int alive) __attribute__((noreturn));
static void keeper_wait(pid_t program, int alive)
{
	int status = 0;

	dup2(alive, 0);                              /* open for as long as the keeper lives */
	if (syscall(SYS_close_range, 1, ~0u, 0) < 0) /* kiln waits for the last holder of its pipes */
		for (int fd = 1; fd < 4096; fd++)
			close(fd);
	while (waitpid(program, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		_exit(128 + WTERMSIG(status));
	_exit(WEXITSTATUS(status));
}

/* In the child, before exec. Returns only in the process that becomes the program. */
static int sandbox_enter(void *arg)
{
	struct sandbox_running *r = arg;
	int alive[2];

	r->shared->keeper = getpid();
	if (pipe(alive) < 0 || unshare(SANDBOX_NAMESPACES) < 0) {
		perror("kiln: cannot make namespaces");
		_exit(SANDBOX_FAILED);
	}
	pid_t program = fork();
	if (program < 0)
		_exit(SANDBOX_FAILED);
	if (program > 0)
		keeper_wait(program, alive[1]);

	close(alive[1]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct pollfd keeper = { .fd = alive[0], .events = POLLIN };
	if (poll(&keeper, 1, 0) != 0) /* it died before we asked to die with it */
		_exit(SANDBOX_FAILED);
	close(alive[0]);
	setsid(); /* no terminal to ask on */
	const struct sandbox *s = r->sandbox;
	if ((s->keep_host ? sandbox_setup_beside(s) : sandbox_setup_root(s)) < 0)
		_exit(SANDBOX_FAILED);
	return 0;
}

static void sandbox_tick(void *arg, const char *latest_line)
{
	struct sandbox_running *r = arg;
	const struct sandbox *s = r->sandbox;

	if (s->tick)
		s->tick(s->tick_arg, latest_line);
	if (!r->stopped && s->stopped && s->stopped(s->stopped_arg)) {
		r->stopped = true;
		if (r->shared->keeper > 0)
			kill(r->shared->keeper, SIGKILL);
	}
}

int sandbox_run(const struct sandbox *s, int *ret_status, struct err *e)
{
	struct child_result result = { 0 };
	struct sandbox_running r = { .sandbox = s };

	if (geteuid() != 0)
		return err_set(e, -EPERM, "needs root for overlay mounts: run it with sudo");
	r.shared = mmap(NULL, sizeof(*r.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r.shared == MAP_FAILED)
		return err_sys(e, "map memory");
	struct child_spec spec = {
		.argv = s->argv,
		.env = s->env,
		.log_fd = s->log_fd,
		.before_exec = sandbox_enter,
		.arg = &r,
		.tick = sandbox_tick,
		.tick_arg = &r,
	};
	int rc = child_run(&spec, &result, e);
	free(result.output);
	munmap(r.shared, sizeof(*r.shared));
	if (rc < 0)
		return rc;
	if (r.stopped)
		return err_set(e, -EINTR, "interrupted");
	*ret_status = result.status;
	return 0;
}
