/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/child_guard.h"
#include "base/clock.h"
#include "base/own.h"

#define KEEP_BYTES (4u << 20)
#define TICK_MS 100
#define GRACE_MS 2000 /* between asking a group to end and killing it: mpirun takes its far ends down in it */

/* What the child tells through the close-on-exec pipe when it does not come to exec. */
struct start_failure {
	int number;
	enum { START_CWD, START_STDIO, START_EXEC } stage;
};

struct running {
	const struct child_spec *spec;
	pid_t pid;
	int pidfd; /* -1: the kernel has none (before 5.3), we ask every 20 ms */
	int out;   /* the pipe we read, or -1 */
	bool tee;  /* what we read goes on to spec->log_fd */
	bool keep; /* what we read is kept for the caller */
	bool own_group;
	struct child_guard guard; /* of own_group */
	bool failed;              /* memory ran out while keeping */
	char *text;
	size_t len, room;
	char line[256]; /* the latest line, for tick */
	size_t line_len;
	bool line_done; /* the next byte begins another line */
	int stop_step;  /* 0 running, 1 asked to end, 2 killed */
	int64_t stop_ns;
};

/* ---- in the child: only async-signal-safe calls ---- */

static void close_on_exec_from(int first)
{
	if (syscall(SYS_close_range, (unsigned)first, ~0u, 4u /* CLOSE_RANGE_CLOEXEC, 5.11 */) == 0)
		return;
	for (int fd = first; fd < 4096; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags >= 0)
			fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
	}
}

