/* SPDX-License-Identifier: MIT */
/* Metrics as lines of JSON in a file that is moved to PATH.1 before it grows past a size. A crash may repeat a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "watch/linefile.h"
#include "watch/sink_rows.h"

#define BATCH_MAX_BYTES (64u << 20)

struct state {
	const char *path;
	uint64_t max_bytes;
};

static int open_file(void *state, const struct watch_config *config, const char *kept, struct err *e)
{
	struct state *s = state;
	(void)kept;
	s->path = config->metrics_log;
	s->max_bytes = config->metrics_max_bytes;
	return linefile_check(s->path, e);
}

static void close_file(void *state)
{
	(void)state;
}

static char *save_file(const void *state)
{
	(void)state;
	return strdup("");
}

static int rotate(const struct state *s, size_t more, struct err *e)
{
	struct linefile_at at;
	if (linefile_stat(s->path, &at) < 0 || at.size == 0 || at.size + more <= s->max_bytes)
		return 0;
	AUTO_STR old = str_printf("%s.1", s->path);
	if (!old)
		return err_set(e, -ENOMEM, "metrics log: no memory");
	return rename(s->path, old) < 0 ? err_sys(e, "cannot move '%s' to '%s'", s->path, old) : 0;
}

static int write_file(void *state, const struct record *records, size_t count, struct err *e)
{
	struct state *s = state;
	struct linefile_at at;
	AUTO_BUF lines;
	buf_init(&lines, BATCH_MAX_BYTES);
	for (size_t i = 0; i < count; i++) {
		buf_str(&lines, records[i].json);
		buf_str(&lines, "\n");
	}
	if (lines.failed)
		return err_set(e, lines.failed, "metrics log: no memory for %zu samples", count);
	int rc = rotate(s, lines.len, e);
	return rc < 0 ? rc : linefile_append(s->path, lines.data, lines.len, &at, e);
}

const struct sink_ops sink_metrics = {
	.name = "metrics",
	.help = "metrics as lines of JSON in a file that is rotated by size",
	.takes = RECORD_METRICS,
	.state_size = sizeof(struct state),
	.open = open_file,
	.write = write_file,
	.save = save_file,
	.close = close_file,
};
