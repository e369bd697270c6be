/* SPDX-License-Identifier: MIT */
/* A squashfs that enroot and pyxis start. What they expect in it (enroot 4.1.2, src/docker.sh and src/runtime.sh):
 * /etc/environment (KEY=value lines), /etc/rc (a shell script that starts the command), /etc/rc.local, /etc/fstab. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "bake/sandbox.h"
#include "bake/sqsh_made.h"
#include "bake/step.h"
#include "bake/target.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/fdio.h"
#include "base/own.h"
#include "base/state.h"

#define SQSH_ENVIRONMENT_MAX ((size_t)1 << 20)

static const char sqsh_rc[] = "# enroot-provenance: kiln:%s@%s\n"
			      "mkdir -p \"/\" 2> /dev/null\n"
			      "cd \"/\" && unset OLDPWD || exit 1\n"
			      "\n"
			      "if [ -s /etc/rc.local ]; then\n"
			      "    . /etc/rc.local\n"
			      "fi\n"
			      "\n"
			      "if [ $# -gt 0 ]; then\n"
			      "    exec \"$@\"\n"
			      "else\n"
			      "    exec '/bin/bash'\n"
			      "fi\n";

struct sqsh_paths {
	char *dir; /* everything below it is removed at the end */
	char *top; /* the layer with enroot's files */
	char *links;
	char *root;
	char *part; /* the file in the making, beside the output */
};

static void sqsh_paths_fini(struct sqsh_paths *p)
{
	if (p->dir)
		fdio_remove_tree(p->dir, NULL);
	if (p->part)
		unlink(p->part);
	free(p->dir);
	free(p->top);
	free(p->links);
	free(p->root);
	free(p->part);
}

static int sqsh_paths_init(struct sqsh_paths *p, const char *output, struct err *e)
{
	int rc = layer_begin("sqsh", &p->dir, e); /* its folder is removed by the next bake if we die */
	if (rc < 0)
		return rc;
	p->top = fdio_join(p->dir, "fs");
	p->links = fdio_join(p->dir, "links");
	p->root = fdio_join(p->dir, "root");
	p->part = str_printf("%s.new-%d", output, (int)getpid());
	if (!p->top || !p->links || !p->root || !p->part)
		return err_set(e, -ENOMEM, "out of memory for a path");
	unlink(p->part);
	return fdio_mkdir_p(p->root, 0755, e);
}

static int sqsh_write_file(const char *top, const char *name, const char *text, mode_t mode, struct err *e)
{
	AUTO_STR path = fdio_join(top, name);
	return path ? fdio_write_file(AT_FDCWD, path, text, strlen(text), mode, e)
		    : err_set(e, -ENOMEM, "out of memory for a path");
}

static int sqsh_write_top(const struct target_input *in, const char *top, struct err *e)
{
	AUTO_STRINGS env = NULL;
	AUTO_STR etc = fdio_join(top, "etc");
	AUTO_STR rc_text = str_printf(sqsh_rc, in->plan->stack_name, in->plan->key);
	AUTO_BUF environment;
	buf_init(&environment, SQSH_ENVIRONMENT_MAX);
	buf_str(&environment, "");

	int rc = etc && rc_text ? target_env(in->plan, &env, e) : err_set(e, -ENOMEM, "out of memory for a path");
	if (rc == 0)
		rc = fdio_mkdir_p(etc, 0755, e);
	for (char **v = env; rc == 0 && *v; v++)
		buf_printf(&environment, "%s\n", *v);
	if (rc == 0 && environment.failed < 0)
		rc = err_set(e, environment.failed, "the image's environment is too long");
	if (rc == 0)
		rc = sqsh_write_file(top, "etc/environment", buf_text(&environment), 0644, e);
	if (rc == 0)
		rc = sqsh_write_file(top, "etc/rc", rc_text, 0755, e);
	if (rc == 0)
		rc = sqsh_write_file(top, "etc/rc.local", "", 0755, e);
	return rc < 0 ? rc : sqsh_write_file(top, "etc/fstab", "", 0644, e);
}

