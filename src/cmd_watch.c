/* SPDX-License-Identifier: MIT */
/* kiln watch run, kiln watch once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fdio.h"
#include "base/json.h"
#include "base/own.h"
#include "base/state.h"
#include "base/table.h"
#include "base/world.h"
#include "kiln.h"
#include "watch/agent.h"
#include "watch/sample.h"
#include "watch/sampler.h"

/* This program, also after the file it was started from has been replaced. */
#define PROGRAM "/proc/self/exe"
#define MIN_PERIOD_MS 100
#define MAX_PERIOD_MS (24u * 3600 * 1000)

struct run_args {
	const char *spool;
	const char *event_log;
	const char *metrics_log;
	const char *kmsg;
	const char *from;
	uint64_t metrics_max_bytes;
	uint32_t for_ms;
	uint32_t period_ms;
};

static int run_agent(const struct run_args *args, struct err *e)
{
	struct world world __attribute__((cleanup(world_fini))) = { .root_fd = -1 };
	AUTO_STR spool = args->spool ? strdup(args->spool) : NULL;
	if (args->period_ms < MIN_PERIOD_MS)
		return err_input(e, "--period: %u ms is too short; the least is %d ms", args->period_ms, MIN_PERIOD_MS);
	if (args->period_ms > MAX_PERIOD_MS)
		return err_input(e, "--period: the longest is 24h");
	int rc = world_init(&world, NULL, e);
	if (rc == 0 && !args->spool)
		rc = state_dir("watch", &spool, e);
	if (rc < 0)
		return rc;
	const struct watch_config config = {
		.world = &world,
		.program = PROGRAM,
		.spool_dir = spool,
		.event_log = args->event_log,
		.metrics_log = args->metrics_log,
		.metrics_max_bytes = args->metrics_max_bytes,
		.kmsg = args->kmsg,
		.from_now = strcmp(args->from, "now") == 0,
		.period_ms = args->period_ms,
		.for_ms = args->for_ms,
		.terminal = isatty(STDOUT_FILENO) ? stdout : NULL,
	};
	return agent_run(&config, e);
}

static int run_verb(const void *args, char *const *operands)
{
	struct err e = { 0 };
	(void)operands;
	return run_agent(args, &e) < 0 ? opt_fail("watch run", &e) : EXIT_GOOD;
}

static const struct opt run_opts[] = {
	{ "for", 0, OPT_DURATION, offsetof(struct run_args, for_ms), "TIME", NULL,
	  "stop after TIME (default: run until told to stop)", NULL },
	{ "spool", 0, OPT_STR, offsetof(struct run_args, spool), "DIR", NULL,
	  "keep undelivered records and cursors in DIR (default: watch in the state folder)", "<dir>" },
	{ "event-log", 0, OPT_STR, offsetof(struct run_args, event_log), "FILE", "/var/log/gpuevent.log",
	  "append each event to FILE as one line of JSON", "<file>" },
	{ "metrics-log", 0, OPT_STR, offsetof(struct run_args, metrics_log), "FILE", "/var/log/kiln-metrics.jsonl",
	  "append metrics to FILE as lines of JSON", "<file>" },
	{ "metrics-max", 0, OPT_BYTES, offsetof(struct run_args, metrics_max_bytes), "SIZE", "16M",
	  "move the metrics log to FILE.1 before it grows past SIZE", NULL },
	{ "period", 0, OPT_DURATION, offsetof(struct run_args, period_ms), "TIME", "10s",
	  "time between samples of the metrics", NULL },
	{ "kmsg", 0, OPT_STR, offsetof(struct run_args, kmsg), "FILE", "/dev/kmsg",
	  "read the kernel log from FILE (the device, or a file or FIFO of its records)", "<file>" },
	{ "from", 0, OPT_CHOICE, offsetof(struct run_args, from), "WHERE", "oldest",
	  "at the first start in a boot, read the kernel log from its oldest record or from now on", "oldest|now" },
	{ 0 },
};

