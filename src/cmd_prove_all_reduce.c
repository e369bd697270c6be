/* SPDX-License-Identifier: MIT */
/* kiln prove all_reduce, also called as all_reduce_perf: nccl-tests' flags and nccl-tests' table. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fdio.h"
#include "base/own.h"
#include "cmd_prove.h"
#include "cmd_prove_ranks.h"
#include "prove/collective_json.h"
#include "prove/collective_table.h"

#define VERB "prove all_reduce"

struct all_reduce_args {
	struct ranks_args ranks;
	uint64_t min_bytes, max_bytes, step_bytes;
	int64_t step_factor, iterations, aggregate, warmup, checks, average, root, parallel_init;
	/* Flags of nccl-tests that only make sense on GPUs: see gpu_flags. */
	int64_t threads, gpus, cycles, blocking, null_stream, graph, cpu_time, timestamps, register_local, cta_policy,
		device_code;
	const char *op, *type, *algorithm, *output;
	bool json;
};

#define AT(field) offsetof(struct all_reduce_args, field)

/* What is refused, and why; `only` is the value that asks for nothing. */
static const struct {
	const char *flag;
	size_t offset;
	int64_t only;
	const char *why;
} gpu_flags[] = {
	{ "-t", AT(threads), 1, "a rank is a process here: start more with mpirun -np or --ranks" },
	{ "-g", AT(gpus), 1, "this runs in host memory, one rank per process: start more with mpirun -np or --ranks" },
	{ "-N", AT(cycles), 1, "one cycle is run; start it again for another" },
	{ "-z", AT(blocking), 0, "CUDA streams do not exist in host memory" },
	{ "-y", AT(null_stream), 0, "CUDA streams do not exist in host memory" },
	{ "-G", AT(graph), 0, "CUDA graphs need a GPU" },
	{ "-C", AT(cpu_time), 0, "in host memory all time is the processor's" },
	{ "-S", AT(timestamps), 0, "timestamps are not in the table; --json has them" },
	{ "-R", AT(register_local), 0, "buffers are always registered when the provider asks for it" },
	{ "-x", AT(cta_policy), 0, "CTAs exist on GPUs only" },
	{ "-D", AT(device_code), 0, "the device API exists on GPUs only" },
};

#define UNUSED_FLAG(name, letter, field, fallback)                                        \
	{                                                                                 \
		name, letter, OPT_INT, AT(field), "N", fallback,                          \
			"of nccl-tests; only " fallback " can be had without a GPU", NULL \
	}

static const struct opt opts[] = {
	{ "minbytes", 'b', OPT_BYTES, AT(min_bytes), "SIZE", "32M", "smallest size", NULL },
	{ "maxbytes", 'e', OPT_BYTES, AT(max_bytes), "SIZE", "32M", "largest size", NULL },
	{ "stepbytes", 'i', OPT_BYTES, AT(step_bytes), "SIZE", "1M", "added from one size to the next", NULL },
	{ "stepfactor", 'f', OPT_INT, AT(step_factor), "N", "1", "multiplied from one size to the next, when above 1",
	  NULL },
	{ "iters", 'n', OPT_INT, AT(iterations), "N", "20", "timed iterations", NULL },
	{ "agg_iters", 'm', OPT_INT, AT(aggregate), "N", "1", "operations per iteration", NULL },
	{ "warmup_iters", 'w', OPT_INT, AT(warmup), "N", "1", "iterations before timing", NULL },
	{ "check", 'c', OPT_INT, AT(checks), "N", "1",
	  "rounds in which every element of the result is checked; 0: none", NULL },
	{ "op", 'o', OPT_STR, AT(op), "OP", "sum", "sum, prod, max, min, avg or all", NULL },
	{ "datatype", 'd', OPT_STR, AT(type), "TYPE", "float",
	  "int8, uint8, int32, uint32, int64, uint64, half, float, double, bfloat16 or all", NULL },
	{ "root", 'r', OPT_INT, AT(root), "N", "0", "taken for nccl-tests' sake; an all-reduce has no root", NULL },
	{ "average", 'a', OPT_INT, AT(average), "N", "1", "times are: 0 rank 0's, 1 the mean, 2 the least, 3 the most",
	  NULL },
	{ "parallel_init", 'p', OPT_INT, AT(parallel_init), "N", "0", "taken for nccl-tests' sake; changes nothing",
	  NULL },
	{ "algorithm", 0, OPT_STR, AT(algorithm), "NAME", NULL, "ring or recursive_doubling, for every size", NULL },
	{ "output_file", 'J', OPT_STR, AT(output), "FILE", NULL,
	  "also write the JSON report to FILE (on rank 0's host)", "<file>" },
	{ "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print the JSON report instead of the table", NULL },
	RANKS_OPTIONS(AT(ranks), 'T'),
	UNUSED_FLAG("nthreads", 't', threads, "1"),
	UNUSED_FLAG("ngpus", 'g', gpus, "1"),
	UNUSED_FLAG("run_cycles", 'N', cycles, "1"),
	UNUSED_FLAG("blocking", 'z', blocking, "0"),
	UNUSED_FLAG("stream_null", 'y', null_stream, "0"),
	UNUSED_FLAG("cudagraph", 'G', graph, "0"),
	UNUSED_FLAG("report_cputime", 'C', cpu_time, "0"),
	UNUSED_FLAG("report_timestamps", 'S', timestamps, "0"),
	UNUSED_FLAG("local_register", 'R', register_local, "0"),
	UNUSED_FLAG("cta_policy", 'x', cta_policy, "0"),
	UNUSED_FLAG("device_implementation", 'D', device_code, "0"),
	{ 0 },
};

