/* SPDX-License-Identifier: MIT */
/* GPU metrics, each sample in a child process that may hang without harm. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "watch/sampler.h"
#include "watch/source_rows.h"

/* Where there is no GPU or no library, it is looked for again after this long: a driver may be loaded later. */
#define ABSENT_MS 60000

struct state {
	struct sampler sampler;
	int last; /* what the last sample said; each change is said once */
};

static int open_sampler(void *state, const struct source_env *env, struct err *e)
{
	struct state *s = state;
	(void)e;
	s->sampler = (struct sampler){ .program = env->config->program, .stop_fd = env->stop_fd };
	return 0;
}

static void close_sampler(void *state)
{
	struct state *s = state;
	sampler_fini(&s->sampler);
}

static void put_gpus(const struct source_env *env, const json_t *sample)
{
	bool simulated = json_is_true(json_object_get(sample, "simulated"));
	int64_t now_ns = env->config->world->wall_ns();
	const json_t *gpus = json_object_get(sample, "gpus");
	for (size_t i = 0; i < json_array_size(gpus); i++) {
		struct record *r = record_of_metrics(&env->origin, now_ns, simulated, json_array_get(gpus, i));
		if (r)
			queue_put(env->queue, r);
	}
}

/* What changed since the last sample, in the log; a hang is an event besides. */
static void tell(struct state *s, const struct source_env *env, int rc, const struct err *e)
{
	/* A child that stays stuck is the same hang. */
	if (rc == s->last || (rc == -EBUSY && s->last == -ETIMEDOUT))
		return;
	if (rc == -ETIMEDOUT) {
		log_error("nvml_hung", "%s", e->msg);
		struct record *r = record_of_hung_nvml(&env->origin, env->config->world->wall_ns(), SAMPLER_TIMEOUT_MS);
		if (r)
			queue_put(env->queue, r);
	} else if (rc == -ENODEV) {
		log_info("nvml_absent", "%s; events go on, and GPUs are looked for every %d s", e->msg,
			 ABSENT_MS / 1000);
	} else if (rc < 0) {
		log_warn("nvml_failed", "%s", e->msg);
	} else if (s->last < 0) {
		log_info("nvml_back", "NVML answers");
	}
	s->last = rc;
}

static void run(void *state, const struct source_env *env)
{
	struct state *s = state;
	int wait_ms;
	do {
		struct err e = { 0 };
		AUTO_JSON sample = NULL;
		int64_t began_ns = env->config->world->mono_ns();
		int rc = sampler_run(&s->sampler, SAMPLER_TIMEOUT_MS, &sample, &e);
		if (rc == -ECANCELED)
			return;
		tell(s, env, rc, &e);
		if (rc == 0)
			put_gpus(env, sample);
		int64_t took_ms = (env->config->world->mono_ns() - began_ns) / 1000000;
		int period_ms = (int)env->config->period_ms;
		if (rc == -ENODEV && period_ms < ABSENT_MS)
			period_ms = ABSENT_MS;
		wait_ms = took_ms < period_ms ? period_ms - (int)took_ms : 0;
	} while (!source_wait(env, -1, wait_ms));
}

const struct source_ops source_nvml = {
	.name = "nvml",
	.help = "GPU metrics through NVML",
	.state_size = sizeof(struct state),
	.open = open_sampler,
	.run = run,
	.close = close_sampler,
};
