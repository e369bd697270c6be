/* SPDX-License-Identifier: MIT */
#include "stack/plan.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/state.h"
#include "stack/apt.h"
#include "stack/plan_key.h"
#include "stack/plan_steps.h"
#include "stack/selection.h"
#include "stack/words.h"

/* Debian's name for this machine's architecture. */
static int read_architecture(const char **ret, struct err *e)
{
	static const char *const known[][2] = { { "x86_64", "amd64" }, { "aarch64", "arm64" } };
	struct utsname name;
	if (uname(&name) < 0)
		return err_sys(e, "uname");
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (strcmp(name.machine, known[i][0]) == 0) {
			*ret = known[i][1];
			return 0;
		}
	return err_set(e, -EOPNOTSUPP, "images can be made on x86_64 and aarch64, not on %s", name.machine);
}

static int read_epoch(const struct apt *a, int64_t *ret, struct err *e)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	if (!text || !*text) {
		*ret = a->base_date_s;
		return 0;
	}
	char *end;
	errno = 0;
	long long seconds = strtoll(text, &end, 10);
	if (errno || *end || end == text || seconds < 0)
		return err_input(e, "SOURCE_DATE_EPOCH '%s' is not a number of seconds", text);
	*ret = seconds;
	return 0;
}

/* All that is not a step. */
static int fill_head(struct plan *p, const struct stack *s, const struct os *os, const struct apt *a, struct err *e)
{
	char date[CLOCK_TEXT_BYTES];
	clock_text(a->newest_date_s * 1000000000, date);
	p->stack_name = strdup(s->name);
	p->os = strdup(os->name);
	p->os_title = strdup(os->title);
	p->suite = strdup(os->suite);
	p->architecture = strdup(a->architecture);
	p->snapshot_date = strdup(date);
	memcpy(p->snapshot, a->snapshot, sizeof(p->snapshot));
	if (!p->stack_name || !p->os || !p->os_title || !p->suite || !p->architecture || !p->snapshot_date)
		return err_set(e, -ENOMEM, "out of memory");
	int rc = os_apt_sources(os, NULL, &p->mirrors, &p->apt_sources, e);
	if (rc < 0 || (rc = words_add_env(&p->env, s->env, e)) < 0)
		return rc;
	return read_epoch(a, &p->epoch, e);
}

int plan_resolve(const struct stack *s, const struct plan_options *o, struct plan **ret, struct err *e)
{
	AUTO(selection) sel = NULL;
	AUTO(os) os = NULL;
	AUTO(apt) a = NULL;
	AUTO(plan) p = calloc(1, sizeof(*p));
	const char *architecture;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	int rc = selection_new(s, o->components_dir, &sel,
			       e); /* all that is wrong in files, before anything is fetched */
	if (rc < 0 || (rc = os_load(s->os, &os, e)) < 0 || (rc = read_architecture(&architecture, e)) < 0 ||
	    (rc = apt_open(os, architecture, o->update, o->progress, &a, e)) < 0 ||
	    (rc = fill_head(p, s, os, a, e)) < 0 || (rc = plan_steps_fill(p, s, sel, a, e)) < 0 ||
	    (rc = plan_key_fill(p, e)) < 0)
		return rc;
	*ret = steal(p);
	return 0;
}

static void free_sources(struct plan_source *sources, size_t count)
{
	for (size_t i = 0; sources && i < count; i++) {
		free(sources[i].url);
		free(sources[i].file);
	}
	free(sources);
}

static void fini_step(struct plan_step *s)
{
	free(s->name);
	free(s->version);
	free(s->needs);
	own_free_strings(&s->packages);
	free_sources(s->debs, s->deb_count);
	free(s->deb_index);
	free_sources(s->sources, s->source_count);
	free(s->dir);
	free(s->source_tree);
	own_free_strings(&s->source_paths);
	free(s->source_digest);
	own_free_strings(&s->env);
	own_free_strings(&s->image_env);
	free(s->needed_by);
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->steps && i < p->step_count; i++)
		fini_step(&p->steps[i]);
	free(p->steps);
	free(p->stack_name);
	free(p->os);
	free(p->os_title);
	free(p->suite);
	free(p->architecture);
	free(p->apt_sources);
	free(p->snapshot_date);
	own_free_strings(&p->mirrors);
	own_free_strings(&p->env);
	free(p);
}

bool plan_is_cached(const struct plan_step *step)
{
	AUTO_STR layers = NULL;
	if (state_dir("layers", &layers, NULL) < 0)
		return false;
	AUTO_STR path = str_printf("%s/%s/layer.json", layers, step->key);
	return path && fdio_exists(AT_FDCWD, path);
}

int64_t plan_download_bytes(const struct plan_step *step)
{
	int64_t total = 0;
	for (size_t i = 0; i < step->deb_count; i++)
		total += step->debs[i].bytes;
	for (size_t i = 0; i < step->source_count; i++)
		total += step->sources[i].bytes > 0 ? step->sources[i].bytes : 0;
	return total;
}
