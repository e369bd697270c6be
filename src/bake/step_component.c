/* SPDX-License-Identifier: MIT */
/* A component (or the packages of a buildroot) over the layers it needs: build.sh, install.sh, verify.sh. */
#include <string.h>

#include "bake/pool.h"
#include "bake/sandbox.h"
#include "bake/scaffold.h"
#include "bake/step.h"
#include "base/buf.h"
#include "base/fdio.h"
#include "base/own.h"

#define COMPONENT_BINDS_MAX 64
#define COMPONENT_ENV_MAX 128

/* Exit statuses of the driver below, which say what failed. */
#define DRIVER_UPDATE_FAILED 121
#define DRIVER_INSTALL_FAILED 122
#define DRIVER_VERIFY_FAILED 123

#define DRIVER_APT                                                            \
	"mkdir -p /run/kiln/lists/partial /run/kiln/cache/archives/partial\n" \
	"if [ -s /run/kiln/pool/Packages ]; then apt-get -q update || exit 121; fi\n"

static const char driver_component[] = DRIVER_APT
	"echo '--- install.sh'\n"
	"bash -euo pipefail /run/kiln/step/install.sh || { echo \"install.sh ended with status $?\"; exit 122; }\n"
	"echo '--- verify.sh'\n"
	"[ ! -e /run/kiln/step/verify.sh ] || bash -euo pipefail /run/kiln/step/verify.sh ||\n"
	"  { echo \"verify.sh ended with status $?\"; exit 123; }\n";

static const char driver_packages[] = DRIVER_APT "apt-get -y install $KILN_PACKAGES || exit 122\n";

static const char driver_build[] =
	"echo '--- build.sh'\n"
	"bash -euo pipefail /run/kiln/step/build.sh || { echo \"build.sh ended with status $?\"; exit 122; }\n";

struct component_run {
	const struct step *step;
	const struct view *below;
	const char *fs;  /* upper folder */
	const char *tag; /* "install" or "build": names this run's folders */
	const char *script;
	const char *driver;
	bool dest_writable;
};

/* Everything that both runs of a step see. */
static int component_prepare(const struct step *s, struct err *e)
{
	static const char *const folders[] = { "root", "dest" };
	AUTO_STR pool = fdio_join(s->dir, "pool");
	AUTO_STR sources = fdio_join(s->dir, "sources");
	if (!pool || !sources)
		return err_set(e, -ENOMEM, "out of memory for a path");

	int rc = pool_make(pool, s->plan, s->what, e);
	if (rc == 0)
		rc = pool_make_sources(sources, s->what, e);
	if (rc == 0)
		rc = scaffold_make(s->dir, e);
	for (size_t i = 0; i < COUNT_OF(folders) && rc == 0; i++) {
		AUTO_STR path = fdio_join(s->dir, folders[i]);
		rc = path ? fdio_mkdir_p(path, 0755, e) : err_set(e, -ENOMEM, "out of memory for a path");
	}
	return rc;
}

/* Adds NAME=value to a list that is as long as it may be; takes text. */
static int component_env_add(char **env, size_t *n, char *text, struct err *e)
{
	if (!text)
		return err_set(e, -ENOMEM, "out of memory for a script's environment");
	if (*n + 1 >= COMPONENT_ENV_MAX) {
		free(text);
		return err_set(e, -E2BIG, "more than %d variables for a script", COMPONENT_ENV_MAX);
	}
	env[(*n)++] = text;
	return 0;
}

static char *component_packages_text(const struct plan_step *s)
{
	AUTO_BUF b;
	buf_init(&b, (size_t)1 << 20);
	buf_str(&b, "KILN_PACKAGES=");
	for (char **p = s->packages; p && *p; p++)
		buf_printf(&b, "%s%s", p == s->packages ? "" : " ", *p);
	return buf_steal(&b);
}

/* A clean environment: nothing of the caller's gets in. Gives the list (AUTO_STRINGS). */
static int component_env(const struct step *s, char ***ret, struct err *e)
{
	static const char *const fixed[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root",
		"LC_ALL=C.UTF-8",
		"TERM=dumb",
		"PYTHONHASHSEED=0", /* compiled Python files must not depend on the run */
		"DEBIAN_FRONTEND=noninteractive",
		"APT_CONFIG=/run/kiln/apt/apt.conf",
		"KILN_DEST=/run/kiln/dest",
		"KILN_SOURCES=/run/kiln/sources",
		"KILN_SOURCE_TREE=/run/kiln/source",
	};
	AUTO_STRINGS env = calloc(COMPONENT_ENV_MAX, sizeof(*env));
	size_t n = 0;
	int rc = env ? 0 : err_set(e, -ENOMEM, "out of memory for a script's environment");

	for (size_t i = 0; i < COUNT_OF(fixed) && rc == 0; i++)
		rc = component_env_add(env, &n, strdup(fixed[i]), e);
	if (rc == 0)
		rc = component_env_add(env, &n, str_printf("SOURCE_DATE_EPOCH=%lld", (long long)s->plan->epoch), e);
	if (rc == 0)
		rc = component_env_add(env, &n, component_packages_text(s->what), e);
	if (rc == 0)
		rc = component_env_add(env, &n, str_printf("KILN_COMPONENT=%s", s->what->name), e);
	for (char **v = s->what->env; v && *v && rc == 0; v++)
		rc = component_env_add(env, &n, strdup(*v), e);
	if (rc == 0)
		*ret = steal(env);
	return rc;
}

