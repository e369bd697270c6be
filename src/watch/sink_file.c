/* SPDX-License-Identifier: MIT */
/*
 * Events as lines of JSON in a file, each exactly once. The spool keeps, with the cursor, which file was written and how
 * long it was then; what stands behind that length after a crash was delivered without the cursor knowing, and its ids
 * are not written again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "watch/linefile.h"
#include "watch/sink_rows.h"

/* How much of a file that is not known yet is looked through for ids. */
#define SCAN_MAX_BYTES (64u << 20)
#define BATCH_MAX_BYTES (64u << 20)

struct state {
	const char *path;
	struct linefile_at at; /* after the last append that the cursor knows of */
	bool looked;           /* `there` holds what stands in the file beyond the cursor */
	json_t *there;         /* ids, as keys of an object */
};

static int open_file(void *state, const struct watch_config *config, const char *kept, struct err *e)
{
	struct state *s = state;
	s->path = config->event_log;
	if (sscanf(kept, "dev=%" SCNu64 " inode=%" SCNu64 " size=%" SCNu64, &s->at.dev, &s->at.inode, &s->at.size) != 3)
		s->at = (struct linefile_at){ 0 };
	return linefile_check(s->path, e);
}

static void close_file(void *state)
{
	struct state *s = state;
	json_decref(s->there);
}

static char *save_file(const void *state)
{
	const struct state *s = state;
	return str_printf("dev=%" PRIu64 " inode=%" PRIu64 " size=%" PRIu64, s->at.dev, s->at.inode, s->at.size);
}

/* Our lines begin with kind and id, in this order: see event_head in record.c. */
static int note_id(void *arg, const char *line, size_t n)
{
	static const char head[] = "{\"kind\":\"event\",\"id\":\"";
	const size_t head_n = sizeof(head) - 1;
	struct state *s = arg;
	if (n <= head_n || memcmp(line, head, head_n) != 0)
		return 0;
	const char *end = memchr(line + head_n, '"', n - head_n);
	char id[RECORD_ID_BYTES];
	size_t id_n = end ? (size_t)(end - line) - head_n : sizeof(id);
	if (id_n >= sizeof(id))
		return 0;
	memcpy(id, line + head_n, id_n);
	id[id_n] = '\0';
	return json_object_set_new(s->there, id, json_true()) < 0 ? -ENOMEM : 0;
}

static int scan(struct state *s, const char *path, uint64_t offset, struct err *e)
{
	int rc = linefile_scan(path, offset, note_id, s, e);
	return rc == -ENOENT ? 0 : rc;
}

/* Finds what the file, or the one that it was before a rotation, holds beyond the cursor. */
static int look(struct state *s, struct err *e)
{
	struct linefile_at now = { 0 };
	json_decref(s->there);
	s->there = json_object();
	if (!s->there)
		return err_set(e, -ENOMEM, "event log: no memory");
	int rc = linefile_stat(s->path, &now);
	bool same = rc == 0 && now.dev == s->at.dev && now.inode == s->at.inode && now.size >= s->at.size;
	if (same)
		rc = scan(s, s->path, s->at.size, e);
	else
		rc = scan(s, s->path, now.size > SCAN_MAX_BYTES ? now.size - SCAN_MAX_BYTES : 0, e);
	AUTO_STR before = !same && s->at.inode ? linefile_rotated(s->path, &s->at) : NULL;
	if (rc == 0 && before && strcmp(before, s->path) != 0)
		rc = scan(s, before, s->at.size, e);
	s->looked = rc == 0;
	return rc;
}

static int write_file(void *state, const struct record *records, size_t count, struct err *e)
{
	struct state *s = state;
	int rc = s->looked ? 0 : look(s, e);
	if (rc < 0)
		return rc;
	AUTO_BUF lines;
	buf_init(&lines, BATCH_MAX_BYTES);
	for (size_t i = 0; i < count; i++) {
		if (json_object_get(s->there, records[i].id))
			continue;
		buf_str(&lines, records[i].json);
		buf_str(&lines, "\n");
	}
	if (lines.failed)
		return err_set(e, lines.failed, "event log: no memory for %zu events", count);
	if (lines.len) {
		rc = linefile_append(s->path, lines.data, lines.len, &s->at, e);
		if (rc < 0) {
			s->looked = false; /* a part may stand there: look again before the next try */
			return rc;
		}
	}
	return 0;
}

const struct sink_ops sink_file = {
	.name = "file",
	.help = "events as lines of JSON in a file, each exactly once",
	.takes = RECORD_EVENT,
	.state_size = sizeof(struct state),
	.open = open_file,
	.write = write_file,
	.save = save_file,
	.close = close_file,
};
