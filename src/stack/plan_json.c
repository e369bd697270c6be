/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/fdio.h"
#include "base/state.h"
#include "stack/plan.h"

static const char *const kinds[] = {
	[PLAN_BASE] = "base", [PLAN_COMPONENT] = "component", [PLAN_BUILDROOT] = "buildroot"
};

static json_t *array_of(char *const *words)
{
	json_t *list = json_array();
	for (char *const *w = words; list && w && *w; w++)
		json_array_append_new(list, json_string(*w));
	return list;
}

static json_t *sources_of(const struct plan_step *s)
{
	json_t *list = json_array();
	for (size_t i = 0; list && i < s->source_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I}", "url", s->sources[i].url, "file",
						      s->sources[i].file, "sha256", s->sources[i].sha256, "bytes",
						      (json_int_t)s->sources[i].bytes));
	return list;
}

static json_t *step_json(const struct plan *p, const struct plan_step *s)
{
	json_t *needs = json_array();
	for (size_t i = 0; needs && i < s->need_count; i++)
		json_array_append_new(needs, json_string(p->steps[s->needs[i]].name));
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?, s:o, s:I, s:I, s:o, s:b, s:b, s:s?}", "kind", kinds[s->kind],
			 "component", s->name, "version", s->version, "key", s->key, "needs", needs, "buildroot",
			 s->buildroot != SIZE_MAX ? p->steps[s->buildroot].name : NULL, "packages",
			 array_of(s->packages), "debs", (json_int_t)s->deb_count, "download_bytes",
			 (json_int_t)plan_download_bytes(s), "sources", sources_of(s), "cached", plan_is_cached(s),
			 "added", s->needed_by != NULL, "needed_by", s->needed_by);
}

static int add_missing(const struct plan_source *sources, size_t count, const char *downloads, json_t *seen,
		       int64_t *bytes)
{
	for (size_t i = 0; i < count; i++) {
		if (json_object_get(seen, sources[i].sha256))
			continue;
		if (json_object_set_new(seen, sources[i].sha256, json_true()) < 0)
			return -ENOMEM;
		AUTO_STR path = fdio_join(downloads, sources[i].sha256);
		if (path && !fdio_exists(AT_FDCWD, path) && sources[i].bytes > 0)
			*bytes += sources[i].bytes;
	}
	return 0;
}

int plan_totals(const struct plan *p, struct plan_totals *ret, struct err *e)
{
	struct plan_totals t = { .steps = p->step_count };
	AUTO_STR downloads = NULL;
	AUTO_JSON seen = json_object();
	int rc = state_dir("downloads", &downloads, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; seen && i < p->step_count; i++) {
		const struct plan_step *s = &p->steps[i];
		t.debs += s->kind == PLAN_BUILDROOT ? 0 : s->deb_count;
		if (plan_is_cached(s)) {
			t.cached++;
			continue;
		}
		if (add_missing(s->debs, s->deb_count, downloads, seen, &t.download_bytes) < 0 ||
		    add_missing(s->sources, s->source_count, downloads, seen, &t.download_bytes) < 0)
			return err_set(e, -ENOMEM, "out of memory");
	}
	if (!seen)
		return err_set(e, -ENOMEM, "out of memory");
	*ret = t;
	return 0;
}

json_t *plan_json(const struct plan *p)
{
	AUTO_JSON steps = json_array();
	struct plan_totals t;
	if (!steps || plan_totals(p, &t, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < p->step_count; i++)
		if (json_array_append_new(steps, step_json(p, &p->steps[i])) < 0)
			return NULL;
	return json_pack("{s:s, s:i, s:s, s:s, s:s, s:{s:s, s:s, s:o}, s:I, s:s, s:O, s:{s:I, s:I, s:I, s:I}}", "kiln",
			 "plan", "version", 1, "stack", p->stack_name, "os", p->os, "architecture", p->architecture,
			 "snapshot", "digest", p->snapshot, "date", p->snapshot_date, "mirrors", array_of(p->mirrors),
			 "epoch", (json_int_t)p->epoch, "key", p->key, "steps", steps, "totals", "steps",
			 (json_int_t)t.steps, "cached", (json_int_t)t.cached, "debs", (json_int_t)t.debs,
			 "download_bytes", (json_int_t)t.download_bytes);
}
