/* SPDX-License-Identifier: MIT */
#include "stack/plan_key.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fdio.h"

static void add_number(struct digest *d, int64_t number)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRId64, number);
	digest_add_field(d, text);
}

/* A list with its length, so that no word can slip from one list into the next. */
static void add_words(struct digest *d, char *const *words)
{
	int64_t n = 0;
	while (words && words[n])
		n++;
	add_number(d, n);
	for (int64_t i = 0; i < n; i++)
		digest_add_field(d, words[i]);
}

static void add_sources(struct digest *d, const struct plan_source *sources, size_t count)
{
	add_number(d, (int64_t)count);
	for (size_t i = 0; i < count; i++) { /* not the URL: the same bytes from elsewhere are the same bytes */
		digest_add_field(d, sources[i].file);
		digest_add_field(d, sources[i].sha256);
	}
}

/* The component's texts; one that it does not have counts as empty. */
static int add_scripts(struct digest *d, const char *dir, struct err *e)
{
	static const char *const scripts[] = { "install.sh", "verify.sh", "build.sh" };
	for (size_t i = 0; i < COUNT_OF(scripts); i++) {
		char sum[DIGEST_HEX_BYTES] = "";
		AUTO_STR path = fdio_join(dir, scripts[i]);
		if (!path)
			return err_set(e, -ENOMEM, "out of memory");
		int rc = fdio_exists(AT_FDCWD, path) ? digest_of_file(AT_FDCWD, path, sum, e) : 0;
		if (rc < 0)
			return rc;
		digest_add_field(d, sum);
	}
	return 0;
}

static const char *kind_name(enum plan_step_kind kind)
{
	static const char *const names[] = {
		[PLAN_BASE] = "base", [PLAN_COMPONENT] = "component", [PLAN_BUILDROOT] = "buildroot"
	};
	return names[kind];
}

static int fill_step(const struct plan *p, struct plan_step *s, struct err *e)
{
	AUTO(digest) d = digest_new();
	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	add_number(d, PLAN_LAYER_FORMAT);
	digest_add_field(d, kind_name(s->kind));
	digest_add_field(d, s->name);
	digest_add_field(d, s->version);
	digest_add_field(d, p->os);
	digest_add_field(d, p->architecture);
	add_number(d, p->epoch);
	digest_add_field(d, s->kind == PLAN_BASE ? p->apt_sources : "");
	add_words(d, s->packages);
	add_sources(d, s->debs, s->deb_count);
	add_sources(d, s->sources, s->source_count);
	add_words(d, s->env);
	add_words(d, s->image_env);
	digest_add_field(d, s->source_digest ? s->source_digest : "");
	int rc = s->dir ? add_scripts(d, s->dir, e) : 0;
	if (rc < 0)
		return rc;
	digest_add_field(d, s->buildroot != SIZE_MAX ? p->steps[s->buildroot].key : "");
	add_number(d, (int64_t)s->need_count);
	for (size_t i = 0; i < s->need_count; i++)
		digest_add_field(d, p->steps[s->needs[i]].key);
	digest_hex(d, s->key);
	return 0;
}

int plan_key_fill(struct plan *p, struct err *e)
{
	AUTO(digest) d = digest_new();
	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	add_number(d, PLAN_LAYER_FORMAT);
	add_number(d, p->epoch);
	digest_add_field(d, p->stack_name); /* it stands in the image */
	add_words(d, p->env);
	for (size_t i = 0; i < p->step_count; i++) {
		int rc = fill_step(p, &p->steps[i], e);
		if (rc < 0)
			return rc;
		if (p->steps[i].kind != PLAN_BUILDROOT)
			digest_add_field(d, p->steps[i].key);
	}
	digest_hex(d, p->key);
	return 0;
}
