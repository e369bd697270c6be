/* SPDX-License-Identifier: MIT */
#include "bake/bake_jobs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

#include "bake/fetch.h"
#include "bake/graph.h"
#include "bake/step.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/state.h"

#define JOBS_THREADS 2u
#define JOBS_NO_ROOM_BYTES ((uint64_t)4 << 20) /* a script that failed with less than this free failed of it */

struct job {
	struct bake_jobs *jobs;
	size_t step;
	bool base_only; /* fetch: the base's files; else all others */
};

bool bake_jobs_stopped(void *arg)
{
	const struct bake_jobs *b = arg;
	return b->cancel || (b->stop && *b->stop);
}

static void jobs_cancel(void *arg)
{
	struct bake_jobs *b = arg;
	b->cancel = 1;
}

/* How a progress step ends: one that another's failure or the user ended did not fail itself. */
static void job_show_end(struct progress_step *step, int rc)
{
	if (rc == -EINTR)
		progress_end(step, PROGRESS_WARN, "stopped");
	else
		progress_end(step, rc < 0 ? PROGRESS_FAILED : PROGRESS_DONE, NULL);
}

/* ---- download ---- */

/* The files of the base, or of all other steps that are built. Gives how many; list may be NULL to count. */
static size_t jobs_sources(const struct bake_store *s, bool base, const struct plan_source **list)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->step_count; i++) {
		const struct plan_step *step = &s->plan->steps[i];
		if (!s->steps[i].build || (step->kind == PLAN_BASE) != base)
			continue;
		for (size_t k = 0; k < step->deb_count; k++, n++)
			if (list)
				list[n] = &step->debs[k];
		for (size_t k = 0; k < step->source_count; k++, n++)
			if (list)
				list[n] = &step->sources[k];
	}
	return n;
}

static int job_fetch(void *arg, struct err *e)
{
	const struct job *j = arg;
	struct bake_jobs *b = j->jobs;
	size_t count = jobs_sources(b->store, j->base_only, NULL);
	const struct plan_source **list = calloc(count ? count : 1, sizeof(*list));
	if (!list)
		return err_set(e, -ENOMEM, "out of memory for %zu downloads", count);

	jobs_sources(b->store, j->base_only, list);
	struct progress_step *step =
		progress_start(b->progress, j->base_only ? "download base" : "download components");
	struct fetch_options o = { .step = step, .stop = b->stop, .cancel = &b->cancel };
	int rc = fetch_all(list, count, &o, e);
	job_show_end(step, rc);
	free(list);
	return rc;
}

/* ---- build ---- */

/* STATE/log/<stack>-<step>.log, emptied. */
static int job_open_log(const struct bake_jobs *b, const struct plan_step *step, char **ret, int *ret_fd, struct err *e)
{
	AUTO_STR dir = NULL;
	int rc = state_dir("log", &dir, e);
	if (rc < 0)
		return rc;
	AUTO_STR path = str_printf("%s/%s-%s.log", dir, b->plan->stack_name, step->name);
	if (!path)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(e, "create %s", path);
	*ret = steal(path);
	*ret_fd = fd;
	return 0;
}

/* A script that ends badly on a full disk says so in many ways: one clear line instead. */
static int job_explain(const struct plan_step *step, const char *dir, struct err *e)
{
	struct statvfs v;

	if (!e || e->space != ERR_CHILD || statvfs(dir, &v) < 0 ||
	    ((uint64_t)v.f_bavail * v.f_frsize >= JOBS_NO_ROOM_BYTES && v.f_favail > 16))
		return e ? e->code : -EIO;
	return err_set(e, -ENOSPC,
		       "no space left in %s while %s was built: free some, or set KILN_STATE to a folder that has", dir,
		       step->name);
}

static void job_note_failure(struct bake_jobs *b, const struct plan_step *step, const char *log, const struct err *e)
{
	pthread_mutex_lock(&b->lock);
	if (b->failure && !b->failure->step[0] && e && e->space == ERR_CHILD) {
		snprintf(b->failure->step, sizeof(b->failure->step), "%s", step->name);
		snprintf(b->failure->log, sizeof(b->failure->log), "%s", log);
	}
	pthread_mutex_unlock(&b->lock);
}

static int job_build_in(struct bake_jobs *b, size_t index, const char *dir, struct progress_step *progress,
			struct err *e)
{
	const struct plan_step *what = &b->plan->steps[index];
	AUTO_STRINGS build_below = NULL;
	AUTO_STR log = NULL;
	AUTO_FD log_fd = -1;
	struct step s = { .plan = b->plan,
			  .what = what,
			  .dir = dir,
			  .progress = progress,
			  .stopped = bake_jobs_stopped,
			  .stopped_arg = b };

	int rc = job_open_log(b, what, &log, &log_fd, e);
	if (rc == 0)
		rc = bake_store_below(b->store, index, &s.below, e);
	if (rc == 0)
		rc = bake_store_build_below(b->store, index, &build_below, &s.build_below.count, e);
	if (rc < 0)
		return rc;
	s.build_below.dirs = (const char *const *)build_below;
	s.log_fd = log_fd;
	s.log_path = log;
	rc = step_run(&s, e);
	if (rc < 0 && rc != -EINTR) {
		rc = job_explain(what, dir, e);
		job_note_failure(b, what, log, e);
	}
	return rc < 0 ? rc : layer_commit(dir, what->key, what->name, what->version, b->plan->epoch, false, NULL, e);
}