/* A folder of the step, bound at /run/kiln/<name>; `names` keeps the strings. */
static int component_bind(struct sandbox_bind *binds, size_t *n, char **names, char *from, char *to, bool writable,
			  struct err *e)
{
	if (!from || !to || *n >= COMPONENT_BINDS_MAX) {
		free(from);
		free(to);
		return err_set(e, *n >= COMPONENT_BINDS_MAX ? -E2BIG : -ENOMEM, "too much to bind into the sandbox");
	}
	names[*n * 2] = from;
	names[*n * 2 + 1] = to;
	binds[(*n)++] = (struct sandbox_bind){ from, to, writable };
	return 0;
}

static int component_binds(const struct component_run *r, struct sandbox_bind *binds, size_t *n, char **names,
			   struct err *e)
{
	static const char *const folders[] = { "pool", "sources", "apt", "dest" };
	const struct step *s = r->step;
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(folders) && rc == 0; i++)
		rc = component_bind(binds, n, names, fdio_join(s->dir, folders[i]),
				    str_printf("/run/kiln/%s", folders[i]),
				    r->dest_writable && strcmp(folders[i], "dest") == 0, e);
	if (rc == 0 && s->what->dir)
		rc = component_bind(binds, n, names, strdup(s->what->dir), strdup("/run/kiln/step"), false, e);
	for (char **path = r->dest_writable && s->what->source_tree ? s->what->source_paths : NULL;
	     path && *path && rc == 0; path++)
		rc = component_bind(binds, n, names, fdio_join(s->what->source_tree, *path),
				    str_printf("/run/kiln/source/%s", *path), false, e);
	return rc;
}

static void component_tick(void *arg, const char *latest_line)
{
	progress_note(arg, latest_line);
}

static int component_overlay(const struct component_run *r, struct overlay *o, struct err *e)
{
	const struct step *s = r->step;
	AUTO_STR links = str_printf("%s/%s-links", s->dir, r->tag);
	AUTO_STR work = str_printf("%s/%s-work", s->dir, r->tag);
	AUTO_STR scaffold = fdio_join(s->dir, "scaffold");
	const char **lowers = calloc(r->below->count + 1, sizeof(*lowers));
	int rc = links && work && scaffold && lowers ? 0 : err_set(e, -ENOMEM, "out of memory for a stack of layers");

	for (size_t i = 0; i < r->below->count && rc == 0; i++)
		lowers[i] = r->below->dirs[i];
	if (rc == 0)
		lowers[r->below->count] = scaffold;
	if (rc == 0)
		rc = fdio_mkdir_p(work, 0755, e);
	if (rc == 0)
		rc = fdio_mkdir_p(r->fs, 0755, e);
	if (rc == 0)
		rc = overlay_init(o, links, lowers, r->below->count + 1, r->fs, work, e);
	free(lowers);
	return rc;
}

static int component_run(const struct component_run *r, struct err *e)
{
	const struct step *s = r->step;
	const char *argv[] = { "/bin/bash", "-c", r->driver, NULL };
	struct sandbox_bind binds[COMPONENT_BINDS_MAX];
	AUTO_STRINGS names = calloc(2 * COMPONENT_BINDS_MAX + 1, sizeof(*names));
	AUTO_STRINGS env = NULL;
	AUTO_STR root = fdio_join(s->dir, "root");
	__attribute__((cleanup(overlay_fini))) struct overlay o = { 0 };
	size_t bind_count = 0;
	int status = 0;

	int rc = names && root ? component_overlay(r, &o, e) : err_set(e, -ENOMEM, "out of memory for a sandbox");
	if (rc == 0)
		rc = component_binds(r, binds, &bind_count, names, e);
	if (rc == 0)
		rc = component_env(s, &env, e);
	if (rc < 0)
		return rc;
	struct sandbox box = {
		.overlay = &o,
		.root = root,
		.binds = binds,
		.bind_count = bind_count,
		.argv = argv,
		.env = (const char *const *)env,
		.log_fd = s->log_fd,
		.tick = component_tick,
		.tick_arg = s->progress,
		.stopped = s->stopped,
		.stopped_arg = s->stopped_arg,
	};
	rc = sandbox_run(&box, &status, e);
	if (rc < 0)
		return rc;
	if (status == DRIVER_UPDATE_FAILED)
		return step_check(s, "apt-get update of the fetched packages", status, e);
	if (status == DRIVER_INSTALL_FAILED || status == DRIVER_VERIFY_FAILED)
		return err_native(e, -EIO, ERR_CHILD, status, "%s: %s failed: see %s", s->what->name,
				  status == DRIVER_VERIFY_FAILED ? "verify.sh" : r->script, s->log_path);
	return step_check(s, r->script, status, e);
}

static int component_build(const struct step *s, struct err *e)
{
	AUTO_STR fs = fdio_join(s->dir, "build-fs");
	if (!fs)
		return err_set(e, -ENOMEM, "out of memory for a path");
	struct component_run build = {
		.step = s,
		.below = &s->build_below,
		.fs = fs,
		.tag = "build",
		.script = "build.sh",
		.driver = driver_build,
		.dest_writable = true,
	};
	int rc = component_run(&build, e);
	return rc < 0 ? rc : fdio_remove_tree(fs, e);
}

int step_component_run(const struct step *s, struct err *e)
{
	AUTO_STR fs = fdio_join(s->dir, "fs");
	if (!fs)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = component_prepare(s, e);
	if (rc == 0 && s->build_below.count > 0)
		rc = component_build(s, e);
	if (rc < 0)
		return rc;
	struct component_run install = {
		.step = s,
		.below = &s->below,
		.fs = fs,
		.tag = "install",
		.script = s->what->dir ? "install.sh" : "apt-get install",
		.driver = s->what->dir ? driver_component : driver_packages,
	};
	return component_run(&install, e);
}