static int refuse_gpu_flags(const struct all_reduce_args *a, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(gpu_flags); i++) {
		int64_t value;
		memcpy(&value, (const char *)a + gpu_flags[i].offset, sizeof(value));
		if (value != gpu_flags[i].only)
			return err_input(e, "%s %lld cannot be had: %s", gpu_flags[i].flag, (long long)value,
					 gpu_flags[i].why);
	}
	return 0;
}

static int count(const char *flag, int64_t value, int64_t least, int64_t most, uint32_t *ret, struct err *e)
{
	if (value < least || value > most)
		return err_input(e, "%s %lld: expected %lld to %lld", flag, (long long)value, (long long)least,
				 (long long)most);
	*ret = (uint32_t)value;
	return 0;
}

static int choose_types(const struct all_reduce_args *a, struct collective_options *o, struct err *e)
{
	int rc;

	if (strcmp(a->type, "all") == 0) {
		for (const struct datatype *const *d = datatypes; *d; d++)
			o->types[o->type_count++] = *d;
	} else {
		rc = datatype_find(a->type, &o->types[0], e);
		if (rc < 0)
			return rc;
		o->type_count = 1;
	}
	if (strcmp(a->op, "all") == 0) {
		for (int i = 0; i < REDUCTION_COUNT; i++)
			o->ops[o->op_count++] = (enum reduction)i;
		return 0;
	}
	o->op_count = 1;
	return datatype_find_reduction(a->op, &o->ops[0], e);
}

static int to_options(const struct all_reduce_args *a, struct collective_options *ret, struct err *e)
{
	struct collective_options o = { .min_bytes = a->min_bytes,
					.max_bytes = a->max_bytes,
					.step_bytes = a->step_bytes,
					.step_factor = 1,
					.algorithm = a->algorithm };
	const struct algorithm_ops *unused;
	uint32_t average = 0, factor = 0;
	int rc = refuse_gpu_flags(a, e);

	if (rc == 0)
		rc = count("-f", a->step_factor, 0, 1000000, &factor, e);
	if (rc == 0)
		rc = count("-n", a->iterations, 1, 1000000, &o.iterations, e);
	if (rc == 0)
		rc = count("-m", a->aggregate, 1, 1000000, &o.aggregate, e);
	if (rc == 0)
		rc = count("-w", a->warmup, 0, 1000000, &o.warmup, e);
	if (rc == 0)
		rc = count("-c", a->checks, 0, 1000000, &o.checks, e);
	if (rc == 0)
		rc = count("-a", a->average, 0, 3, &average, e);
	if (rc == 0)
		rc = choose_types(a, &o, e);
	if (rc == 0 && a->algorithm) /* that there is such a one; whether it fits the ranks is told later */
		rc = algorithm_choose(a->algorithm, 1, 1, &unused, e);
	if (rc < 0)
		return rc;
	o.step_factor = factor > 1 ? factor : 1;
	o.average = (enum collective_average)average;
	*ret = o;
	return collective_check(&o, e);
}