static const struct verb cmd_watch_run = {
	.name = "run",
	.help = "the agent: Xids from the kernel log and metrics, kept durably and delivered",
	.opts = run_opts,
	.args_size = sizeof(struct run_args),
	.run = run_verb,
	.details = "Every Xid and SXid that the kernel's ring still holds reaches the event log once, also across kill "
		   "-9, a\n"
		   "restart and a full disk; what the ring itself dropped is reported as an event. On a terminal each "
		   "event is\n"
		   "shown in one line. SIGTERM and Ctrl-C end it after what is there has been delivered.\n",
};

struct once_args {
	const char *only;
	bool json;
	bool in_process;
};

static void add_reason(json_t *all, const char *why)
{
	json_array_append_new(json_object_get(all, "reasons"), json_string(why));
}

/* Puts the GPU sample's members into `all`, or the reason why there is none. */
static void take_gpus(bool in_process, json_t *all)
{
	struct sampler s = { .program = PROGRAM, .stop_fd = -1 };
	struct err e = { 0 };
	AUTO_JSON sample = NULL;
	static const char *const members[] = { "driver_version", "simulated", "gpus" };
	int rc = in_process ? sample_gpus(&sample, &e) : sampler_run(&s, SAMPLER_TIMEOUT_MS, &sample, &e);
	if (rc < 0)
		add_reason(all, e.msg);
	for (size_t i = 0; i < COUNT_OF(members) && rc == 0; i++)
		json_object_set(all, members[i], json_object_get(sample, members[i]));
	sampler_fini(&s);
}

static int take_efa(json_t *all, struct err *e)
{
	struct world world __attribute__((cleanup(world_fini))) = { .root_fd = -1 };
	AUTO_JSON devices = NULL;
	int rc = world_init(&world, NULL, e);
	if (rc == 0)
		rc = sample_efa(&world, &devices, e);
	if (rc < 0)
		return rc;
	if (json_array_size(devices) == 0)
		add_reason(all, "no EFA device in /sys/class/infiniband");
	json_object_set(all, "efa", devices);
	return 0;
}

/* "-" where the device does not tell. */
static void value_cell(struct table *t, const json_t *gpu, const char *name, double scale, int digits)
{
	const json_t *v = json_object_get(json_object_get(gpu, "values"), name);
	if (v)
		table_cell(t, "%.*f", digits, json_number_value(v) * scale);
	else
		table_cell(t, "-");
}

static void print_gpus(const json_t *all)
{
	const json_t *gpus = json_object_get(all, "gpus");
	const char *mark = json_is_true(json_object_get(all, "simulated")) ? " (simulated)" : "";
	AUTO(table) t =
		table_new(">GPU|NAME|ADDRESS|>USE %|>MEMORY GiB|>TEMP C|>POWER W|>SM MHz|>UNCORRECTED|>REMAPPED");
	if (json_array_size(gpus) == 0 || !t)
		return;
	printf("driver %s%s\n", json_string_value(json_object_get(all, "driver_version")), mark);
	for (size_t i = 0; i < json_array_size(gpus); i++) {
		const json_t *g = json_array_get(gpus, i);
		const char *error = json_string_value(json_object_get(g, "error"));
		table_cell(t, "%d", (int)json_integer_value(json_object_get(g, "gpu")));
		table_cell(t, "%s%s", error ? error : json_string_value(json_object_get(g, "name")), mark);
		table_cell(t, "%s", error ? "-" : json_string_value(json_object_get(g, "device")));
		value_cell(t, g, "utilization_gpu_percent", 1, 0);
		value_cell(t, g, "memory_used_bytes", 1.0 / (1 << 30), 1);
		value_cell(t, g, "temperature_celsius", 1, 0);
		value_cell(t, g, "power_watts", 1, 0);
		value_cell(t, g, "clock_sm_hertz", 1e-6, 0);
		value_cell(t, g, "ecc_uncorrected_errors", 1, 0);
		value_cell(t, g, "remapped_rows_uncorrectable", 1, 0);
	}
	table_print(t, stdout);
}

