/* SPDX-License-Identifier: MIT */
/*
 * Alone: N processes of this program on this machine, with one shared page each to exchange through. Rank 0 is the process
 * that was started; it watches the others and reaps them.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "prove/rank.h"

#define RANKS_MAX 256

struct slot {
	atomic_uint arrived; /* the number of the last exchange that this rank's blob is ready for */
	atomic_int ended;    /* a child that is gone: 1 + its exit status, or its signal negated */
	/* Two, in turn: nobody can be two exchanges ahead of the slowest. */
	unsigned char blob[2][RANK_BLOB_MAX];
};

struct shared {
	atomic_int given_up; /* 1 + the rank that wrote the message below, or 0 */
	atomic_int is_told;  /* the message is complete */
	int32_t exit_status;
	char message[ERR_MSG_BYTES];
	struct slot slots[];
};

struct rank_fork_state {
	struct shared *shared;
	size_t shared_bytes;
	pid_t *children; /* of rank 0; 0: reaped */
	unsigned sequence;
};

static bool is_present(void)
{
	return true;
}

static int open_set(struct rank_set *set, struct err *e)
{
	struct rank_fork_state *s = set->state;
	const pid_t parent = getpid();
	uint32_t n = set->options.local_ranks;

	if (n == 0 || n > RANKS_MAX)
		return err_input(e, "%u ranks; expected 1 to %d", n, RANKS_MAX);
	s->shared_bytes = sizeof(*s->shared) + n * sizeof(struct slot);
	s->shared = mmap(NULL, s->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->shared == MAP_FAILED) {
		s->shared = NULL;
		return err_sys(e, "share memory between %u ranks", n);
	}
	s->children = calloc(n, sizeof(*s->children));
	if (!s->children)
		return err_set(e, -ENOMEM, "%u ranks", n);
	set->size = n;
	fflush(NULL); /* or every child would print what is still buffered */
	for (uint32_t i = 1; i < n; i++) {
		pid_t pid = fork();
		if (pid < 0) {
			err_sys(e, "start rank %u of %u", i, n);
			set->ops->abandon(set, EXIT_FINDING, "not all ranks could be started");
			return e ? e->code : -EAGAIN;
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(EXIT_FINDING);
			memset(s->children, 0, n * sizeof(*s->children));
			set->rank = i;
			return 0;
		}
		s->children[i] = pid;
	}
	return 0;
}

/* Rank 0 notes children that are gone, for all to see. */
static void reap(struct rank_set *set, int flags)
{
	struct rank_fork_state *s = set->state;
	int status;

	for (uint32_t i = 1; i < set->size; i++) {
		if (!s->children[i] || waitpid(s->children[i], &status, flags) != s->children[i])
			continue;
		s->children[i] = 0;
		atomic_store(&s->shared->slots[i].ended,
			     WIFEXITED(status) ? 1 + WEXITSTATUS(status) : -WTERMSIG(status));
	}
}

static int alive(struct rank_set *set, struct err *e)
{
	struct rank_fork_state *s = set->state;
	int who = atomic_load(&s->shared->given_up);

	if (who && atomic_load(&s->shared->is_told)) {
		/* Only the exit status travels with the text: give an error that maps to the same one. */
		int status = s->shared->exit_status;
		if (status == EXIT_USAGE)
			return err_input(e, "rank %d: %s", who - 1, s->shared->message);
		return err_set(e, status == EXIT_CANNOT_TELL ? -ENODEV : -ECONNABORTED, "rank %d: %s", who - 1,
			       s->shared->message);
	}
	if (set->rank == 0)
		reap(set, WNOHANG);
	for (uint32_t i = 1; i < set->size; i++) {
		int ended = atomic_load(&s->shared->slots[i].ended);
		if (ended < 0)
			return err_set(e, -ECONNRESET, "rank %u was killed by signal %d (%s)", i, -ended,
				       strsignal(-ended));
		if (ended > 0 && i != set->rank)
			return err_set(e, -ECONNRESET, "rank %u ended too early with exit status %d", i, ended - 1);
	}
	return 0;
}

static int exchange(struct rank_set *set, const void *mine, size_t n, void *ret, struct err *e)
{
	struct rank_fork_state *s = set->state;
	const unsigned sequence = ++s->sequence;
	const int64_t deadline = clock_mono_ns() + (int64_t)set->options.timeout_ms * 1000000;
	unsigned char *to = ret;
	const struct timespec pause = { .tv_nsec = 50000 };

	memcpy(s->shared->slots[set->rank].blob[sequence % 2], mine, n);
	atomic_store(&s->shared->slots[set->rank].arrived, sequence);
	for (uint32_t i = 0; i < set->size; i++) {
		struct slot *slot = &s->shared->slots[i];
		while (atomic_load(&slot->arrived) < sequence) {
			int rc = alive(set, e);
			/* It may have arrived and ended between the two looks. */
			if (atomic_load(&slot->arrived) >= sequence)
				break;
			if (rc < 0)
				return rc;
			if (clock_mono_ns() > deadline)
				return err_set(e, -ETIMEDOUT, "rank %u did not answer within %u ms", i,
					       set->options.timeout_ms);
			nanosleep(&pause, NULL);
		}
		memcpy(to + i * n, slot->blob[sequence % 2], n);
	}
	return 0;
}

static void abandon(struct rank_set *set, int exit_status, const char *message)
{
	struct rank_fork_state *s = set->state;
	int nobody = 0;

	if (!atomic_compare_exchange_strong(&s->shared->given_up, &nobody, 1 + (int)set->rank))
		return; /* the first cause is the one to tell */
	s->shared->exit_status = exit_status;
	snprintf(s->shared->message, sizeof(s->shared->message), "%s", message);
	atomic_store(&s->shared->is_told, 1);
}

/* Rank 0 gives the others the deadline's time to end by themselves, then ends them. */
static void close_set(struct rank_set *set)
{
	struct rank_fork_state *s = set->state;
	const int64_t deadline = clock_mono_ns() + (int64_t)set->options.timeout_ms * 1000000;
	bool left = s->children && set->rank == 0;

	while (left && clock_mono_ns() < deadline) {
		left = false;
		reap(set, WNOHANG);
		for (uint32_t i = 1; i < set->size; i++)
			left = left || s->children[i];
		if (left)
			clock_sleep_ms(1);
	}
	for (uint32_t i = 1; left && i < set->size; i++)
		if (s->children[i])
			kill(s->children[i], SIGKILL);
	if (left)
		reap(set, 0);
	free(s->children);
	if (s->shared)
		munmap(s->shared, s->shared_bytes);
}

const struct rank_ops rank_fork = {
	.name = "fork",
	.state_size = sizeof(struct rank_fork_state),
	.is_present = is_present,
	.open = open_set,
	.exchange = exchange,
	.alive = alive,
	.abandon = abandon,
	.close = close_set,
	.carries_messages = true,
};