static int sqsh_overlay(const struct target_input *in, const struct sqsh_paths *p, struct overlay *o, struct err *e)
{
	AUTO_STRINGS lowers = calloc(in->layer_count + 2, sizeof(*lowers));
	int rc = lowers ? 0 : err_set(e, -ENOMEM, "out of memory for %zu layers", in->layer_count);

	for (size_t i = 0; i < in->layer_count && rc == 0; i++)
		rc = layer_path(in->layers[i].key, "fs", &lowers[i], e);
	if (rc == 0 && !(lowers[in->layer_count] = strdup(p->top)))
		rc = err_set(e, -ENOMEM, "out of memory for a path");
	return rc < 0 ? rc : overlay_init(o, p->links, (const char *const *)lowers, in->layer_count + 1, NULL, NULL, e);
}

/* Owners become root, as enroot's own import does it: a container's users are one user on the host. */
static int sqsh_run(const struct target_input *in, const struct sqsh_paths *p, const struct overlay *o, int log_fd,
		    const char *log, struct err *e)
{
	int status = 0;
	AUTO_STR program = child_which("mksquashfs");
	AUTO_STR epoch = str_printf("%lld", (long long)in->plan->epoch);
	if (!program || !epoch)
		return err_set(e, -ELIBACC, "mksquashfs is not installed: apt-get install squashfs-tools");
	const char *argv[] = {
		program,  p->root,          p->part, "-all-root", "-comp", "zstd",      "-Xcompression-level",
		"3",      "-mkfs-time",     epoch,   "-all-time", epoch,   "-noappend", "-no-progress",
		"-quiet", "-exit-on-error", NULL
	};
	const char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", NULL };
	struct sandbox box = {
		.overlay = o,
		.root = p->root,
		.argv = argv,
		.env = env,
		.keep_host = true,
		.log_fd = log_fd,
		.stopped = in->stopped,
		.stopped_arg = in->stopped_arg,
	};
	int rc = sandbox_run(&box, &status, e);
	if (rc < 0 || status == 0)
		return rc;
	AUTO_STR last = child_last_lines(log, 1);
	return err_native(e, -EIO, ERR_CHILD, status, "mksquashfs failed on %s: %s", in->output, last ? last : log);
}

static int sqsh_check(const char *output, struct err *e)
{
	AUTO_STR program = child_which("mksquashfs");
	struct stat st;
	if (!program)
		return err_set(e, -ELIBACC, "mksquashfs is not installed: apt-get install squashfs-tools");
	if (stat(output, &st) == 0 && !S_ISREG(st.st_mode))
		return err_input(e, "%s is there and is not a file: choose another --output", output);
	return target_check_folder(output, e);
}

static int sqsh_write(const struct target_input *in, struct target_output *ret, struct err *e)
{
	__attribute__((cleanup(sqsh_paths_fini))) struct sqsh_paths p = { 0 };
	__attribute__((cleanup(overlay_fini))) struct overlay o = { 0 };
	AUTO_STR log_dir = NULL;
	AUTO_STR log = NULL;
	int rc = state_dir("log", &log_dir, e);
	if (rc == 0 && !(log = str_printf("%s/%s-sqsh.log", log_dir, in->plan->stack_name)))
		rc = err_set(e, -ENOMEM, "out of memory for a path");
	if (rc != 0)
		return rc;
	AUTO_FD log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0644);
	if (log_fd < 0)
		return err_sys(e, "create %s", log);

	rc = sqsh_paths_init(&p, in->output, e);
	if (rc == 0)
		rc = sqsh_write_top(in, p.top, e);
	if (rc == 0)
		rc = sqsh_overlay(in, &p, &o, e);
	if (rc == 0)
		rc = sqsh_run(in, &p, &o, log_fd, log, e);
	if (rc == 0)
		rc = digest_of_file(AT_FDCWD, p.part, ret->digest, e);
	if (rc == 0 && rename(p.part, in->output) < 0)
		rc = err_sys(e, "rename %s", p.part);
	return rc < 0 ? rc : sqsh_made_write(in, ret, e);
}

const struct bake_target target_sqsh = {
	.name = "sqsh",
	.help = "a squashfs file that enroot and pyxis start",
	.suffix = ".sqsh",
	.check = sqsh_check,
	.is_made = sqsh_made_read,
	.write = sqsh_write,
};
