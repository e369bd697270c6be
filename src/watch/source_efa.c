/* SPDX-License-Identifier: MIT */
/* EFA counters, from sysfs. */
#include "base/json.h"
#include "base/log.h"
#include "watch/sample.h"
#include "watch/source_rows.h"

struct state {
	size_t last_count; /* devices seen; each change is said once */
	bool said;
};

static int open_efa(void *state, const struct source_env *env, struct err *e)
{
	(void)state;
	(void)env;
	(void)e;
	return 0;
}

static void close_efa(void *state)
{
	(void)state;
}

static void put_devices(struct state *s, const struct source_env *env)
{
	struct err e = { 0 };
	AUTO_JSON devices = NULL;
	if (sample_efa(env->config->world, &devices, &e) < 0) {
		log_warn("efa_failed", "%s", e.msg);
		return;
	}
	size_t count = json_array_size(devices);
	if (!s->said || count != s->last_count)
		log_info(count ? "efa_found" : "efa_absent", "devices=%zu", count);
	s->said = true;
	s->last_count = count;
	int64_t now_ns = env->config->world->wall_ns();
	for (size_t i = 0; i < count; i++) {
		struct record *r = record_of_metrics(&env->origin, now_ns, false, json_array_get(devices, i));
		if (r)
			queue_put(env->queue, r);
	}
}

static void run(void *state, const struct source_env *env)
{
	do
		put_devices(state, env);
	while (!source_wait(env, -1, (int)env->config->period_ms));
}

const struct source_ops source_efa = {
	.name = "efa",
	.help = "EFA counters from sysfs",
	.state_size = sizeof(struct state),
	.open = open_efa,
	.run = run,
	.close = close_efa,
};
