/* SPDX-License-Identifier: MIT */
#include "prove/mpirun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "fabric/source.h"

/* Never a prompt, never an unknown host key, and an answer within seconds: mpirun itself would wait for ever. */
#define SSH_ARGUMENTS "-o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=10 -o ServerAliveInterval=5"

#define POLL_MS 50

/* A NULL-ended list that grows; a failed add shows in `failed`. */
struct list {
	char **at;
	size_t count, room;
	bool failed;
};

static void add(struct list *l, const char *text)
{
	if (l->count + 2 > l->room) {
		char **grown = reallocarray(l->at, l->room + 32, sizeof(*grown));
		if (!grown) {
			l->failed = true;
			return;
		}
		l->at = grown;
		l->room += 32;
	}
	l->at[l->count] = strdup(text);
	l->failed = l->failed || !l->at[l->count];
	l->count += l->at[l->count] != NULL;
	l->at[l->count] = NULL;
}

static void add_mca(struct list *l, const char *key, const char *value)
{
	add(l, "--mca");
	add(l, key);
	add(l, value);
}

/* Names only: mpirun takes the values from its own environment. */
static void add_environment(struct list *l, char *const *environment)
{
	static const char *const kept[] = { "FI_", "NCCL_", "KILN_" };

	for (; environment && *environment; environment++)
		for (size_t i = 0; i < COUNT_OF(kept); i++) {
			char name[256];
			size_t n = strcspn(*environment, "=");
			if (strncmp(*environment, kept[i], strlen(kept[i])) != 0 || n >= sizeof(name))
				continue;
			memcpy(name, *environment, n);
			name[n] = '\0';
			add(l, "-x");
			add(l, name);
		}
}

int mpirun_arguments(const struct mpirun_options *o, char ***ret, struct err *e)
{
	struct list l = { 0 };
	char ranks[16];

	snprintf(ranks, sizeof(ranks), "%u", o->ranks);
	add(&l, "mpirun");
	if (o->is_root)
		add(&l, "--allow-run-as-root");
	add(&l, "--quiet"); /* our ranks say themselves why they fail */
	add(&l, "--hostfile");
	add(&l, o->hosts_path);
	add(&l, "-np");
	add(&l, ranks);
	if (o->one_per_host) {
		add(&l, "--map-by");
		add(&l, "ppr:1:node");
	}
	/* Bound by default, two namespaces of one machine would share its first processor. Our ranks pin themselves. */
	add(&l, "--bind-to");
	add(&l, "none");
	if (o->subnet) {
		add_mca(&l, "oob_tcp_if_include", o->subnet);
		add_mca(&l, "btl_tcp_if_include", o->subnet);
	}
	add_mca(&l, "plm_rsh_args", SSH_ARGUMENTS);
	add_environment(&l, o->environment);
	for (char *const *p = o->program; *p; p++)
		add(&l, *p);
	if (l.failed) {
		own_free_strings(&l.at);
		return err_set(e, -ENOMEM, "mpirun's arguments");
	}
	*ret = l.at;
	return 0;
}

char *mpirun_subnet(const struct hosts *h)
{
	struct source_list ours;
	uint32_t ip, bits;

	if (source_parse(h->at[0].name, &ip, &bits) < 0 || source_list(&ours, NULL) < 0)
		return NULL;
	for (uint32_t i = 0; i < ours.count; i++) {
		const struct source_address *a = &ours.at[i];
		const uint32_t mask = a->prefix_bits ? 0xffffffffu << (32 - a->prefix_bits) : 0;
		struct source_address subnet = { .ip = ip & mask };
		char text[SOURCE_TEXT_BYTES];
		if ((a->ip ^ ip) & mask)
			continue;
		source_text(&subnet, text);
		return str_printf("%s/%u", text, a->prefix_bits);
	}
	return NULL;
}

