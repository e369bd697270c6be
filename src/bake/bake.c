/* SPDX-License-Identifier: MIT */
#include "bake/bake.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bake/bake_jobs.h"
#include "bake/bake_lock.h"
#include "bake/bake_store.h"
#include "base/child.h"
#include "base/clock.h"

/* What one run holds. */
struct baking {
	const struct plan *plan;
	const struct bake_target *target;
	const char *output;
	const struct bake_options *options;
	struct progress *progress;
	struct bake_store store;
	struct bake_jobs jobs;
	int lock_fd;
	mode_t umask_before;
};

void bake_result_free(struct bake_result *r)
{
	if (!r)
		return;
	free(r->layers);
	free(r);
}

int bake_check(const struct bake_target *t, const char *output, struct err *e)
{
	if (geteuid() != 0)
		return err_set(e, -EPERM, "needs root for overlay mounts: run it with sudo");
	return t->check(output, e);
}

static void baking_fini(struct baking *b)
{
	bake_store_fini(&b->store);
	progress_free(b->progress);
	if (b->lock_fd >= 0)
		close(b->lock_fd);
	umask(b->umask_before);
}

/* The image's layers from the store, bottom first; false when one is missing or not packed. */
static bool baking_layers(const struct baking *b, struct bake_result *r)
{
	char merge[DIGEST_HEX_BYTES];
	const struct plan *p = b->plan;

	r->layer_count = 0;
	for (size_t i = 0; i < p->step_count; i++) {
		struct bake_layer *l = &r->layers[r->layer_count];
		if (p->steps[i].kind == PLAN_BUILDROOT)
			continue;
		if (!layer_find(p->steps[i].key, &l->info) || !l->info.digest[0])
			return false;
		l->cached = !b->store.steps[i].build;
		l->ns = b->store.steps[i].ns;
		r->layer_count++;
	}
	bake_store_merge_key(&b->store, merge);
	if (!merge[0])
		return true;
	struct bake_layer *l = &r->layers[r->layer_count];
	if (!layer_find(merge, &l->info))
		return false;
	l->cached = true;
	r->layer_count += l->info.digest[0] != '\0'; /* one that holds nothing is never packed */
	return true;
}

static int baking_target_input(const struct baking *b, const struct bake_result *r, struct layer_info **ret_layers,
			       struct target_input *ret, struct err *e)
{
	struct layer_info *layers = calloc(r->layer_count + 1, sizeof(*layers));
	if (!layers)
		return err_set(e, -ENOMEM, "out of memory for %zu layers", r->layer_count);
	for (size_t i = 0; i < r->layer_count; i++)
		layers[i] = r->layers[i].info;
	*ret_layers = layers;
	*ret = (struct target_input){ .plan = b->plan,
				      .layers = layers,
				      .layer_count = r->layer_count,
				      .output = b->output,
				      .stopped = bake_jobs_stopped,
				      .stopped_arg = (void *)&b->jobs };
	return 0;
}

/* Nothing to do: every layer is there and the output is made of them. */
static bool baking_is_made(const struct baking *b, struct bake_result *r)
{
	__attribute__((cleanup(own_free))) struct layer_info *layers = NULL;
	struct target_input in;
	struct target_output out = { 0 };

	for (size_t i = 0; i < b->plan->step_count; i++)
		if (b->store.steps[i].build)
			return false;
	if (!baking_layers(b, r) || baking_target_input(b, r, &layers, &in, NULL) < 0 || !b->target->is_made(&in, &out))
		return false;
	memcpy(r->digest, out.digest, sizeof(r->digest));
	r->bytes = out.bytes;
	r->unchanged = true;
	return true;
}

/* Gives the key of the joining layer when there has to be one and it is not there yet. */
static bool baking_must_merge(const struct baking *b, char ret_key[DIGEST_HEX_BYTES])
{
	struct layer_info info;

	bake_store_merge_key(&b->store, ret_key);
	return ret_key[0] && !(layer_find(ret_key, &info) && info.digest[0]);
}

/* The layer on top that joins independent components, packed when it holds something. */
static int baking_merge(struct baking *b, bool *ret_made, struct err *e)
{
	char key[DIGEST_HEX_BYTES];
	bool empty = true;

	*ret_made = false;
	if (!baking_must_merge(b, key))
		return 0;
	struct progress_step *step = progress_start(b->progress, "join the layers");
	int rc = bake_store_merge(&b->store, key, &empty, e);
	if (rc == 0 && !empty)
		rc = layer_pack(key, b->plan->epoch, NULL, e);
	progress_end(step, rc < 0 ? PROGRESS_FAILED : PROGRESS_DONE, NULL);
	*ret_made = rc == 0 && !empty;
	return rc;
}

