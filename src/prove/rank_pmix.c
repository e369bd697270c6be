/* SPDX-License-Identifier: MIT */
/*
 * Under mpirun or srun --mpi=pmix: the launcher's PMIx server carries the exchanges. libpmix is opened at run time.
 * Its header's convenience macros call symbols of the library, so the structures are filled by hand.
 */
#include <errno.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/dynlib.h"
#include "prove/rank.h"

static struct {
	void *handle;
	pmix_status_t (*init)(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo);
	pmix_status_t (*finalize)(const pmix_info_t info[], size_t ninfo);
	pmix_status_t (*abort)(int status, const char msg[], pmix_proc_t procs[], size_t nprocs);
	pmix_status_t (*put)(pmix_scope_t scope, const char key[], pmix_value_t *val);
	pmix_status_t (*commit)(void);
	pmix_status_t (*fence_nb)(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
				  pmix_op_cbfunc_t cbfunc, void *cbdata);
	pmix_status_t (*get)(const pmix_proc_t *proc, const char key[], const pmix_info_t info[], size_t ninfo,
			     pmix_value_t **val);
	const char *(*error_string)(pmix_status_t status);
} pmix;

struct rank_pmix_state {
	pmix_proc_t self;
	unsigned sequence;
	bool is_open;
	bool is_abandoned;
};

/* Set by PMIx's own thread when a fence ends; static, since a fence that we stopped waiting for may still end. */
static atomic_uint fences_ended;
static atomic_int fence_status;

static bool is_present(void)
{
	return getenv("PMIX_NAMESPACE") != NULL;
}

static int load(struct err *e)
{
	static const char *const sonames[] = { "libpmix.so.2", NULL };
	const struct dynlib_symbol symbols[] = {
		{ "PMIx_Init", (void **)&pmix.init, true },
		{ "PMIx_Finalize", (void **)&pmix.finalize, true },
		{ "PMIx_Abort", (void **)&pmix.abort, true },
		{ "PMIx_Put", (void **)&pmix.put, true },
		{ "PMIx_Commit", (void **)&pmix.commit, true },
		{ "PMIx_Fence_nb", (void **)&pmix.fence_nb, true },
		{ "PMIx_Get", (void **)&pmix.get, true },
		{ "PMIx_Error_string", (void **)&pmix.error_string, true },
	};

	if (pmix.handle)
		return 0;
	return dynlib_open(sonames, symbols, COUNT_OF(symbols),
			   "mpirun or srun started this rank by PMIx: install libpmix2, or set LD_LIBRARY_PATH to the "
			   "launcher's",
			   &pmix.handle, e);
}

static int failed(struct err *e, pmix_status_t status, const char *what)
{
	return err_native(e, status == PMIX_ERR_TIMEOUT ? -ETIMEDOUT : -EIO, ERR_PMIX, status, "PMIx: %s: %s (%d)",
			  what, pmix.error_string(status), status);
}

/* Gives a value that another rank (or PMIX_RANK_WILDCARD) put. */
static int get(struct rank_set *set, pmix_rank_t rank, const char *key, pmix_value_t **ret, struct err *e)
{
	struct rank_pmix_state *s = set->state;
	pmix_proc_t from = s->self;
	pmix_info_t limit = { .key = PMIX_TIMEOUT };
	pmix_status_t status;

	from.rank = rank;
	limit.value.type = PMIX_INT;
	limit.value.data.integer = (int)(set->options.timeout_ms / 1000 + 1);
	status = pmix.get(&from, key, &limit, 1, ret);
	return status == PMIX_SUCCESS ? 0 : failed(e, status, key);
}

static int open_set(struct rank_set *set, struct err *e)
{
	struct rank_pmix_state *s = set->state;
	pmix_value_t *size;
	pmix_status_t status;
	int rc = load(e);

	if (rc < 0)
		return rc;
	status = pmix.init(&s->self, NULL, 0);
	if (status != PMIX_SUCCESS)
		return failed(e, status, "reach the launcher (is PMIX_NAMESPACE left over from another job?)");
	s->is_open = true;
	set->rank = s->self.rank;
	rc = get(set, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &size, e);
	if (rc < 0)
		return rc;
	set->size = size->data.uint32;
	free(size);
	return 0;
}

