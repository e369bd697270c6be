/* SPDX-License-Identifier: MIT */
/*
 * A set of ranks: the processes of one proof, wherever a launcher put them. It is small and slow on purpose: it only
 * carries addresses and verdicts; data goes over the fabric under test. Which launcher it was is a row:
 * rank_pmix (mpirun, srun), rank_env (torchrun, Kubernetes), rank_fork (alone).
 * Thread rule: one thread.
 */
#ifndef KILN_PROVE_RANK_H
#define KILN_PROVE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/own.h"

#define RANK_BLOB_MAX 2048 /* bytes that one rank may give to an exchange */
#define RANK_HOST_BYTES 64

/* Who a rank is. Fixed size and no pointers: it is exchanged as it is. */
struct rank_member {
	char host[RANK_HOST_BYTES];
	int32_t pid;
	char machine[40]; /* the kernel's boot id: containers and namespaces of one machine share it */
	uint64_t network; /* the network namespace's inode */
};

struct rank_options {
	uint32_t local_ranks; /* alone: how many processes */
	uint32_t timeout_ms;  /* for each exchange, and to find one another */
};

struct rank_set {
	const struct rank_ops *ops;
	struct rank_options options;
	uint32_t rank;
	uint32_t size;
	uint32_t local_rank; /* among the ranks on this machine */
	uint32_t local_size;
	struct rank_member *members;
	bool is_agreed; /* rank_agree ended in a failure: all ranks know it */
	void *state;    /* the row's */
};

struct rank_ops {
	const char *name;
	size_t state_size; /* bytes; rank_open allocates them zeroed */
	/* Whether this launcher started us. */
	bool (*is_present)(void);
	/* Fills set->rank and set->size. */
	int (*open)(struct rank_set *set, struct err *e);
	/* ret has set->size times n bytes, rank 0's first. Within set->options.timeout_ms, or -ETIMEDOUT. */
	int (*exchange)(struct rank_set *set, const void *mine, size_t n, void *ret, struct err *e);
	/* Cheap, never waits: a negative code when another rank is known to have died or given up. */
	int (*alive)(struct rank_set *set, struct err *e);
	/* Tells the others that we give up, so that none waits for us. */
	void (*abandon)(struct rank_set *set, int exit_status, const char *message);
	/* Takes a half-open state. */
	void (*close)(struct rank_set *set);
	/* Whether rank 0 learns an abandoning rank's message, so that the other need not print it. */
	bool carries_messages;
};

extern const struct rank_ops rank_pmix;
extern const struct rank_ops rank_env;
extern const struct rank_ops rank_fork;
/* All of them, in the order in which they are asked; NULL-ended. */
extern const struct rank_ops *const rank_rows[];

/* Joins the set that the launcher made (ops NULL: the first row that is present), and learns who the others are. In a
 * forked set this returns once in every process: rank 0 is the caller, the others must end by exit() as it does.
 * Errors: the row's; -ETIMEDOUT when not all came. */
int rank_open(const struct rank_ops *ops, const struct rank_options *options, struct rank_set **ret, struct err *e);
/* For rank 0 of a forked set: also waits for the others to end. */
void rank_free(struct rank_set *set);

static inline void rank_set_autofree(struct rank_set **at)
{
	rank_free(*at);
}

/* All-gather: every rank gives n (<= RANK_BLOB_MAX) bytes and gets all of them. */
int rank_exchange(struct rank_set *set, const void *mine, size_t n, void *ret, struct err *e);
/* All come to one verdict. mine->code is 0 or our failure; when any rank failed, every rank gets the failure of the lowest
 * one, "rank R (HOST): " in front when that is not rank 0. */
int rank_agree(struct rank_set *set, const struct err *mine, struct err *e);
int rank_alive(struct rank_set *set, struct err *e);
/* We failed: tell the others, unless all know already, so that none waits for us. The caller then prints e if this gives
 * true (else another rank does), frees the set and ends. */
bool rank_abandon(struct rank_set *set, const struct err *e);
/* For mistakes found before the set is open: whether this process will be the one that prints, as far as the launcher's
 * environment tells. */
bool rank_is_first(void);
/* True when all ranks are in one network namespace of one machine: they can meet on loopback. */
bool rank_is_one_host(const struct rank_set *set);
/* "rank 1 (node2)". */
void rank_text(const struct rank_set *set, uint32_t rank, char *ret, size_t ret_bytes);

#endif
