/* SPDX-License-Identifier: MIT */
#include "watch/sink.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "watch/sink_rows.h"

#define BATCH 256
#define RETRY_FIRST_MS 1000
#define RETRY_LAST_MS 30000

const struct sink_ops *const sinks[] = { &sink_file, &sink_metrics, &sink_console, NULL };

struct sink {
	const struct sink_ops *ops;
	struct spool *spool;
	int64_t n; /* the last record delivered */
	void *state;
};

int sink_new(const struct sink_ops *ops, const struct watch_config *config, struct spool *spool, struct sink **ret,
	     struct err *e)
{
	AUTO(sink) s = calloc(1, sizeof(*s));
	AUTO_STR kept = NULL;
	if (!s)
		return err_set(e, -ENOMEM, "sink '%s': no memory", ops->name);
	s->ops = ops;
	s->spool = spool;
	s->state = calloc(1, ops->state_size);
	if (!s->state)
		return err_set(e, -ENOMEM, "sink '%s': no memory", ops->name);
	int rc = spool_sink_load(spool, ops->name, ops->takes, &s->n, &kept, e);
	if (rc < 0)
		return rc;
	if (ops->from_now)
		s->n = spool_end(spool, ops->takes);
	rc = ops->open(s->state, config, kept, e);
	if (rc < 0)
		return rc;
	*ret = steal(s);
	return 0;
}

void sink_free(struct sink *s)
{
	if (!s)
		return;
	if (s->state)
		s->ops->close(s->state);
	free(s->state);
	free(s);
}

int sink_step(struct sink *s, struct err *e)
{
	struct spool_list l __attribute__((cleanup(spool_list_fini))) = { 0 };
	int rc = spool_read(s->spool, s->ops->takes, s->n, BATCH, &l, e);
	if (rc == 0 && l.count)
		rc = s->ops->write(s->state, l.at, l.count, e);
	if (rc < 0 || !l.count)
		return rc;
	s->n = l.at[l.count - 1].n;
	if (s->ops->from_now)
		return 1;
	AUTO_STR kept = s->ops->save(s->state);
	if (!kept)
		return err_set(e, -ENOMEM, "sink '%s': no memory", s->ops->name);
	rc = spool_sink_save(s->spool, s->ops->name, s->ops->takes, s->n, kept, e);
	return rc < 0 ? rc : 1;
}

static void sink_failed(const struct sink *s, const struct err *e, uint32_t *retry_ms)
{
	/* Said once per failure, not once per try. */
	if (!*retry_ms)
		log_error("sink_failed", "sink=%s: %s; records stay in the spool and are tried again", s->ops->name,
			  e->msg);
	uint32_t next_ms = *retry_ms ? *retry_ms * 2 : RETRY_FIRST_MS;
	*retry_ms = next_ms < RETRY_LAST_MS ? next_ms : RETRY_LAST_MS;
}

void sink_run(struct sink *s)
{
	uint32_t retry_ms = 0;
	bool last_try = false;
	for (;;) {
		struct err e = { 0 };
		int rc = sink_step(s, &e);
		if (rc < 0 && last_try) {
			log_warn("sink_left", "sink=%s: %s; what is left is delivered after the next start",
				 s->ops->name, e.msg);
			return;
		}
		if (rc < 0) {
			sink_failed(s, &e, &retry_ms);
			last_try = !spool_sleep(s->spool, retry_ms);
			continue;
		}
		if (retry_ms)
			log_info("sink_back", "sink=%s", s->ops->name);
		retry_ms = 0;
		if (rc == 0 && !spool_wait(s->spool, s->ops->takes, s->n))
			return;
	}
}