char *mpirun_text(char *const *argv)
{
	AUTO_BUF text;

	buf_init(&text, 1 << 16);
	for (char *const *a = argv; *a; a++) {
		const bool plain =
			**a && (*a)[strspn(*a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
					       "-_./:=,+@%")] == '\0';
		buf_str(&text, a == argv ? "" : " ");
		if (plain) {
			buf_str(&text, *a);
			continue;
		}
		buf_str(&text, "'");
		for (const char *c = *a; *c; c++)
			if (*c == '\'')
				buf_str(&text, "'\\''");
			else
				buf_add(&text, c, 1);
		buf_str(&text, "'");
	}
	return buf_steal(&text);
}

/* What is told on standard error passes through us, so that we hear a rank say that it failed. */
struct watch {
	pid_t pid;
	int from; /* the pipe */
	bool rank_failed;
	char line[16]; /* the beginning of the current line */
	size_t line_bytes;
	int64_t failed_ns;
};

static bool starts_failure(const struct watch *w)
{
	return w->line_bytes == sizeof(w->line) && memcmp(w->line, "kiln prove ", 11) == 0;
}

static void pass_on(struct watch *w)
{
	char text[4096];
	ssize_t n = read(w->from, text, sizeof(text));

	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == '\n')
			w->line_bytes = 0;
		else if (w->line_bytes < sizeof(w->line))
			w->line[w->line_bytes++] = text[i];
		if (!w->rank_failed && starts_failure(w)) {
			w->rank_failed = true;
			w->failed_ns = clock_mono_ns();
		}
	}
	if (n > 0)
		fdio_write_all(STDERR_FILENO, text, (size_t)n, "standard error", NULL);
}

static int start(char *const *argv, struct watch *ret, struct err *e)
{
	const pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "start mpirun");
	fflush(NULL);
	ret->pid = fork();
	if (ret->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(127);
		dup2(ends[1], STDERR_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (ret->pid < 0)
		err_sys(e, "start mpirun");
	close(ends[1]);
	if (ret->pid < 0) {
		close(ends[0]);
		return e ? e->code : -EAGAIN;
	}
	ret->from = ends[0];
	return 0;
}

/* Asks it to end, then ends it. */
static int stop(const struct watch *w)
{
	int status = 0;

	kill(w->pid, SIGTERM);
	for (int i = 0; i < 20; i++) {
		if (waitpid(w->pid, &status, WNOHANG) == w->pid)
			return status;
		clock_sleep_ms(100);
	}
	kill(w->pid, SIGKILL);
	waitpid(w->pid, &status, 0);
	return status;
}

int mpirun_run(char *const *argv, uint32_t grace_ms, int *ret_status, struct err *e)
{
	struct watch w = { 0 };
	AUTO_STR path = child_which("mpirun");
	int rc, status;

	if (!path)
		return err_set(e, -ENODEV, "mpirun is not installed here; install Open MPI (openmpi-bin)");
	rc = start(argv, &w, e);
	if (rc < 0)
		return rc;
	AUTO_FD from = w.from;
	while (waitpid(w.pid, &status, WNOHANG) != w.pid) {
		struct pollfd p = { .fd = from, .events = POLLIN };
		if (poll(&p, 1, POLL_MS) > 0 && (p.revents & POLLIN))
			pass_on(&w);
		else if (p.revents) /* closed: it is about to end */
			clock_sleep_ms(POLL_MS);
		if (!w.rank_failed || clock_mono_ns() - w.failed_ns < (int64_t)grace_ms * 1000000)
			continue;
		stop(&w);
		return err_native(
			e, -EHOSTUNREACH, ERR_REMOTE, 0,
			"mpirun was ended: a rank failed %u ms ago and it still waits for a host that does not "
			"answer; is the host up?",
			grace_ms);
	}
	for (;;) { /* its last words */
		struct pollfd p = { .fd = from, .events = POLLIN };
		if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLIN))
			break;
		pass_on(&w);
	}
	status = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_REMOTE;
	*ret_status = status <= EXIT_REMOTE ? status : EXIT_REMOTE;
	return 0;
}
