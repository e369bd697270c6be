/* SPDX-License-Identifier: MIT */
#include "bake/bake_store.h"

#include <dirent.h>
#include <string.h>

#include "bake/merge_layer.h"
#include "base/own.h"

int bake_store_init(struct bake_store *s, const struct plan *p, const char *rebuild, struct err *e)
{
	bool known = !rebuild;
	int rc = 0;

	*s = (struct bake_store){ .plan = p };
	s->steps = calloc(p->step_count, sizeof(*s->steps));
	if (!s->steps)
		return err_set(e, -ENOMEM, "out of memory for %zu steps", p->step_count);
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < p->step_count && rc == 0; i++) {
		bool named = rebuild && strcmp(p->steps[i].name, rebuild) == 0;
		known = known || named;
		rc = layer_path(p->steps[i].key, "fs", &s->steps[i].fs, e);
		if (p->steps[i].kind != PLAN_BUILDROOT || named)
			s->steps[i].build = named || !layer_find(p->steps[i].key, NULL);
	}
	for (size_t i = 0; i < p->step_count && rc == 0; i++) {
		size_t root = p->steps[i].buildroot;
		if (s->steps[i].build && root < p->step_count && !layer_find(p->steps[root].key, NULL))
			s->steps[root].build = true;
	}
	if (rc == 0 && !known)
		rc = err_input(e, "--rebuild: the stack '%s' has no step '%s': `kiln plan` lists them", p->stack_name,
			       rebuild);
	return rc;
}

void bake_store_fini(struct bake_store *s)
{
	for (size_t i = 0; s->steps && i < s->plan->step_count; i++) {
		free(s->steps[i].fs);
		own_free_strings(&s->steps[i].below);
	}
	if (s->steps)
		pthread_mutex_destroy(&s->lock);
	free(s->steps);
	s->steps = NULL;
}

static bool step_needs(const struct plan_step *s, size_t other)
{
	for (size_t i = 0; i < s->need_count; i++)
		if (s->needs[i] == other)
			return true;
	return false;
}

/* True when each of the steps needs all before it: then the topmost copy of a shared file is everybody's. */
static bool steps_are_chain(const struct plan *p, const size_t *indices, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (!step_needs(&p->steps[indices[i]], indices[k]))
				return false;
	return true;
}

/* The key of what joins these layers; "" when nothing has to. */
static void merge_key(const struct plan *p, const size_t *indices, size_t count, char ret[DIGEST_HEX_BYTES])
{
	char format[16];
	AUTO(digest) d = steps_are_chain(p, indices, count) ? NULL : digest_new();

	ret[0] = '\0';
	if (!d)
		return;
	snprintf(format, sizeof(format), "%d", PLAN_LAYER_FORMAT);
	digest_add_field(d, BAKE_MERGE_NAME);
	digest_add_field(d, format);
	for (size_t i = 0; i < count; i++)
		digest_add_field(d, p->steps[indices[i]].key);
	digest_hex(d, ret);
}

static int store_below(struct bake_store *s, size_t index, struct err *e);

/* Makes the joining layer of some steps, with the lock held. */
static int store_make_merge(struct bake_store *s, const size_t *indices, size_t count, const char *key, struct err *e)
{
	if (layer_find(key, NULL))
		return 0;
	struct merge_side *sides = calloc(count, sizeof(*sides));
	int rc = sides ? 0 : err_set(e, -ENOMEM, "out of memory for %zu layers", count);

	for (size_t i = 0; i < count && rc == 0; i++) {
		const struct bake_store_step *step = &s->steps[indices[i]];
		rc = store_below(s, indices[i], e);
		sides[i] = (struct merge_side){ s->plan->steps[indices[i]].name,
						step->fs,
						{ (const char *const *)step->below, step->below_count } };
	}
	struct merge_layer m = { s->plan, sides, count, key, s->stopped, s->stopped_arg };
	if (rc == 0)
		rc = merge_layer_make(&m, e);
	free(sides);
	return rc;
}

