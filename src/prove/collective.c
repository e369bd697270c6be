/* SPDX-License-Identifier: MIT */
#include "prove/collective.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "prove/buffer.h"
#include "prove/statistics.h"

/* One run's working set. */
struct bench {
	const struct collective_ops *ops;
	struct team *team;
	const struct collective_options *options;
	const struct algorithm_ops *algorithm;
	const struct datatype *type;
	enum reduction op;
	size_t count;
	struct buffer in, out, scratch;
	double *times_us; /* one per iteration */
	uint64_t seed;
};

/* What the ranks tell one another of a measured half. */
struct measured {
	double time_us;
	int64_t wrong;
};

static void bench_fini(struct bench *b)
{
	buffer_fini(&b->in);
	buffer_fini(&b->out);
	buffer_fini(&b->scratch);
	free(b->times_us);
}

int collective_check(const struct collective_options *o, struct err *e)
{
	if (o->min_bytes > o->max_bytes)
		return err_input(e, "the smallest size (-b %llu) is above the largest (-e %llu)",
				 (unsigned long long)o->min_bytes, (unsigned long long)o->max_bytes);
	if (o->max_bytes == 0)
		return err_input(e, "the largest size (-e) is 0 bytes");
	if (o->step_factor < 2 && o->step_bytes == 0)
		return err_input(e, "sizes need a step: -f 2 or more, or -i above 0");
	if (o->iterations == 0 || o->aggregate == 0)
		return err_input(e, "-n and -m must be at least 1");
	return 0;
}

/* Three buffers per rank, for all ranks on this machine: told before the kernel kills something for it. */
static int check_memory(const struct rank_set *ranks, uint64_t each, struct err *e)
{
	AUTO_STR text = NULL;
	unsigned long long available_kib = 0;
	const char *line;

	if (fdio_read_file(AT_FDCWD, "/proc/meminfo", 65536, &text, NULL, NULL) < 0)
		return 0;
	line = strstr(text, "MemAvailable:");
	if (!line || sscanf(line, "MemAvailable: %llu", &available_kib) != 1)
		return 0;
	if (each / 1024 < available_kib / ranks->local_size)
		return 0;
	return err_set(e, -ENOMEM, "%s: %u ranks need %llu MiB each, but only %llu MiB are free; choose a smaller -e",
		       ranks->members[ranks->rank].host, ranks->local_size, (unsigned long long)each >> 20,
		       available_kib >> 10);
}

static int bench_init(struct bench *b, struct err *e)
{
	const uint64_t most = b->options->max_bytes;
	const size_t scratch = algorithm_scratch_bytes(b->team->ranks->size, most);
	int rc = algorithm_choose(b->options->algorithm, b->team->ranks->size, most, &b->algorithm, e);

	if (rc == 0)
		rc = check_memory(b->team->ranks, 2 * most + scratch, e);
	if (rc == 0)
		rc = buffer_init(&b->in, b->team->endpoint, most, e);
	if (rc == 0)
		rc = buffer_init(&b->out, b->team->endpoint, most, e);
	if (rc == 0)
		rc = buffer_init(&b->scratch, b->team->endpoint, scratch, e);
	if (rc < 0)
		return rc;
	b->times_us = calloc(b->options->iterations, sizeof(*b->times_us));
	return b->times_us ? 0 : err_set(e, -ENOMEM, "%u iterations", b->options->iterations);
}

static int run_once(struct bench *b, bool in_place, struct err *e)
{
	const struct algorithm_job job = {
		.team = b->team,
		.type = b->type,
		.op = b->op,
		.in = in_place ? b->out.data : b->in.data,
		.out = b->out.data,
		.count = b->count,
		.scratch = b->scratch.data,
	};
	return b->ops->run(b->algorithm, &job, e);
}

