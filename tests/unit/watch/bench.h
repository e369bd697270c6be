/* SPDX-License-Identifier: MIT */
/* A folder, a spool and records to put through sinks. */
#ifndef TEST_WATCH_BENCH_H
#define TEST_WATCH_BENCH_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fdio.h"
#include "watch/sink.h"
#include "watch/spool.h"

static char folder[64];

static inline int folder_setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/kiln-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_teardown(void **state)
{
	(void)state;
	return fdio_remove_tree(folder, NULL);
}

#define folder_test(f) cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

/* FOLDER/name, in one of a few static places. */
static inline const char *in_folder(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static inline struct spool *open_spool(void)
{
	struct spool *s = NULL;
	struct err e = { 0 };
	if (spool_open(in_folder("spool"), &s, &e) < 0)
		fail_msg("%s", e.msg);
	return s;
}

/* As record.c writes it. */
static inline struct record *new_event(unsigned seq)
{
	struct record *r = calloc(1, sizeof(*r));
	r->kind = RECORD_EVENT;
	r->wall_ns = 1000 + seq;
	snprintf(r->id, sizeof(r->id), "boot:%u", seq);
	assert_true(asprintf(&r->json, "{\"kind\":\"event\",\"id\":\"boot:%u\",\"text\":\"n %u\"}", seq, seq) > 0);
	return r;
}

static inline struct record *new_metrics(unsigned gpu)
{
	struct record *r = calloc(1, sizeof(*r));
	r->kind = RECORD_METRICS;
	r->wall_ns = 1;
	assert_true(asprintf(&r->json, "{\"kind\":\"metrics\",\"gpu\":%u}", gpu) > 0);
	return r;
}

static inline void append_events(struct spool *s, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++) {
		AUTO(record) r = new_event(i);
		assert_int_equal(spool_append(s, &r, 1, NULL, NULL), 0);
	}
}

static inline char *read_text(const char *path)
{
	char *text = NULL;
	if (fdio_read_file(AT_FDCWD, path, 1 << 20, &text, NULL, NULL) < 0)
		fail_msg("cannot read %s", path);
	return text;
}

static inline void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static inline unsigned times_in(const char *text, const char *word)
{
	unsigned n = 0;
	for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
		n++;
	return n;
}

#endif