static int store_below(struct bake_store *s, size_t index, struct err *e)
{
	const struct plan_step *step = &s->plan->steps[index];
	char key[DIGEST_HEX_BYTES];
	if (s->steps[index].below)
		return 0;

	AUTO_STRINGS below = calloc(step->need_count + 2, sizeof(*below));
	int rc = below ? 0 : err_set(e, -ENOMEM, "out of memory for %zu layers", step->need_count);
	size_t n = 0;
	for (; n < step->need_count && rc == 0; n++)
		if (!(below[n] = strdup(s->steps[step->needs[n]].fs)))
			rc = err_set(e, -ENOMEM, "out of memory for a path");
	merge_key(s->plan, step->needs, step->need_count, key);
	if (rc == 0 && key[0])
		rc = store_make_merge(s, step->needs, step->need_count, key, e);
	if (rc == 0 && key[0])
		rc = layer_path(key, "fs", &below[n++], e);
	if (rc < 0)
		return rc;
	s->steps[index].below = steal(below);
	s->steps[index].below_count = n;
	return 0;
}

int bake_store_below(struct bake_store *s, size_t index, struct view *ret, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	int rc = store_below(s, index, e);
	*ret = (struct view){ (const char *const *)s->steps[index].below, s->steps[index].below_count };
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int bake_store_build_below(struct bake_store *s, size_t index, char ***ret, size_t *ret_count, struct err *e)
{
	size_t root = s->plan->steps[index].buildroot;
	struct view view = { 0 };

	*ret_count = 0;
	if (root >= s->plan->step_count)
		return 0;
	int rc = bake_store_below(s, root, &view, e);
	if (rc < 0)
		return rc;
	AUTO_STRINGS dirs = calloc(view.count + 2, sizeof(*dirs));
	for (size_t i = 0; dirs && i <= view.count; i++)
		if (!(dirs[i] = strdup(i < view.count ? view.dirs[i] : s->steps[root].fs)))
			return err_set(e, -ENOMEM, "out of memory for a path");
	if (!dirs)
		return err_set(e, -ENOMEM, "out of memory for %zu layers", view.count);
	*ret = steal(dirs);
	*ret_count = view.count + 1;
	return 0;
}

/* The image's steps; gives how many. ret has room for all. */
static size_t store_image_steps(const struct plan *p, size_t *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < p->step_count; i++)
		if (p->steps[i].kind != PLAN_BUILDROOT)
			ret[n++] = i;
	return n;
}

void bake_store_merge_key(const struct bake_store *s, char ret[DIGEST_HEX_BYTES])
{
	size_t *indices = calloc(s->plan->step_count, sizeof(*indices));

	ret[0] = '\0';
	if (indices)
		merge_key(s->plan, indices, store_image_steps(s->plan, indices), ret);
	free(indices);
}

static int folder_is_empty(const char *path, bool *ret, struct err *e)
{
	AUTO_DIR dir = opendir(path); /* NOLINT(clang-analyzer-core.NonNullParamChecker): layer_path gave it */
	if (!dir)
		return err_sys(e, "list %s", path);
	*ret = true;
	for (struct dirent *d; (d = readdir(dir));)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			*ret = false;
	return 0;
}

int bake_store_merge(struct bake_store *s, const char *key, bool *ret_empty, struct err *e)
{
	AUTO_STR fs = NULL;
	size_t *indices = calloc(s->plan->step_count, sizeof(*indices));
	int rc = indices ? 0 : err_set(e, -ENOMEM, "out of memory for %zu layers", s->plan->step_count);

	if (rc == 0) {
		pthread_mutex_lock(&s->lock);
		rc = store_make_merge(s, indices, store_image_steps(s->plan, indices), key, e);
		pthread_mutex_unlock(&s->lock);
	}
	free(indices);
	if (rc == 0)
		rc = layer_path(key, "fs", &fs, e);
	return rc < 0 ? rc : folder_is_empty(fs, ret_empty, e);
}
