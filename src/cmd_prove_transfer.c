/* SPDX-License-Identifier: MIT */
/* kiln prove transfer, also called as nccl_message_transfer: messages between two nodes, every byte checked. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/table.h"
#include "cmd_prove.h"
#include "cmd_prove_ranks.h"
#include "prove/transfer.h"

#define VERB "prove transfer"

struct transfer_args {
	struct ranks_args ranks;
	int64_t messages, iterations;
	uint64_t message_bytes, min_bytes, max_bytes;
	const char *output;
	bool json;
};

#define AT(field) offsetof(struct transfer_args, field)

static const struct opt opts[] = {
	{ "messages", 0, OPT_INT, AT(messages), "N", "255", "messages that are sent and checked, each way", NULL },
	{ "message-bytes", 0, OPT_BYTES, AT(message_bytes), "SIZE", "5000", "the size of each of them", NULL },
	{ "min", 0, OPT_BYTES, AT(min_bytes), "SIZE", "8", "smallest size that is timed", NULL },
	{ "max", 0, OPT_BYTES, AT(max_bytes), "SIZE", "4M", "largest size that is timed", NULL },
	{ "iters", 0, OPT_INT, AT(iterations), "N", "1000", "round trips per size; fewer for large ones", NULL },
	RANKS_OPTIONS(AT(ranks), 0),
	{ "output_file", 'J', OPT_STR, AT(output), "FILE", NULL,
	  "also write the result as JSON to FILE (on rank 0's host)", "<file>" },
	{ "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print the result as one JSON object", NULL },
	{ 0 },
};

/* What the lines need while the work goes on. */
struct speaker {
	const struct team *team;
	const struct transfer_options *options;
};

/* The lines of the plugins' own message-transfer test, which scripts look for. */
static void print_burst(void *arg, const struct transfer_burst *b)
{
	const struct speaker *s = arg;
	const uint32_t asked = s->options->messages;

	printf("Sent %u requests to rank %u\n", asked, b->to);
	printf("Rank %u posting %u receive buffers\n", b->to, asked);
	if (b->bad)
		printf("Rank %u got %u wrong messages of %u from rank %u; the first is message %u: byte %llu is "
		       "0x%02x, not "
		       "0x%02x\n",
		       b->to, b->bad, asked, b->from, b->first_bad, (unsigned long long)b->bad_offset, b->got, b->want);
	else
		printf("Got completions for %u requests for rank %u\n", b->received, b->to);
	fflush(stdout);
}

static void print_size(void *arg, const struct transfer_size *s)
{
	const struct speaker *speaker = arg;

	if (s->from != 0)
		return; /* the other pairs' are in the JSON */
	if (s->bytes == speaker->options->min_bytes)
		printf("%12s  %10s  %12s  %12s  %12s  %10s\n", "bytes", "iterations", "min (us)", "p50 (us)",
		       "p99 (us)", "GB/s");
	printf("%12llu  %10u  %12.2f  %12.2f  %12.2f  %10.3f\n", (unsigned long long)s->bytes, s->iterations,
	       s->latency_min_us, s->latency_p50_us, s->latency_p99_us, s->bandwidth_gb_s);
	fflush(stdout);
}

static void print_head(const struct team *t)
{
	const struct libfabric *lib = t->provider->lib;

	printf("provider %s, fabric %s, domain %s, libfabric %u.%u (%s)\n", t->provider->name,
	       t->provider->info->fabric_attr->name, t->provider->info->domain_attr->name,
	       FI_MAJOR(lib->library_version), FI_MINOR(lib->library_version), lib->path);
	for (uint32_t i = 0; i < t->ranks->size; i++)
		printf("rank %u on %s at %s\n", i, t->ranks->members[i].host, t->addresses[i]);
	fflush(stdout);
}