static double least_busbw(void)
{
	const char *text = getenv("NCCL_TESTS_MIN_BW");
	return text ? strtod(text, NULL) : 0;
}

/* What the lines need while the work goes on. */
struct speaker {
	const struct team *team;
	const struct collective_options *options;
};

static void print_head(void *arg)
{
	const struct speaker *s = arg;
	AUTO_BUF text;

	buf_init(&text, 16 << 20);
	collective_table_head(&text, &collective_all_reduce, s->team, s->options);
	fputs(buf_text(&text), stdout);
	fflush(stdout);
}

static void print_row(void *arg, const struct collective_row *row)
{
	AUTO_BUF text;

	(void)arg;
	buf_init(&text, 4096);
	collective_table_row(&text, row);
	fputs(buf_text(&text), stdout);
	fflush(stdout); /* a slow size must not hide the ones before it */
}

static int report(struct team *t, const struct all_reduce_args *a, const struct collective_options *o,
		  const struct collective_result *r, struct err *e)
{
	AUTO_STRINGS words = cmd_prove_ranks_words();
	AUTO_JSON json = collective_json(&collective_all_reduce, t, o, r, least_busbw(), words);
	AUTO_BUF foot;

	buf_init(&foot, 4096);
	collective_table_foot(&foot, &collective_all_reduce, r, least_busbw());
	if (!a->json) /* first: it has been measured, whether or not the file can be written */
		fputs(buf_text(&foot), stdout);
	return cmd_prove_ranks_report(json, a->output, a->json, e);
}

static int work(struct team *t, const void *args, int *ret_status, struct err *e)
{
	const struct all_reduce_args *a = args;
	const bool speaks = t->ranks->rank == 0;
	AUTO(collective_result) r = NULL;
	struct collective_options o;
	struct speaker speaker = { .team = t, .options = &o };
	struct collective_listener listener = { .arg = &speaker };
	struct err mine = { 0 };
	int rc = to_options(a, &o, e);

	if (rc < 0)
		return rc;
	if (speaks && !a->json) {
		listener.on_start = print_head;
		listener.on_row = print_row;
	}
	rc = collective_run(&collective_all_reduce, t, &o, &listener, &r, e);
	if (rc < 0)
		return rc;
	if (speaks)
		report(t, a, &o, r, &mine);
	rc = rank_agree(t->ranks, &mine, e);
	if (rc < 0)
		return rc;
	if (r->wrong || (least_busbw() > 0 && !collective_table_is_fast(r, least_busbw())))
		*ret_status = EXIT_FINDING;
	return 0;
}

static int run(const void *args, char *const *operands)
{
	const struct ranks_work what = { .verb = VERB, .run = work };
	const struct all_reduce_args *a = args;
	struct collective_options unused;
	struct err e = { 0 };

	(void)operands;
	/* Mistakes are told before any rank is started, and once. */
	if (to_options(a, &unused, &e) < 0)
		return rank_is_first() ? opt_fail(VERB, &e) : (int)err_exit_code(&e);
	return cmd_prove_ranks_run(&what, &a->ranks, a);
}

const struct verb cmd_prove_all_reduce = {
	.name = "all_reduce",
	.help = "nccl-tests' all_reduce_perf over libfabric in host memory: every element checked, every size timed",
	.opts = opts,
	.args_size = sizeof(struct all_reduce_args),
	.run = run,
	.details = "Ranks come from mpirun or srun (PMIx), from RANK, WORLD_SIZE and MASTER_ADDR (torchrun), from "
		   "--hosts,\n"
		   "or, alone, two processes on this machine.\n"
		   "Exit status: 0 all right, 1 wrong elements (or NCCL_TESTS_MIN_BW missed), 2 usage, 3 no such "
		   "provider.\n",
};
