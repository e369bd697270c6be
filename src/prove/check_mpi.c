/* SPDX-License-Identifier: MIT */
/* There is something that starts ranks on many nodes. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/child.h"
#include "base/own.h"
#include "prove/check_package.h"
#include "prove/check_rows.h"

struct found {
	unsigned count; /* different files: /bin is often a link to /usr/bin */
	dev_t dev;
	ino_t ino; /* of the first */
	char first[512];
	char others[512];
};

static void look_in(const struct world *w, const char *dir, size_t len, const char *program, struct found *f)
{
	char path[512];
	struct stat st;
	if (!len || (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, program) >= sizeof(path))
		return;
	AUTO_FD fd = world_open(w, path, O_PATH, NULL);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (f->count && st.st_dev == f->dev && st.st_ino == f->ino))
		return;
	if (!f->count++) {
		snprintf(f->first, sizeof(f->first), "%s", path);
		f->dev = st.st_dev;
		f->ino = st.st_ino;
	} else {
		size_t at = strlen(f->others);
		snprintf(f->others + at, sizeof(f->others) - at, "%s%s", at ? ", " : "", path);
	}
}

static void find(const struct world *w, const char *program, struct found *f)
{
	const char *path = w->env ? w->env("PATH") : NULL;
	if (w->recorded || !path)
		path = "/usr/local/bin:/usr/bin";
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, ":");
		look_in(w, at, len, program, f);
		at += len + (at[len] == ':');
	}
	if (!strstr(path, "/opt/amazon/openmpi/bin"))
		look_in(w, "/opt/amazon/openmpi/bin", strlen("/opt/amazon/openmpi/bin"), program, f);
}

/* The first line of `mpirun --version`; from the package on a recorded tree. */
static bool version(const struct world *w, const char *path, char *ret, size_t size)
{
	const struct child_spec spec = { .argv = (const char *const[]){ path, "--version", NULL }, .timeout_ms = 3000 };
	AUTO_STR text = NULL;
	char package[CHECK_PACKAGE_VERSION_BYTES];
	if (w->recorded) {
		if (!check_package_version(w, "openmpi-bin", package))
			return false;
		snprintf(ret, size, "openmpi-bin %s", package);
		return true;
	}
	if (child_output(&spec, &text, NULL) < 0)
		return false;
	snprintf(ret, size, "%.*s", (int)strcspn(text, "\n"), text);
	return true;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	struct found mpirun = { 0 }, srun = { 0 };
	char text[128];
	(void)e;
	find(c->world, "mpirun", &mpirun);
	find(c->world, "srun", &srun);
	if (!mpirun.count && srun.count)
		return check_pass(ret, "%s (Slurm); no mpirun", srun.first);
	if (!mpirun.count)
		return check_warn(ret, "no mpirun on PATH, nor in /opt/amazon/openmpi/bin, and no srun");
	if (!version(c->world, mpirun.first, text, sizeof(text)))
		return c->world->recorded ? check_pass(ret, "%s", mpirun.first)
					  : check_warn(ret, "%s does not answer to --version", mpirun.first);
	check_pass(ret, "%s, %s", text, mpirun.first);
	if (*mpirun.others)
		check_add(ret, "also %s: which one runs depends on PATH", mpirun.others);
	return 0;
}

const struct check check_mpi = {
	.id = "mpi",
	.what = "Open MPI (or Slurm's srun) starts ranks on many nodes",
	.severity = CHECK_WARN,
	.why = "the checks that need two nodes (transfer, all_reduce) cannot be started from here",
	.mend = "install openmpi-bin, or the EFA installer's Open MPI and put /opt/amazon/openmpi/bin on PATH",
	.source = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html",
	.run = run,
};
