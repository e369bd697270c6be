/* SPDX-License-Identifier: MIT */
/* The root file system that everything stands on, from mmdebstrap. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "bake/pool.h"
#include "bake/sandbox.h"
#include "bake/step.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/fdio.h"
#include "base/own.h"

struct base_paths {
	char *fs, *work, *empty, *links, *root, *pool;
};

static void base_paths_fini(struct base_paths *p)
{
	free(p->fs);
	free(p->work);
	free(p->empty);
	free(p->links);
	free(p->root);
	free(p->pool);
}

static int base_paths_init(struct base_paths *p, const char *dir, struct err *e)
{
	p->fs = fdio_join(dir, "fs");
	p->work = fdio_join(dir, "work");
	p->empty = fdio_join(dir, "empty");
	p->links = fdio_join(dir, "links");
	p->root = fdio_join(dir, "root");
	p->pool = fdio_join(dir, "pool");
	if (!p->fs || !p->work || !p->empty || !p->links || !p->root || !p->pool)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = fdio_mkdir_p(p->empty, 0755, e);
	return rc < 0 ? rc : fdio_mkdir_p(p->root, 0755, e);
}

static void base_tick(void *arg, const char *latest_line)
{
	progress_note(arg, latest_line);
}

static int base_mmdebstrap(const struct step *s, const struct base_paths *p, const struct overlay *o, struct err *e)
{
	const struct plan *plan = s->plan;
	int status = 0;
	AUTO_STR program = child_which("mmdebstrap");
	AUTO_STR mirror = str_printf("deb [trusted=yes] copy:%s ./", p->pool);
	AUTO_STR arch = str_printf("--architectures=%s", plan->architecture);
	AUTO_STR epoch = str_printf("SOURCE_DATE_EPOCH=%lld", (long long)plan->epoch);
	if (!program)
		return err_native(e, -ELIBACC, ERR_SYS, ENOENT,
				  "mmdebstrap is not installed: apt-get install mmdebstrap");
	if (!mirror || !arch || !epoch)
		return err_set(e, -ENOMEM, "out of memory for mmdebstrap's arguments");

	const char *argv[] = { program,
			       "--mode=root",
			       "--variant=minbase",
			       "--format=directory",
			       "--aptopt=Acquire::Languages \"none\"",
			       "--dpkgopt=force-unsafe-io",
			       arch,
			       plan->suite,
			       p->root,
			       mirror,
			       NULL };
	const char *env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			      "HOME=/root",
			      "LC_ALL=C.UTF-8",
			      "TMPDIR=/tmp",
			      epoch,
			      NULL };
	struct sandbox box = {
		.overlay = o,
		.root = p->root,
		.argv = argv,
		.env = env,
		.keep_host = true,
		.log_fd = s->log_fd,
		.tick = base_tick,
		.tick_arg = s->progress,
		.stopped = s->stopped,
		.stopped_arg = s->stopped_arg,
	};
	int rc = sandbox_run(&box, &status, e);
	return rc < 0 ? rc : step_check(s, "mmdebstrap", status, e);
}

/* The image's own package sources: the real mirrors instead of the pool it was made from. */
static int base_write_sources(const struct step *s, const struct base_paths *p, struct err *e)
{
	AUTO_STR list = fdio_join(p->fs, "etc/apt/sources.list");
	AUTO_STR parts = fdio_join(p->fs, "etc/apt/sources.list.d");
	AUTO_STR file = fdio_join(p->fs, "etc/apt/sources.list.d/debian.sources");
	if (!list || !parts || !file)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = fdio_remove_tree(list, e);
	if (rc == 0)
		rc = fdio_remove_tree(parts, e);
	if (rc == 0)
		rc = fdio_mkdir_p(parts, 0755, e);
	const char *text = s->plan->apt_sources ? s->plan->apt_sources : "";
	return rc < 0 ? rc : fdio_write_file(AT_FDCWD, file, text, strlen(text), 0644, e);
}

int step_base_run(const struct step *s, struct err *e)
{
	__attribute__((cleanup(base_paths_fini))) struct base_paths p = { 0 };
	__attribute__((cleanup(overlay_fini))) struct overlay o = { 0 };
	int rc = base_paths_init(&p, s->dir, e);

	if (rc == 0)
		rc = pool_make(p.pool, s->plan, s->what, e);
	/* An overlay over nothing: what dpkg would fsync file by file goes to disk once, when the layer is kept. */
	const char *lowers[] = { p.empty };
	if (rc == 0)
		rc = overlay_init(&o, p.links, lowers, 1, p.fs, p.work, e);
	if (rc == 0)
		rc = base_mmdebstrap(s, &p, &o, e);
	return rc < 0 ? rc : base_write_sources(s, &p, e);
}