static int baking_write(struct baking *b, struct bake_result *r, struct err *e)
{
	__attribute__((cleanup(own_free))) struct layer_info *layers = NULL;
	struct target_input in;
	struct target_output out = { 0 };
	int rc = baking_target_input(b, r, &layers, &in, e);
	if (rc < 0)
		return rc;

	in.progress = progress_start(b->progress, "write %s", b->output);
	rc = b->target->write(&in, &out, e);
	progress_end(in.progress, rc < 0 ? PROGRESS_FAILED : PROGRESS_DONE, NULL);
	memcpy(r->digest, out.digest, sizeof(r->digest));
	r->bytes = out.bytes;
	return rc;
}

static int baking_check_programs(const struct baking *b, struct err *e)
{
	AUTO_STR program = child_which("mmdebstrap");

	if (program)
		return 0;
	for (size_t i = 0; i < b->plan->step_count; i++)
		if (b->store.steps[i].build && b->plan->steps[i].kind == PLAN_BASE)
			return err_set(e, -ELIBACC, "mmdebstrap is not installed: apt-get install mmdebstrap");
	return 0;
}

/* What is to be done is looked up twice: before the lock, for a quick answer when it is nothing, and again with it, since
 * the bake that held it may have done it. */
static int baking_run(struct baking *b, struct bake_failure *failure, struct bake_result *r, struct err *e)
{
	char key[DIGEST_HEX_BYTES];
	bool merged = false;
	layer_remove_left_overs(); /* also when there is nothing to do: a dead bake's folders are large */
	target_remove_left_overs(b->output);
	int rc = bake_store_init(&b->store, b->plan, b->options->rebuild, e);
	if (rc < 0 || baking_is_made(b, r))
		return rc;
	b->progress = progress_new(b->options->show, bake_jobs_count(&b->store) + baking_must_merge(b, key) + 1);
	rc = bake_lock_take(b->progress, b->options->stop, &b->lock_fd, e);
	bake_store_fini(&b->store);
	if (rc == 0)
		rc = bake_store_init(&b->store, b->plan, b->options->rebuild, e);
	if (rc < 0 || baking_is_made(b, r))
		return rc;

	rc = baking_check_programs(b, e);
	b->jobs = (struct bake_jobs){ .plan = b->plan,
				      .store = &b->store,
				      .progress = b->progress,
				      .stop = b->options->stop,
				      .failure = failure };
	b->store.stopped = bake_jobs_stopped;
	b->store.stopped_arg = &b->jobs;
	if (rc == 0)
		rc = bake_jobs_run(&b->jobs, e);
	if (rc == 0)
		rc = baking_merge(b, &merged, e);
	if (rc == 0 && !baking_layers(b, r))
		rc = err_set(e, -EIO, "a layer vanished from the store while it was in use");
	if (rc == 0 && merged)
		r->layers[r->layer_count - 1].cached = false;
	return rc < 0 ? rc : baking_write(b, r, e);
}

int bake_make(const struct plan *p, const struct bake_target *t, const char *output, const struct bake_options *o,
	      struct bake_result **ret, struct bake_failure *failure, struct err *e)
{
	__attribute__((cleanup(baking_fini))) struct baking b = {
		.plan = p,
		.target = t,
		.output = output,
		.options = o,
		.lock_fd = -1,
		.umask_before = umask(0022), /* folders that kiln itself makes become the image's, whoever bakes */
	};
	int64_t begin_ns = clock_mono_ns();
	AUTO(bake_result) r = calloc(1, sizeof(*r));
	if (r)
		r->layers = calloc(p->step_count + 1, sizeof(*r->layers));
	if (!r || !r->layers)
		return err_set(e, -ENOMEM, "out of memory for %zu layers", p->step_count);

	int rc = bake_check(t, output, e);
	if (rc == 0)
		rc = baking_run(&b, failure, r, e);
	if (rc == -EINTR && o->stop && *o->stop)
		return err_set(e, -EINTR, "interrupted: what is finished is kept, the next run goes on from there");
	if (rc < 0)
		return rc;
	r->ns = clock_mono_ns() - begin_ns;
	*ret = steal(r);
	return 0;
}
