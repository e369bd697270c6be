/* SPDX-License-Identifier: MIT */
#include "prove/collective.h"

/* Each rank's data crosses its link once to be reduced and once to be handed out, but for its own share. */
static double bus_factor(uint32_t ranks)
{
	return 2.0 * (ranks - 1) / ranks;
}

static void prepare(const struct datatype *type, void *in, size_t count, const struct pattern *p, uint32_t rank)
{
	type->fill(in, count, p, rank);
}

static int run(const struct algorithm_ops *algorithm, const struct algorithm_job *job, struct err *e)
{
	return algorithm->run(job, e);
}

static uint64_t verify(const struct datatype *type, const void *out, size_t count, const struct pattern *p,
		       size_t *ret_first)
{
	return type->verify(out, count, p, ret_first);
}

const struct collective_ops collective_all_reduce = {
	.name = "all_reduce",
	.program = "all_reduce_perf",
	.bus_factor = bus_factor,
	.prepare = prepare,
	.run = run,
	.verify = verify,
};
