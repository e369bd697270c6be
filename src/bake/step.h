/* SPDX-License-Identifier: MIT */
/* One step of a plan on the target `root`: an overlay over the layers it stands on, whose upper folder is its layer. */
#ifndef KILN_BAKE_STEP_H
#define KILN_BAKE_STEP_H

#include <stdbool.h>

#include "bake/view.h"
#include "base/err.h"
#include "base/progress.h"
#include "stack/plan.h"

struct step {
	const struct plan *plan;
	const struct plan_step *what;
	struct view below;       /* what it is built on, bottom first */
	struct view build_below; /* what its build.sh runs on; count 0: nothing is compiled */
	const char *dir;         /* from layer_begin */
	int log_fd;
	const char *log_path;
	struct progress_step *progress; /* may be NULL */
	bool (*stopped)(void *arg);
	void *stopped_arg;
};

/* Fills dir/fs and tidies it. ERR_CHILD: a script failed (names the component, the script and the log); -EINTR: stopped;
 * -ENOENT: a program is missing, with what to install. */
int step_run(const struct step *s, struct err *e);

/* The two kinds; step_run chooses. */
int step_base_run(const struct step *s, struct err *e);
int step_component_run(const struct step *s, struct err *e);

/* What a failed sandbox run means: 0 when status is 0, else the error. script: what was run. */
int step_check(const struct step *s, const char *script, int status, struct err *e);

#endif
