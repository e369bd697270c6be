/* SPDX-License-Identifier: MIT */
#include "prove/node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* One check's process, from its start to its answer. */
struct worker {
	pid_t pid; /* 0: not started, or reaped */
	int fd;    /* its answer arrives here; -1: closed */
	int64_t started_ns;
};

void node_report_free(struct node_report *n)
{
	if (!n)
		return;
	free(n->rows);
	free(n);
}

const char *node_row_mend(const struct node_row *row)
{
	return *row->result.mend ? row->result.mend : row->check->mend;
}

enum check_outcome node_verdict(const struct node_report *n)
{
	if (n->counts[CHECK_FAIL])
		return CHECK_FAIL;
	if (n->counts[CHECK_WARN])
		return CHECK_WARN;
	return n->counts[CHECK_PASS] ? CHECK_PASS : CHECK_SKIP;
}

static void name_host(const struct world *w, struct node_report *n)
{
	AUTO_STR host = NULL;
	if (world_read(w, "/proc/sys/kernel/hostname", &host, NULL) < 0 &&
	    world_read(w, "/etc/hostname", &host, NULL) < 0)
		host = NULL;
	snprintf(n->host, sizeof(n->host), "%.*s", host ? (int)strcspn(host, "\n") : 1, host ? host : "?");
	snprintf(n->root, sizeof(n->root), "%s", w->root);
	check_scrub(n->host);
	check_scrub(n->root);
}

/* In the check's process: its libraries may print and exit as they like, only the answer leaves it. */
static _Noreturn void work(const struct check *check, const struct check_context *c, int out)
{
	struct check_result result = { .outcome = CHECK_SKIP };
	struct err why = { 0 };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (check->run(c, &result, &why) < 0)
		check_skip(&result, "cannot tell: %s", why.msg);
	check_scrub(result.evidence);
	check_scrub(result.mend);
	ssize_t sent = write(out, &result, sizeof(result)); /* fewer than PIPE_BUF bytes: all or nothing */
	_exit(sent == (ssize_t)sizeof(result) ? 0 : 1);
}

static int start(const struct check *check, const struct check_context *c, struct worker *k, struct err *e)
{
	int ends[2];
	_Static_assert(sizeof(struct check_result) <= 4096, "an answer fits PIPE_BUF, so that it arrives whole");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "check %s: pipe", check->id);
	AUTO_FD in = ends[0];
	AUTO_FD out = ends[1];
	k->started_ns = clock_mono_ns();
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "check %s: fork", check->id);
	if (pid == 0)
		work(check, c, out);
	k->pid = pid;
	k->fd = steal_fd(&in);
	return 0;
}

/* Ends a process that may be stuck in the kernel: killed, and waited for only a moment; init takes what is left. */
static void stop(struct worker *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	if (!k->pid)
		return;
	kill(k->pid, SIGKILL);
	for (int tries = 0; tries < 20 && waitpid(k->pid, NULL, WNOHANG) == 0; tries++)
		clock_sleep_ms(1);
	k->pid = 0;
}

/* The answer is there, or the process ended without one. */
static void collect(struct worker *k, struct node_row *row)
{
	int status = 0;
	ssize_t n = read(k->fd, &row->result, sizeof(row->result));
	row->ns = clock_mono_ns() - k->started_ns;
	close(k->fd);
	k->fd = -1;
	if (n == (ssize_t)sizeof(row->result)) {
		stop(k);
		return;
	}
	memset(&row->result, 0, sizeof(row->result));
	waitpid(k->pid, &status, 0);
	k->pid = 0;
	if (WIFSIGNALED(status))
		check_fail(&row->result, "what this check loads crashed its process: %s", strsignal(WTERMSIG(status)));
	else
		check_fail(&row->result, "the check's process ended with status %d and no answer", WEXITSTATUS(status));
	row->result.outcome = row->check->severity;
}

static void expire(struct worker *k, struct node_row *row, uint32_t deadline_ms)
{
	stop(k);
	row->ns = clock_mono_ns() - k->started_ns;
	check_skip(&row->result, "no answer in %g s", (double)deadline_ms / 1000.0);
}

/* Until every process has answered or is past its deadline. */
static void gather(struct worker *workers, struct node_report *n, struct pollfd *fds, uint32_t deadline_ms)
{
	for (;;) {
		int64_t now = clock_mono_ns(), soonest = -1;
		for (size_t i = 0; i < n->count; i++) {
			fds[i] = (struct pollfd){ .fd = workers[i].fd, .events = POLLIN };
			if (workers[i].fd < 0)
				continue;
			int64_t left = workers[i].started_ns + (int64_t)deadline_ms * 1000000 - now;
			if (left <= 0) {
				expire(&workers[i], &n->rows[i], deadline_ms);
				fds[i].fd = -1;
			} else if (soonest < 0 || left < soonest) {
				soonest = left;
			}
		}
		if (soonest < 0)
			return;
		if (poll(fds, n->count, (int)(soonest / 1000000) + 1) <= 0)
			continue;
		for (size_t i = 0; i < n->count; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				collect(&workers[i], &n->rows[i]);
	}
}

int node_run(const struct world *w, const struct check *const *rows, uint32_t deadline_ms, struct node_report **ret,
	     struct err *e)
{
	struct check_context c;
	size_t count = 0;
	int r = 0;
	while (rows[count])
		count++;
	AUTO(node_report) n = calloc(1, sizeof(*n));
	__attribute__((cleanup(own_free))) struct worker *workers = calloc(count + 1, sizeof(*workers));
	__attribute__((cleanup(own_free))) struct pollfd *fds = calloc(count + 1, sizeof(*fds));
	if (n)
		n->rows = calloc(count + 1, sizeof(*n->rows));
	if (!n || !n->rows || !workers || !fds)
		return err_set(e, -ENOMEM, "node checks");
	n->count = count;
	n->ns = clock_mono_ns();
	name_host(w, n);
	check_context_init(&c, w);
	for (size_t i = 0; i < count; i++) {
		n->rows[i].check = rows[i];
		workers[i].fd = -1;
	}
	for (size_t i = 0; r == 0 && i < count; i++)
		r = start(rows[i], &c, &workers[i], e);
	if (r == 0)
		gather(workers, n, fds, deadline_ms);
	for (size_t i = 0; i < count; i++)
		stop(&workers[i]);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		n->counts[n->rows[i].result.outcome]++;
		n->simulated |= n->rows[i].result.simulated;
	}
	n->ns = clock_mono_ns() - n->ns;
	*ret = steal(n);
	return 0;
}
