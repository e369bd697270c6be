/* SPDX-License-Identifier: MIT */
#include "prove/collective_json.h"

#include <string.h>
#include <time.h>

#include "prove/collective_table.h"

extern char **environ;

static json_t *time_text(int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	char text[32];
	struct tm tm;

	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
	return json_string(text);
}

static json_t *arguments(char *const *argv)
{
	json_t *list = json_array();

	for (; argv && *argv; argv++)
		json_array_append_new(list, json_string(*argv));
	return list;
}

static json_t *environment(void)
{
	static const char *const kept[] = { "FI_", "NCCL_", "OMPI_MCA_" };
	json_t *list = json_array();

	for (char **v = environ; v && *v; v++)
		for (size_t i = 0; i < COUNT_OF(kept); i++)
			if (strncmp(*v, kept[i], strlen(kept[i])) == 0)
				json_array_append_new(list, json_string(*v));
	return list;
}

static json_t *devices(const struct team *t)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < t->ranks->size; i++)
		json_array_append_new(list, json_pack("{s:i, s:i, s:i, s:s, s:i, s:s, s:s}", "rank", (int)i, "group", 0,
						      "pid", (int)t->ranks->members[i].pid, "hostname",
						      t->ranks->members[i].host, "device", 0, "device_hex", "host",
						      "device_info", t->provider->name));
	return list;
}

static json_t *ranks(const struct team *t)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < t->ranks->size; i++)
		json_array_append_new(list, json_pack("{s:i, s:s, s:s}", "rank", (int)i, "host",
						      t->ranks->members[i].host, "address", t->addresses[i]));
	return list;
}

static json_t *config(const struct team *t, const struct collective_options *o)
{
	const bool by_factor = o->step_factor >= 2;

	/* Truth values are words, as nccl-tests writes them. */
	return json_pack("{s:i, s:i, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:o}", "nthreads", 1,
			 "ngpus", 0, "minimum_bytes", (json_int_t)o->min_bytes, "maximum_bytes",
			 (json_int_t)o->max_bytes, by_factor ? "step_factor" : "step_bytes",
			 (json_int_t)(by_factor ? o->step_factor : o->step_bytes), "warmup_iters", (int)o->warmup,
			 "iterations", (int)o->iterations, "aggregated_iterations", (int)o->aggregate, "validation",
			 (int)o->checks, "graph", 0, "blocking_collectives", "false", "per_iter_timing", "true",
			 "parallel_init", "false", "devices", devices(t));
}

static json_t *half(const struct collective_half *h)
{
	json_t *nwrong = h->wrong < 0 ? json_null() : json_integer(h->wrong);
	return json_pack("{s:f, s:f, s:f, s:o}", "time", h->time_us, "alg_bw", h->algbw_gb_s, "bus_bw", h->busbw_gb_s,
			 "nwrong", nwrong);
}

static json_t *per_iteration(const struct collective_half *h)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "min_us", h->min_us, "max_us", h->max_us, "avg_us",
			 h->mean_us, "p50_us", h->p50_us, "p95_us", h->p95_us, "p99_us", h->p99_us, "stdev_us",
			 h->stdev_us, "cv_pct", h->mean_us > 0 ? 100 * h->stdev_us / h->mean_us : 0.0);
}

static json_t *results(const struct collective_ops *ops, const struct collective_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->count; i++) {
		const struct collective_row *row = &r->rows[i];
		json_array_append_new(
			list, json_pack("{s:I, s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:s, s:s}", "size",
					(json_int_t)row->bytes, "count", (json_int_t)row->count, "type",
					row->type->name, "redop", datatype_reduction_name(row->op), "root", "    -1",
					"out_of_place", half(&row->out_of_place), "in_place", half(&row->in_place),
					"out_of_place_per_iter", per_iteration(&row->out_of_place), "in_place_per_iter",
					per_iteration(&row->in_place), "actual_iterations", (int)row->iterations,
					"experiment_name", ops->name, "algorithm", row->algorithm));
	}
	return list;
}

json_t *collective_json(const struct collective_ops *ops, const struct team *t, const struct collective_options *o,
			const struct collective_result *r, double least_busbw, char *const *argv)
{
	const bool is_fast = collective_table_is_fast(r, least_busbw);
	const struct libfabric *lib = t->provider->lib;
	char name[64], library[64];
	double load[3] = { 0 };
	json_t *bandwidth;

	getloadavg(load, 3);
	snprintf(name, sizeof(name), "prove %s", ops->name);
	snprintf(library, sizeof(library), "libfabric %u.%u", FI_MAJOR(lib->library_version),
		 FI_MINOR(lib->library_version));
	bandwidth = least_busbw > 0 ? json_string(is_fast ? "true" : "false") : json_string("unchecked");
	return json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:i, s:o, s:o, "
			 "s:{s:I, s:s}, s:{s:f, s:o}, s:[], s:o, s:[f, f, f], s:s}",
			 "kiln", name, "version", 1, "nccl_tests_version", 3, "provider", t->provider->name, "fabric",
			 t->provider->info->fabric_attr->name, "domain", t->provider->info->domain_attr->name,
			 "library", library, "memory", "host", "rdma", (int)t->provider->is_rdma, "ranks", ranks(t),
			 "start_time", time_text(r->start_ns), "args", arguments(argv), "env", environment(),
			 "nccl_version", 0, "config", config(t, o), "results", results(ops, r), "out_of_bounds",
			 "count", (json_int_t)r->wrong, "okay", r->wrong ? "false" : "true", "average_bus_bandwidth",
			 "bandwidth", r->mean_busbw, "okay", bandwidth, "errors", "end_time", time_text(r->end_ns),
			 "load_average", load[0], load[1], load[2], "verdict",
			 r->wrong || (least_busbw > 0 && !is_fast) ? "fail" : "pass");
}