/* Fresh data, one run, every element looked at. */
static int check_half(struct bench *b, bool in_place, int64_t *ret_wrong, struct err *e)
{
	const uint32_t rank = b->team->ranks->rank;
	size_t first = 0;
	int64_t wrong = 0;
	int rc = 0;

	for (uint32_t i = 0; i < b->options->checks && rc == 0; i++) {
		const struct pattern p = { .seed = ++b->seed, .ranks = b->team->ranks->size, .op = b->op };
		b->ops->prepare(b->type, in_place ? b->out.data : b->in.data, b->count, &p, rank);
		if (!in_place) /* what is not written must not look right */
			memset(b->out.data, 0xa5, b->count * b->type->bytes);
		rc = run_once(b, in_place, e);
		if (rc == 0)
			wrong += (int64_t)b->ops->verify(b->type, b->out.data, b->count, &p, &first);
	}
	*ret_wrong = b->options->checks ? wrong : -1;
	return rc;
}

static int time_half(struct bench *b, bool in_place, double *ret_us, struct err *e)
{
	const struct collective_options *o = b->options;
	const struct pattern p = { .seed = ++b->seed, .ranks = b->team->ranks->size, .op = b->op };
	int64_t start, last, now;
	int rc = 0;

	b->ops->prepare(b->type, in_place ? b->out.data : b->in.data, b->count, &p, b->team->ranks->rank);
	for (uint32_t i = 0; i < o->warmup && rc == 0; i++)
		rc = run_once(b, in_place, e);
	if (rc == 0)
		rc = team_barrier(b->team, e);
	start = last = clock_mono_ns();
	for (uint32_t i = 0; i < o->iterations && rc == 0; i++) {
		for (uint32_t j = 0; j < o->aggregate && rc == 0; j++)
			rc = run_once(b, in_place, e);
		now = clock_mono_ns();
		b->times_us[i] = (double)(now - last) / 1e3 / o->aggregate;
		last = now;
	}
	*ret_us = (double)(last - start) / 1e3 / o->iterations / o->aggregate;
	return rc;
}

static double over_ranks(enum collective_average how, const struct measured *all, uint32_t ranks)
{
	double sum = 0, min = all[0].time_us, max = all[0].time_us;

	for (uint32_t i = 0; i < ranks; i++) {
		sum += all[i].time_us;
		min = all[i].time_us < min ? all[i].time_us : min;
		max = all[i].time_us > max ? all[i].time_us : max;
	}
	switch (how) {
	case AVERAGE_RANK0:
		return all[0].time_us;
	case AVERAGE_MIN:
		return min;
	case AVERAGE_MAX:
		return max;
	case AVERAGE_MEAN:
		break;
	}
	return sum / ranks;
}

static int measure_half(struct bench *b, bool in_place, struct collective_half *ret, struct err *e)
{
	const uint32_t n = b->team->ranks->size;
	__attribute__((cleanup(own_free))) struct measured *all = calloc(n, sizeof(*all));
	struct measured mine = { 0 };
	struct statistics s;
	int rc;

	if (!all)
		return err_set(e, -ENOMEM, "times of %u ranks", n);
	rc = time_half(b, in_place, &mine.time_us, e);
	if (rc == 0)
		rc = check_half(b, in_place, &mine.wrong, e);
	if (rc == 0)
		rc = rank_exchange(b->team->ranks, &mine, sizeof(mine), all, e);
	if (rc < 0)
		return rc;
	statistics_of(b->times_us, b->options->iterations, &s);
	*ret = (struct collective_half){ .time_us = over_ranks(b->options->average, all, n),
					 .min_us = s.min,
					 .mean_us = s.mean,
					 .p50_us = s.p50,
					 .p95_us = s.p95,
					 .p99_us = s.p99,
					 .max_us = s.max,
					 .stdev_us = s.stdev };
	for (uint32_t i = 0; i < n; i++)
		ret->wrong = all[i].wrong < 0 ? -1 : ret->wrong + all[i].wrong;
	ret->algbw_gb_s = (double)(b->count * b->type->bytes) / ret->time_us / 1e3;
	ret->busbw_gb_s = ret->algbw_gb_s * b->ops->bus_factor(n);
	return 0;
}