static void print_efa(const json_t *all)
{
	const json_t *efa = json_object_get(all, "efa");
	AUTO(table) t = table_new("EFA|ADDRESS|FIRMWARE|PORT|>SENT BYTES|>RECEIVED BYTES|>DROPS|>RETRANSMITTED");
	if (json_array_size(efa) == 0 || !t)
		return;
	for (size_t i = 0; i < json_array_size(efa); i++) {
		const json_t *d = json_array_get(efa, i);
		table_cell(t, "%s", json_string_value(json_object_get(d, "efa")));
		table_cell(t, "%s", json_string_value(json_object_get(d, "device")));
		table_cell(t, "%s", json_string_value(json_object_get(d, "firmware")));
		table_cell(t, "%s", json_is_true(json_object_get(d, "port_active")) ? "active" : "down");
		value_cell(t, d, "tx_bytes", 1, 0);
		value_cell(t, d, "rx_bytes", 1, 0);
		value_cell(t, d, "rx_drops", 1, 0);
		value_cell(t, d, "retrans_pkts", 1, 0);
	}
	table_print(t, stdout);
}

static json_t *new_result(void)
{
	char time[CLOCK_TEXT_BYTES];
	struct utsname names;
	uname(&names);
	clock_text_ms(clock_wall_ns(), time);
	return json_pack("{ss si ss ss sb s[] s[] s[]}", "kiln", "watch once", "version", 1, "time", time, "host",
			 names.nodename, "simulated", 0, "gpus", "efa", "reasons");
}

/* Nothing seen: why, for everything that was looked for. */
static int nothing(const json_t *reasons, struct err *e)
{
	const char *first = json_string_value(json_array_get(reasons, 0));
	const char *second = json_string_value(json_array_get(reasons, 1));
	return err_set(e, -ENODEV, "nothing to see: %s%s%s", first ? first : "nothing was looked for",
		       second ? "; " : "", second ? second : "");
}

static int once_verb(const void *opaque, char *const *operands)
{
	const struct once_args *args = opaque;
	struct err e = { 0 };
	AUTO_JSON all = new_result();
	(void)operands;
	if (!all)
		return err_set(&e, -ENOMEM, "no memory"), opt_fail("watch once", &e);
	if (strcmp(args->only, "efa") != 0)
		take_gpus(args->in_process, all);
	if (strcmp(args->only, "gpu") != 0 && take_efa(all, &e) < 0)
		return opt_fail("watch once", &e);
	if (args->json)
		json_print(all, stdout);
	if (!json_array_size(json_object_get(all, "gpus")) && !json_array_size(json_object_get(all, "efa")))
		return nothing(json_object_get(all, "reasons"), &e), opt_fail("watch once", &e);
	if (args->json)
		return EXIT_GOOD;
	print_gpus(all);
	print_efa(all);
	for (size_t i = 0; i < json_array_size(json_object_get(all, "reasons")); i++)
		printf("%s\n", json_string_value(json_array_get(json_object_get(all, "reasons"), i)));
	return EXIT_GOOD;
}

static const struct opt once_opts[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct once_args, json), NULL, NULL, "print one JSON object", NULL },
	{ "only", 0, OPT_CHOICE, offsetof(struct once_args, only), "WHAT", "all",
	  "look at the GPUs or the EFA devices only", "all|gpu|efa" },
	{ "in-process", 0, OPT_FLAG, offsetof(struct once_args, in_process), NULL, NULL,
	  "load NVML here instead of in a child that may hang without harm", NULL },
	{ 0 },
};

static const struct verb cmd_watch_once = {
	.name = "once",
	.help = "one sample of the GPUs and EFA devices",
	.opts = once_opts,
	.args_size = sizeof(struct once_args),
	.run = once_verb,
	.details = "Exits with 3 and the reason when there is nothing to see. What the stand-in for NVML feeds is "
		   "marked as\n"
		   "simulated.\n",
};

static const struct verb *const subs[] = { &cmd_watch_run, &cmd_watch_once, NULL };

const struct verb cmd_watch = {
	.name = "watch",
	.help = "watch a node's GPUs and EFA devices",
	.subs = subs,
};