static void reset_signals(void)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	for (int s = 1; s < NSIG; s++)
		sigaction(s, &usual, NULL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Standard input, output and error from the given descriptors; -1 keeps ours. None of them is 0, 1 or 2 itself. */
static int place_stdio(const int from[3])
{
	for (int i = 0; i < 3; i++)
		if (from[i] >= 0 && dup2(from[i], i) < 0)
			return -1;
	return 0;
}

static void start_child(const struct running *r, const int stdio[3], int tell, pid_t parent) __attribute__((noreturn));
static void start_child(const struct running *r, const int stdio[3], int tell, pid_t parent)
{
	const struct child_spec *spec = r->spec;
	struct start_failure f = { .stage = START_EXEC };
	if (r->own_group) {
		setpgid(0, 0);
		child_guard_name(&r->guard);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before we asked */
		_exit(127);
	reset_signals();
	if (place_stdio(stdio) < 0) {
		f.stage = START_STDIO;
	} else if (spec->cwd && chdir(spec->cwd) < 0) {
		f.stage = START_CWD;
	} else {
		close_on_exec_from(3);
		if (spec->before_exec && spec->before_exec(spec->arg) != 0)
			_exit(126);
		char *const *argv = (char *const *)spec->argv;
		execvpe(argv[0], argv, spec->env ? (char *const *)spec->env : environ);
	}
	f.number = errno;
	while (write(tell, &f, sizeof(f)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* ---- in the parent ---- */

/* A descriptor that standard input can be: the text in memory, or /dev/null. -1 for ours. */
static int open_input(const struct child_spec *spec, int *ret, struct err *e)
{
	*ret = -1;
	if (!spec->input_text && spec->inherit_stdio)
		return 0;
	/* Not a pipe: a program that does not read it can neither block us nor send us SIGPIPE. */
	AUTO_FD fd = spec->input_text ? memfd_create("input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, "cannot run '%s': no standard input", spec->argv[0]);
	size_t n = spec->input_text ? strlen(spec->input_text) : 0, done = 0;
	while (done < n) {
		ssize_t now = write(fd, spec->input_text + done, n - done);
		if (now < 0 && errno != EINTR)
			return err_sys(e, "cannot run '%s': no standard input", spec->argv[0]);
		done += now > 0 ? (size_t)now : 0;
	}
	if (n && lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(e, "cannot run '%s': no standard input", spec->argv[0]);
	*ret = steal_fd(&fd);
	return 0;
}

/* Moves a descriptor out of 0..2, where place_stdio would overwrite it before its turn. */
static int above_stdio(int *fd)
{
	if (*fd < 0 || *fd > 2)
		return 0;
	int moved = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	if (moved < 0)
		return -1;
	close(*fd);
	*fd = moved;
	return 0;
}

static int exec_error(const struct child_spec *spec, const struct start_failure *f, struct err *e)
{
	const char *name = spec->argv[0];
	errno = f->number;
	if (f->stage == START_CWD)
		return err_sys(e, "cannot run '%s' in the folder '%s'", name, spec->cwd);
	if (f->stage == START_EXEC && f->number == ENOENT && !strchr(name, '/'))
		return err_set(e, -ENOENT, "%s is not installed or not on PATH", name);
	return err_sys(e, "cannot run '%s'", name);
}

/* Forks with every signal held back, so that no handler of ours runs in the child before they are reset. */
static int spawn(struct running *r, const int stdio[3], struct err *e)
{
	int tell[2];
	if (pipe2(tell, O_CLOEXEC) < 0)
		return err_sys(e, "cannot run '%s'", r->spec->argv[0]);
	AUTO_FD hear = tell[0];
	AUTO_FD say = tell[1];
	if (above_stdio(&say) < 0)
		return err_sys(e, "cannot run '%s'", r->spec->argv[0]);
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t parent = getpid();
	int why = r->own_group ? -child_guard_open(&r->guard) : 0;
	r->pid = why ? -1 : fork();
	if (!why)
		why = errno;
	if (r->pid == 0)
		start_child(r, stdio, say, parent);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r->pid < 0) {
		errno = why;
		return err_sys(e, "cannot run '%s'", r->spec->argv[0]);
	}
	if (r->own_group)
		setpgid(r->pid, r->pid); /* whoever is first: a kill must find the group */
	close(steal_fd(&say));
	struct start_failure f;
	ssize_t n;
	while ((n = read(hear, &f, sizeof(f))) < 0 && errno == EINTR)
		;
	if (n == (ssize_t)sizeof(f)) {
		while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
			;
		return exec_error(r->spec, &f, e);
	}
	r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
	if (r->pidfd >= 0)
		fcntl(r->pidfd, F_SETFD, FD_CLOEXEC);
	return 0;
}

/* Keeps the latest KEEP_BYTES: twice that is held, then the older half goes. */
static void keep_output(struct running *r, const char *bytes, size_t n)
{
	if (r->len + n > 2 * KEEP_BYTES) {
		size_t drop = r->len + n - KEEP_BYTES;
		memmove(r->text, r->text + drop, r->len - drop);
		r->len -= drop;
	}
	if (r->len + n + 1 > r->room) {
		size_t room = r->room ? r->room : 4096;
		while (room < r->len + n + 1)
			room *= 2;
		char *more = realloc(r->text, room);
		if (!more) {
			r->failed = true;
			return;
		}
		r->text = more;
		r->room = room;
	}
	memcpy(r->text + r->len, bytes, n);
	r->len += n;
	r->text[r->len] = '\0';
}

/* The latest line that holds something; a carriage return begins it anew, as progress meters do. */
static void follow_line(struct running *r, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r') {
			r->line_done = true;
			continue;
		}
		if (r->line_done) {
			r->line_len = 0;
			r->line_done = false;
		}
		if (r->line_len + 1 < sizeof(r->line))
			r->line[r->line_len++] = bytes[i];
	}
	r->line[r->line_len] = '\0';
}

/* Reads what is there. False when there is no more now or ever. */
static bool read_some(struct running *r)
{
	char part[32768];
	ssize_t n = read(r->out, part, sizeof(part));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return errno == EINTR;
	if (n <= 0) {
		close(steal_fd(&r->out));
		return false;
	}
	if (r->tee)
		for (ssize_t at = 0; at < n;) {
			ssize_t done = write(r->spec->log_fd, part + at, (size_t)(n - at));
			if (done < 0 && errno != EINTR)
				break; /* a full disk must not stop the program that is run */
			at += done > 0 ? done : 0;
		}
	if (r->keep && !r->failed)
		keep_output(r, part, (size_t)n);
	if (r->spec->tick)
		follow_line(r, part, (size_t)n);
	return true;
}

static void stop_when_late(struct running *r, int64_t deadline_ns)
{
	int64_t now = clock_mono_ns();
	if (r->stop_step == 0 && now >= deadline_ns) {
		kill(r->own_group ? -r->pid : r->pid, SIGTERM);
		r->stop_step = 1;
		r->stop_ns = now + (int64_t)GRACE_MS * 1000000;
	} else if (r->stop_step == 1 && now >= r->stop_ns) {
		kill(r->own_group ? -r->pid : r->pid, SIGKILL);
		r->stop_step = 2;
	}
}

/* How long to sleep at most: to the next tick, to the deadline, or (no pidfd) to the next look. */
static int sleep_ms(const struct running *r, int64_t until_ns)
{
	int64_t ms = until_ns == INT64_MAX ? 60000 : (until_ns - clock_mono_ns()) / 1000000 + 1;
	if (r->spec->tick && ms > TICK_MS)
		ms = TICK_MS;
	if (r->pidfd < 0 && ms > 20)
		ms = 20;
	return ms < 0 ? 0 : (int)(ms > 60000 ? 60000 : ms);
}

/* Waits for the end; gives the wait status. What is still in the pipe then is read, but no longer waited for: a daemon
 * that the program left behind may hold it open for ever. */
static int wait_end(struct running *r, int *ret_status)
{
	int64_t deadline = r->spec->timeout_ms ? clock_mono_ns() + (int64_t)r->spec->timeout_ms * 1000000 : INT64_MAX;
	int64_t tick = clock_mono_ns() + (int64_t)TICK_MS * 1000000;
	for (;;) {
		struct pollfd fds[] = { { .fd = r->pidfd, .events = POLLIN }, { .fd = r->out, .events = POLLIN } };
		int64_t until = r->stop_step == 0 ? deadline : r->stop_step == 1 ? r->stop_ns : INT64_MAX;
		poll(fds, COUNT_OF(fds), sleep_ms(r, until));
		if (r->out >= 0 && fds[1].revents)
			read_some(r);
		pid_t ended = waitpid(r->pid, ret_status, WNOHANG);
		if (ended == r->pid)
			break;
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (r->spec->tick && clock_mono_ns() >= tick) {
			r->spec->tick(r->spec->tick_arg, r->line);
			tick = clock_mono_ns() + (int64_t)TICK_MS * 1000000;
		}
		stop_when_late(r, deadline);
	}
	while (r->out >= 0 && read_some(r))
		;
	/* After a timeout nothing of the group may live on, also when its leader ended at the first asking. */
	if (r->stop_step > 0 && r->own_group)
		kill(-r->pid, SIGKILL);
	return 0;
}

/* Decides what is read through a pipe and what is given away directly. stdio: what the child gets. */
static int open_output(struct running *r, int stdio[3], int *ret_write_end, struct err *e)
{
	const struct child_spec *s = r->spec;
	bool logs = s->log_fd > 0;
	r->tee = logs && s->tick && !s->stdout_only;
	r->keep = s->stdout_only || (!logs && !s->inherit_stdio);
	if (logs && !r->tee)
		stdio[1] = stdio[2] = s->log_fd;
	if (!r->keep && !r->tee)
		return 0;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "cannot run '%s'", s->argv[0]);
	r->out = ends[0];
	*ret_write_end = ends[1];
	fcntl(r->out, F_SETFL, O_NONBLOCK);
	if (above_stdio(ret_write_end) < 0)
		return err_sys(e, "cannot run '%s'", s->argv[0]);
	stdio[1] = *ret_write_end;
	if (!s->stdout_only)
		stdio[2] = *ret_write_end;
	return 0;
}

static void running_close(struct running *r)
{
	child_guard_close(&r->guard);
	own_close(&r->out);
	own_close(&r->pidfd);
	free(r->text);
}

int child_run(const struct child_spec *spec, struct child_result *ret, struct err *e)
{
	__attribute__((cleanup(running_close))) struct running r = {
		.spec = spec, .pidfd = -1, .out = -1, .own_group = !spec->inherit_stdio, .guard = { 0, -1 }
	};
	AUTO_FD input = -1;
	AUTO_FD log = -1;
	AUTO_FD write_end = -1;
	int stdio[3] = { -1, -1, -1 }, status = 0;

	*ret = (struct child_result){ 0 };
	int rc = open_input(spec, &input, e);
	if (rc == 0 && above_stdio(&input) < 0)
		rc = err_sys(e, "cannot run '%s'", spec->argv[0]);
	if (rc == 0)
		rc = open_output(&r, stdio, &write_end, e);
	if (rc < 0)
		return rc;
	stdio[0] = input;
	/* A log_fd of 1 or 2 is given on as it is: dup it away from where it would be overwritten. */
	if (spec->log_fd > 0 && spec->log_fd < 3) {
		log = fcntl(spec->log_fd, F_DUPFD_CLOEXEC, 3);
		for (int i = 1; i < 3; i++)
			if (stdio[i] == spec->log_fd)
				stdio[i] = log;
	}
	rc = spawn(&r, stdio, e);
	if (rc < 0)
		return rc;
	close(steal_fd(&write_end));
	rc = wait_end(&r, &status);
	ret->status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
	if (r.keep && !r.text)
		keep_output(&r, "", 0);
	if (r.len > KEEP_BYTES) {
		memmove(r.text, r.text + r.len - KEEP_BYTES, KEEP_BYTES + 1);
		r.len = KEEP_BYTES;
	}
	ret->output_len = r.len;
	ret->output = steal(r.text);
	if (rc < 0)
		return err_set(e, rc, "lost track of '%s'", spec->argv[0]);
	if (r.stop_step > 0) {
		char after[CLOCK_TEXT_BYTES];
		clock_duration_text((int64_t)spec->timeout_ms * 1000000, after);
		return err_set(e, -ETIMEDOUT, "'%s' did not end within %s and was stopped", spec->argv[0], after);
	}
	return r.failed ? err_set(e, -ENOMEM, "'%s': out of memory for its output", spec->argv[0]) : 0;
}