static void fence_ended(pmix_status_t status, void *arg)
{
	(void)arg;
	atomic_store(&fence_status, status);
	atomic_fetch_add(&fences_ended, 1);
}

static int fence(struct rank_set *set, struct err *e)
{
	const int64_t deadline = clock_mono_ns() + (int64_t)set->options.timeout_ms * 1000000;
	const struct timespec pause = { .tv_nsec = 50000 };
	pmix_info_t collect = { .key = PMIX_COLLECT_DATA };
	unsigned before = atomic_load(&fences_ended);
	pmix_status_t status;

	collect.value.type = PMIX_BOOL;
	collect.value.data.flag = true;
	status = pmix.fence_nb(NULL, 0, &collect, 1, fence_ended, NULL);
	if (status == PMIX_OPERATION_SUCCEEDED)
		return 0;
	if (status != PMIX_SUCCESS)
		return failed(e, status, "fence");
	while (atomic_load(&fences_ended) == before) {
		if (clock_mono_ns() > deadline)
			return err_set(e, -ETIMEDOUT, "not all of the %u ranks came to the exchange within %u ms",
				       set->size, set->options.timeout_ms);
		nanosleep(&pause, NULL);
	}
	status = atomic_load(&fence_status);
	return status == PMIX_SUCCESS ? 0 : failed(e, status, "fence");
}

static int exchange(struct rank_set *set, const void *mine, size_t n, void *ret, struct err *e)
{
	struct rank_pmix_state *s = set->state;
	pmix_value_t value = { .type = PMIX_BYTE_OBJECT };
	char key[32];
	char *to = ret;
	pmix_status_t status;
	int rc;

	snprintf(key, sizeof(key), "kiln.%u", s->sequence++);
	value.data.bo.bytes = (char *)(uintptr_t)mine;
	value.data.bo.size = n;
	status = pmix.put(PMIX_GLOBAL, key, &value);
	if (status == PMIX_SUCCESS)
		status = pmix.commit();
	if (status != PMIX_SUCCESS)
		return failed(e, status, "give to the exchange");
	rc = fence(set, e);
	for (uint32_t i = 0; i < set->size && rc == 0; i++) {
		pmix_value_t *got;
		if (i == set->rank) {
			memcpy(to + i * n, mine, n);
			continue;
		}
		rc = get(set, i, key, &got, e);
		if (rc < 0)
			return rc;
		if (got->type != PMIX_BYTE_OBJECT || got->data.bo.size != n)
			rc = err_set(e, -EPROTO, "rank %u is at another step than we are: do all run the same command?",
				     i);
		else
			memcpy(to + i * n, got->data.bo.bytes, n);
		if (got->type == PMIX_BYTE_OBJECT)
			free(got->data.bo.bytes);
		free(got);
	}
	return rc;
}

/* The launcher ends all ranks when one dies. */
static int alive(struct rank_set *set, struct err *e)
{
	(void)set;
	(void)e;
	return 0;
}

static void abandon(struct rank_set *set, int exit_status, const char *message)
{
	struct rank_pmix_state *s = set->state;

	/* The message is printed by the rank itself, before it calls rank_free. */
	(void)exit_status;
	(void)message;
	s->is_abandoned = true;
}

/* A rank that ends without PMIx_Finalize makes the launcher end the others: the way out when they may wait for us. */
static void close_set(struct rank_set *set)
{
	struct rank_pmix_state *s = set->state;

	if (s->is_open && !s->is_abandoned)
		pmix.finalize(NULL, 0);
}

const struct rank_ops rank_pmix = {
	.name = "pmix",
	.state_size = sizeof(struct rank_pmix_state),
	.is_present = is_present,
	.open = open_set,
	.exchange = exchange,
	.alive = alive,
	.abandon = abandon,
	.close = close_set,
	.carries_messages = false,
};
