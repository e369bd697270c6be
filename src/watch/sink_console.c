/* SPDX-License-Identifier: MIT */
/* Events for whoever looks on: a readable line on a terminal, else a line in the agent's own log. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "watch/sink_rows.h"

struct state {
	FILE *terminal; /* NULL: the log */
};

static int open_console(void *state, const struct watch_config *config, const char *kept, struct err *e)
{
	struct state *s = state;
	(void)kept;
	(void)e;
	s->terminal = config->terminal;
	return 0;
}

static void close_console(void *state)
{
	(void)state;
}

static char *save_console(const void *state)
{
	(void)state;
	return strdup("");
}

static const char *text_at(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));
	return s && *s ? s : "-";
}

/* The raw text stays out: a log that is forwarded to the kernel's would come back as an event. */
static void log_event(const struct record *r)
{
	AUTO_JSON j = json_loads(r->json, 0, NULL);
	const char *severity = text_at(j, "severity");
	enum log_level level = LOG_INFO;
	if (strcmp(severity, "fatal") == 0 || strcmp(severity, "error") == 0)
		level = LOG_ERROR;
	else if (strcmp(severity, "warning") == 0)
		level = LOG_WARN;
	log_line(level, "event", "id=%s type=%s code=%d device=%s severity=%s origin=%s: %s", r->id, text_at(j, "type"),
		 (int)json_integer_value(json_object_get(j, "code")), text_at(j, "device"), severity,
		 text_at(j, "origin"), text_at(j, "meaning"));
}

static int write_console(void *state, const struct record *records, size_t count, struct err *e)
{
	struct state *s = state;
	for (size_t i = 0; i < count; i++) {
		AUTO_STR line = s->terminal ? record_readable(&records[i]) : NULL;
		if (line)
			fprintf(s->terminal, "%s\n", line);
		else
			log_event(&records[i]);
	}
	/* A terminal that is gone is not a reason to try again. */
	if (s->terminal && fflush(s->terminal) != 0)
		clearerr(s->terminal);
	(void)e;
	return 0;
}

const struct sink_ops sink_console = {
	.name = "console",
	.help = "events for whoever looks on",
	.takes = RECORD_EVENT,
	.from_now = true,
	.state_size = sizeof(struct state),
	.open = open_console,
	.write = write_console,
	.save = save_console,
	.close = close_console,
};