static void print_verdict(const struct team *t, const struct transfer_options *o, const struct transfer_result *r)
{
	unsigned long long bad = 0;
	double load[3] = { 0 };

	for (size_t i = 0; i < r->burst_count; i++)
		bad += o->messages - r->bursts[i].received + r->bursts[i].bad;
	getloadavg(load, 3);
	printf("%s: %llu of %llu messages of %llu bytes arrived whole over %s between %u ranks (%s; load %.2f)\n",
	       r->verified ? "PASS" : "FAIL", (unsigned long long)o->messages * r->burst_count - bad,
	       (unsigned long long)o->messages * r->burst_count, (unsigned long long)o->message_bytes,
	       t->provider->name, t->ranks->size, t->provider->is_rdma ? "RDMA" : "no RDMA device took part", load[0]);
}

static int work(struct team *t, const void *args, int *ret_status, struct err *e)
{
	const struct transfer_args *a = args;
	const struct transfer_options o = { .messages = (uint32_t)a->messages,
					    .message_bytes = a->message_bytes,
					    .min_bytes = a->min_bytes,
					    .max_bytes = a->max_bytes,
					    .iterations = (uint32_t)a->iterations };
	struct speaker speaker = { .team = t, .options = &o };
	const bool speaks = t->ranks->rank == 0;
	struct transfer_listener listener = { .arg = &speaker };
	AUTO(transfer_result) r = NULL;
	int rc;

	if (speaks && !a->json) {
		print_head(t);
		listener.on_burst = print_burst;
		listener.on_size = print_size;
	}
	rc = transfer_run(t, &o, &listener, &r, e);
	if (rc < 0)
		return rc;
	if (speaks && !a->json)
		print_verdict(t, &o, r);
	if (speaks) {
		AUTO_JSON json = transfer_json(t, &o, r);
		rc = cmd_prove_ranks_report(json, a->output, a->json, e);
		if (rc < 0)
			return rc;
	}
	if (!r->verified)
		*ret_status = EXIT_FINDING;
	return 0;
}

static int refuse(const struct transfer_args *a, struct err *e)
{
	if (a->messages < 1 || a->messages > 1000000)
		return err_input(e, "--messages %lld: expected 1 to 1000000", (long long)a->messages);
	if (a->iterations < 1 || a->iterations > 1000000)
		return err_input(e, "--iters %lld: expected 1 to 1000000", (long long)a->iterations);
	if (a->message_bytes < 1 || a->message_bytes > 64 << 20)
		return err_input(e, "--message-bytes %llu: expected 1 to 64M", (unsigned long long)a->message_bytes);
	if (a->min_bytes < 1 || a->min_bytes > a->max_bytes || a->max_bytes > 1 << 30)
		return err_input(e, "--min %llu --max %llu: expected 1 to 1G, the smaller first",
				 (unsigned long long)a->min_bytes, (unsigned long long)a->max_bytes);
	return 0;
}

static int run(const void *args, char *const *operands)
{
	const struct ranks_work what = { .verb = VERB, .needs_pairs = true, .one_per_host = true, .run = work };
	const struct transfer_args *a = args;
	struct err e = { 0 };

	(void)operands;
	if (refuse(a, &e) < 0)
		return rank_is_first() ? opt_fail(VERB, &e) : (int)err_exit_code(&e);
	return cmd_prove_ranks_run(&what, &a->ranks, a);
}

const struct verb cmd_prove_transfer = {
	.name = "transfer",
	.help = "255 messages each way between pairs of ranks over libfabric, every byte checked; latency, bandwidth",
	.opts = opts,
	.args_size = sizeof(struct transfer_args),
	.run = run,
	.details = "Ranks come from mpirun or srun (PMIx), from RANK, WORLD_SIZE and MASTER_ADDR (torchrun), from "
		   "--hosts,\n"
		   "or, alone, two processes on this machine.\n"
		   "Exit status: 0 all arrived, 1 wrong bytes or a peer that does not answer, 2 usage, 3 no such "
		   "provider.\n",
};