static int job_build(void *arg, struct err *e)
{
	const struct job *j = arg;
	struct bake_jobs *b = j->jobs;
	const struct plan_step *what = &b->plan->steps[j->step];
	AUTO_STR dir = NULL;
	int64_t begin_ns = clock_mono_ns();
	struct err local = { 0 };
	e = e ? e : &local;

	struct progress_step *progress = progress_start(b->progress, "%s %s", what->name, what->version);
	int rc = layer_begin(what->key, &dir, e);
	if (rc == 0)
		rc = job_build_in(b, j->step, dir, progress, e);
	if (rc < 0)
		layer_abandon(dir);
	b->store->steps[j->step].ns = clock_mono_ns() - begin_ns;
	job_show_end(progress, rc);
	return rc;
}

/* ---- pack ---- */

static int job_pack(void *arg, struct err *e)
{
	const struct job *j = arg;
	const struct bake_jobs *b = j->jobs;

	if (bake_jobs_stopped(j->jobs))
		return err_set(e, -EINTR, "interrupted");
	return layer_pack(b->plan->steps[j->step].key, b->plan->epoch, NULL, e);
}

/* ---- all ---- */

static bool step_to_pack(const struct bake_store *s, size_t i)
{
	struct layer_info info;

	if (s->plan->steps[i].kind == PLAN_BUILDROOT)
		return false;
	return s->steps[i].build || !layer_find(s->plan->steps[i].key, &info) || !info.digest[0];
}

unsigned bake_jobs_count(const struct bake_store *s)
{
	unsigned n = (jobs_sources(s, true, NULL) > 0) + (jobs_sources(s, false, NULL) > 0);

	for (size_t i = 0; i < s->plan->step_count; i++)
		n += s->steps[i].build;
	return n;
}

struct jobs_made {
	struct graph_job *graph;
	struct job *jobs;
	size_t count;
};

static void jobs_made_fini(struct jobs_made *m)
{
	free(m->graph);
	free(m->jobs);
}

static size_t jobs_add(struct jobs_made *m, struct bake_jobs *b, int (*run)(void *arg, struct err *e), size_t step)
{
	m->jobs[m->count] = (struct job){ .jobs = b, .step = step };
	m->graph[m->count] = (struct graph_job){ .run = run, .arg = &m->jobs[m->count] };
	return m->count++;
}

static void job_wait_for(struct jobs_made *m, size_t job, size_t other)
{
	struct graph_job *g = &m->graph[job];
	if (other != SIZE_MAX && g->after_count < GRAPH_AFTER_MAX)
		g->after[g->after_count++] = other;
}

/* The order in the list is the order of preference: what others wait for comes first, packing last. */
static void jobs_fill(struct jobs_made *m, struct bake_jobs *b, size_t *build_job)
{
	const struct plan *p = b->plan;
	size_t fetch_base = SIZE_MAX, fetch_rest = SIZE_MAX;

	if (jobs_sources(b->store, true, NULL) > 0) {
		fetch_base = jobs_add(m, b, job_fetch, 0);
		m->jobs[fetch_base].base_only = true;
	}
	if (jobs_sources(b->store, false, NULL) > 0)
		fetch_rest = jobs_add(m, b, job_fetch, 0);
	for (size_t i = 0; i < p->step_count; i++) {
		const struct plan_step *s = &p->steps[i];
		build_job[i] = SIZE_MAX;
		if (!b->store->steps[i].build)
			continue;
		build_job[i] = jobs_add(m, b, job_build, i);
		job_wait_for(m, build_job[i], s->kind == PLAN_BASE ? fetch_base : fetch_rest);
		for (size_t k = 0; k < s->need_count; k++)
			job_wait_for(m, build_job[i], build_job[s->needs[k]]);
		if (s->buildroot < i)
			job_wait_for(m, build_job[i], build_job[s->buildroot]);
	}
	for (size_t i = 0; i < p->step_count; i++)
		if (step_to_pack(b->store, i))
			job_wait_for(m, jobs_add(m, b, job_pack, i), build_job[i]);
}

int bake_jobs_run(struct bake_jobs *b, struct err *e)
{
	size_t most = 2 * b->plan->step_count + 2;
	__attribute__((cleanup(jobs_made_fini))) struct jobs_made m = { calloc(most, sizeof(*m.graph)),
									calloc(most, sizeof(*m.jobs)), 0 };
	size_t *build_job = calloc(b->plan->step_count, sizeof(*build_job));
	if (!m.graph || !m.jobs || !build_job) {
		free(build_job);
		return err_set(e, -ENOMEM, "out of memory for %zu steps", b->plan->step_count);
	}
	pthread_mutex_init(&b->lock, NULL);
	jobs_fill(&m, b, build_job);
	free(build_job);
	int rc = graph_run(m.graph, m.count, JOBS_THREADS, jobs_cancel, b, e);
	pthread_mutex_destroy(&b->lock);
	if (rc == -ENOSPC)
		fetch_remove_parts();
	return rc;
}
