/* SPDX-License-Identifier: MIT */
#include "prove/collective_table.h"

#include <stdio.h>

/* A number in `width` places with as many decimals (two at most) as fit; text has room for 32. */
static const char *fit(double value, int width, char *text)
{
	int digits = 0;

	for (double power = 1; value >= power && digits < 20; power *= 10)
		digits++;
	if (digits < width - 2)
		snprintf(text, 32, "%*.2f", width, value);
	else if (digits < width - 1)
		snprintf(text, 32, "%*.1f", width, value);
	else if (digits <= width)
		snprintf(text, 32, "%*.0f", width, value);
	else
		snprintf(text, 32, width >= 7 ? "%*.1e" : "%*.0e", width, value);
	return text;
}

void collective_table_head(struct buf *to, const struct collective_ops *ops, const struct team *t,
			   const struct collective_options *o)
{
	const struct libfabric *lib = t->provider->lib;
	const bool by_factor = o->step_factor >= 2;

	buf_printf(to, "# kiln %s version %s libfabric=%u.%u provider=%s domain=%s memory=host\n", ops->program,
		   KILN_VERSION, FI_MAJOR(lib->library_version), FI_MINOR(lib->library_version), t->provider->name,
		   t->provider->info->domain_attr->name);
	buf_printf(to, "# Collective test starting: %s\n", ops->program);
	buf_printf(to,
		   "# nThread 1 nGpus 0 minBytes %llu maxBytes %llu step: %llu(%s) warmup iters: %u iters: %u "
		   "agg iters: %u validation: %u graph: 0\n",
		   (unsigned long long)o->min_bytes, (unsigned long long)o->max_bytes,
		   (unsigned long long)(by_factor ? o->step_factor : o->step_bytes), by_factor ? "factor" : "bytes",
		   o->warmup, o->iterations, o->aggregate, o->checks);
	buf_str(to, "#\n# Using devices\n");
	for (uint32_t i = 0; i < t->ranks->size; i++)
		buf_printf(to, "#  Rank %2u Group  0 Pid %6d on %10s device %2u [host] %s %s\n", i,
			   t->ranks->members[i].pid, t->ranks->members[i].host, 0u, t->provider->name, t->addresses[i]);
	buf_str(to, "#\n");
	buf_printf(to, "# %10s  %12s  %8s  %6s  %6s           out-of-place                       in-place          \n",
		   "", "", "", "", "");
	buf_printf(to, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s \n", "size", "count",
		   "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
	buf_printf(to, "# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %6s  %7s  %6s  %6s  %6s \n", "(B)", "(elements)",
		   "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
}

static void half(struct buf *to, const struct collective_half *h)
{
	char time[32], algbw[32], busbw[32];

	buf_printf(to, "  %7s  %6s  %6s", fit(h->time_us, 7, time), fit(h->algbw_gb_s, 6, algbw),
		   fit(h->busbw_gb_s, 6, busbw));
	if (h->wrong < 0)
		buf_str(to, "    N/A");
	else
		buf_printf(to, "  %6g", (double)h->wrong);
}

void collective_table_row(struct buf *to, const struct collective_row *row)
{
	buf_printf(to, "%12llu  %12llu  %8s  %6s  %6d", (unsigned long long)row->bytes, (unsigned long long)row->count,
		   row->type->name, datatype_reduction_name(row->op), -1);
	half(to, &row->out_of_place);
	half(to, &row->in_place);
	buf_str(to, "\n");
}

bool collective_table_is_fast(const struct collective_result *r, double least_busbw)
{
	return r->mean_busbw >= 0.9 * least_busbw;
}

void collective_table_foot(struct buf *to, const struct collective_ops *ops, const struct collective_result *r,
			   double least_busbw)
{
	buf_printf(to, "# Out of bounds values : %llu %s\n", (unsigned long long)r->wrong, r->wrong ? "FAILED" : "OK");
	buf_printf(to, "# Avg bus bandwidth    : %g %s\n", r->mean_busbw,
		   least_busbw <= 0                           ? ""
		   : collective_table_is_fast(r, least_busbw) ? "OK"
							      : "FAILED");
	buf_printf(to, "#\n# Collective test concluded: %s\n#\n", ops->program);
}
