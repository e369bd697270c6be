/* SPDX-License-Identifier: MIT */
/*
 * Collectives in host memory over libfabric, measured and checked as nccl-tests does. A collective is a row; its
 * bus-bandwidth factor stands beside it.
 */
#ifndef KILN_PROVE_COLLECTIVE_H
#define KILN_PROVE_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prove/algorithm.h"

struct collective_ops {
	const char *name;    /* "all_reduce" */
	const char *program; /* nccl-tests' name of it: "all_reduce_perf" */
	/* Bus bandwidth over algorithm bandwidth: what each link must carry.
	 * https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md */
	double (*bus_factor)(uint32_t ranks);
	/* Fills this rank's input. */
	void (*prepare)(const struct datatype *type, void *in, size_t count, const struct pattern *p, uint32_t rank);
	/* Collective. */
	int (*run)(const struct algorithm_ops *algorithm, const struct algorithm_job *job, struct err *e);
	/* How many elements of this rank's result are wrong. */
	uint64_t (*verify)(const struct datatype *type, const void *out, size_t count, const struct pattern *p,
			   size_t *ret_first);
};

extern const struct collective_ops collective_all_reduce;

#define COLLECTIVE_TYPES_MAX 16

/* nccl-tests' -a. */
enum collective_average { AVERAGE_RANK0, AVERAGE_MEAN, AVERAGE_MIN, AVERAGE_MAX };

struct collective_options {
	uint64_t min_bytes, max_bytes;
	uint64_t step_bytes; /* added from size to size, when step_factor is below 2 */
	uint64_t step_factor;
	uint32_t iterations;
	uint32_t warmup;
	uint32_t aggregate; /* operations per iteration */
	uint32_t checks;    /* rounds that are checked, each with data of its own; 0: none */
	enum collective_average average;
	const char *algorithm; /* NULL: the best for each size */
	const struct datatype *types[COLLECTIVE_TYPES_MAX];
	uint32_t type_count;
	enum reduction ops[REDUCTION_COUNT];
	uint32_t op_count;
};

/* Out-of-place or in-place. */
struct collective_half {
	double time_us;    /* of one operation, over the ranks as options.average says */
	double algbw_gb_s; /* bytes / time, 10^9 bytes */
	double busbw_gb_s;
	int64_t wrong; /* elements, over all ranks; -1: not checked */
	/* Of the single iterations on rank 0. */
	double min_us, mean_us, p50_us, p95_us, p99_us, max_us, stdev_us;
};

struct collective_row {
	uint64_t bytes, count;
	const struct datatype *type;
	enum reduction op;
	const char *algorithm;
	uint32_t iterations;
	struct collective_half out_of_place, in_place;
};

struct collective_result {
	struct collective_row *rows;
	size_t count;
	uint64_t wrong;           /* elements, over all */
	double mean_busbw;        /* over all cells of both halves */
	int64_t start_ns, end_ns; /* wall clock */
};

/* Called on every rank; any may be NULL. */
struct collective_listener {
	void (*on_start)(void *arg); /* all that can be refused is behind us */
	void (*on_row)(void *arg, const struct collective_row *row);
	void *arg;
};

/* ERR_INPUT for options that make no sense, whatever the ranks. */
int collective_check(const struct collective_options *o, struct err *e);
/* Collective: every rank gets the same rows. A wrong element is no error; it is counted. Errors: collective_check's;
 * -ENOMEM when the buffers do not fit into memory; request's and the rank set's. */
int collective_run(const struct collective_ops *ops, struct team *t, const struct collective_options *options,
		   const struct collective_listener *listener, struct collective_result **ret, struct err *e);
void collective_result_free(struct collective_result *r);
AUTO_DEFINE(collective_result)

#endif