static int measure_row(struct bench *b, uint64_t bytes, struct collective_row *ret, struct err *e)
{
	const uint32_t n = b->team->ranks->size;
	int rc;

	b->count = bytes / b->type->bytes;
	bytes = b->count * b->type->bytes;
	rc = algorithm_choose(b->options->algorithm, n, bytes, &b->algorithm, e);
	if (rc < 0)
		return rc;
	*ret = (struct collective_row){ .bytes = bytes,
					.count = b->count,
					.type = b->type,
					.op = b->op,
					.algorithm = b->algorithm->name,
					.iterations = b->options->iterations };
	rc = measure_half(b, false, &ret->out_of_place, e);
	if (rc == 0)
		rc = measure_half(b, true, &ret->in_place, e);
	return rc < 0 ? err_wrap(e, "%s of %llu bytes", b->ops->name, (unsigned long long)bytes) : 0;
}

static int add_row(struct collective_result *r, const struct collective_row *row)
{
	struct collective_row *rows = r->rows;

	if ((r->count & (r->count - 1)) == 0) {
		rows = reallocarray(r->rows, r->count ? 2 * r->count : 1, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		r->rows = rows;
	}
	rows[r->count++] = *row;
	r->wrong += row->out_of_place.wrong > 0 ? (uint64_t)row->out_of_place.wrong : 0;
	r->wrong += row->in_place.wrong > 0 ? (uint64_t)row->in_place.wrong : 0;
	r->mean_busbw += row->out_of_place.busbw_gb_s + row->in_place.busbw_gb_s;
	return 0;
}

static int measure_sizes(struct bench *b, struct collective_result *r, const struct collective_listener *listener,
			 struct err *e)
{
	const struct collective_options *o = b->options;
	uint64_t bytes = o->min_bytes;
	struct collective_row row;

	while (bytes <= o->max_bytes) {
		uint64_t step = o->step_factor >= 2 ? bytes * (o->step_factor - 1) : o->step_bytes;
		if (bytes >= b->type->bytes) {
			int rc = measure_row(b, bytes, &row, e);
			if (rc < 0)
				return rc;
			if (add_row(r, &row) < 0)
				return err_set(e, -ENOMEM, "%zu results", r->count);
			if (listener->on_row)
				listener->on_row(listener->arg, &row);
		}
		bytes += step ? step : 1;
	}
	return 0;
}

int collective_run(const struct collective_ops *ops, struct team *t, const struct collective_options *options,
		   const struct collective_listener *listener, struct collective_result **ret, struct err *e)
{
	__attribute__((cleanup(bench_fini))) struct bench b = { .ops = ops, .team = t, .options = options };
	AUTO(collective_result) r = calloc(1, sizeof(*r));
	struct err mine = { 0 };
	int rc;

	if (!r)
		return err_set(e, -ENOMEM, "results");
	r->start_ns = clock_wall_ns();
	if (collective_check(options, &mine) == 0)
		bench_init(&b, &mine);
	rc = rank_agree(t->ranks, &mine, e);
	if (rc == 0 && listener->on_start)
		listener->on_start(listener->arg);
	for (uint32_t i = 0; i < options->type_count && rc == 0; i++)
		for (uint32_t j = 0; j < options->op_count && rc == 0; j++) {
			b.type = options->types[i];
			b.op = options->ops[j];
			rc = measure_sizes(&b, r, listener, e);
		}
	if (rc < 0)
		return rc;
	if (r->count == 0)
		return err_input(e, "no size from -b %llu to -e %llu holds an element",
				 (unsigned long long)options->min_bytes, (unsigned long long)options->max_bytes);
	r->mean_busbw /= (double)(2 * r->count);
	r->end_ns = clock_wall_ns();
	*ret = steal(r);
	return 0;
}

void collective_result_free(struct collective_result *r)
{
	if (!r)
		return;
	free(r->rows);
	free(r);
}
