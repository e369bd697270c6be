/* SPDX-License-Identifier: MIT */
#include "bake/merge_layer.h"

#include <fcntl.h>

#include "bake/bake_store.h"
#include "bake/sandbox.h"
#include "bake/tidy.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/fdio.h"
#include "base/own.h"
#include "image/layer.h"

struct merge_folders {
	char *dir; /* from layer_begin; abandoned unless it was kept */
	char *fs, *work, *links, *root, *log;
};

static void merge_folders_fini(struct merge_folders *f)
{
	layer_abandon(f->dir);
	free(f->dir);
	free(f->fs);
	free(f->work);
	free(f->links);
	free(f->root);
	free(f->log);
}

static int merge_folders_init(struct merge_folders *f, const char *key, struct err *e)
{
	int rc = layer_begin(key, &f->dir, e);
	if (rc < 0)
		return rc;
	f->fs = fdio_join(f->dir, "fs");
	f->work = fdio_join(f->dir, "work");
	f->links = fdio_join(f->dir, "links");
	f->root = fdio_join(f->dir, "root");
	f->log = fdio_join(f->dir, "ldconfig.log");
	if (!f->fs || !f->work || !f->links || !f->root || !f->log)
		return err_set(e, -ENOMEM, "out of memory for a path");
	return fdio_mkdir_p(f->root, 0755, e);
}

/* In the stack of all layers, so that the loader finds every component's libraries. */
static int merge_ldconfig(const struct merge_layer *m, const struct merge_folders *f, const struct overlay *o,
			  struct err *e)
{
	static const char *const argv[] = { "/sbin/ldconfig", NULL };
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", NULL };
	int status = 0;
	AUTO_FD log = open(f->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (log < 0)
		return err_sys(e, "create %s", f->log);
	struct sandbox box = {
		.overlay = o,
		.root = f->root,
		.argv = argv,
		.env = env,
		.log_fd = log,
		.stopped = m->stopped,
		.stopped_arg = m->stopped_arg,
	};
	int rc = sandbox_run(&box, &status, e);
	if (rc < 0 || status == 0)
		return rc;
	AUTO_STR last = child_last_lines(f->log, 1);
	return err_native(e, -EIO, ERR_CHILD, status, "ldconfig failed on the joined layers: %s", last ? last : "");
}

static int merge_fill(const struct merge_layer *m, const struct merge_folders *f, struct err *e)
{
	__attribute__((cleanup(overlay_fini))) struct overlay o = { 0 };
	const char **dirs = calloc(m->count, sizeof(*dirs));
	bool ldconfig = false;
	int rc = dirs ? 0 : err_set(e, -ENOMEM, "out of memory for %zu layers", m->count);

	for (size_t i = 0; i < m->count && rc == 0; i++)
		dirs[i] = m->sides[i].fs;
	if (rc == 0)
		rc = merge_layers(m->sides, m->count, f->fs, &ldconfig, e);
	if (rc == 0 && ldconfig)
		rc = overlay_init(&o, f->links, dirs, m->count, f->fs, f->work, e);
	if (rc == 0 && ldconfig)
		rc = merge_ldconfig(m, f, &o, e);
	struct view all = { dirs, m->count };
	if (rc == 0)
		rc = tidy_layer(f->fs, &all, m->plan->epoch, e);
	free(dirs);
	return rc;
}

int merge_layer_make(const struct merge_layer *m, struct err *e)
{
	__attribute__((cleanup(merge_folders_fini))) struct merge_folders f = { 0 };
	int rc = merge_folders_init(&f, m->key, e);

	if (rc == 0)
		rc = merge_fill(m, &f, e);
	if (rc == 0)
		rc = layer_commit(f.dir, m->key, BAKE_MERGE_NAME, "", m->plan->epoch, false, NULL, e);
	return rc;
}
