/* SPDX-License-Identifier: MIT */
#include "bake/step.h"

#include "bake/tidy.h"
#include "base/fdio.h"
#include "base/own.h"

#define STEP_SANDBOX_FAILED 125

int step_check(const struct step *s, const char *script, int status, struct err *e)
{
	if (status == 0)
		return 0;
	if (status == STEP_SANDBOX_FAILED)
		return err_native(
			e, -EIO, ERR_CHILD, status,
			"%s: the sandbox could not be set up: see %s; kiln's state folder (KILN_STATE) has to be on a "
			"file system that overlayfs can write to, such as ext4, xfs or tmpfs",
			s->what->name, s->log_path);
	if (status < 0 || status > 128)
		return err_native(e, -EIO, ERR_CHILD, status, "%s: %s was ended by signal %d: see %s", s->what->name,
				  script, status < 0 ? -status : status - 128, s->log_path);
	return err_native(e, -EIO, ERR_CHILD, status, "%s: %s failed with status %d: see %s", s->what->name, script,
			  status, s->log_path);
}

int step_run(const struct step *s, struct err *e)
{
	AUTO_STR fs = fdio_join(s->dir, "fs");
	if (!fs)
		return err_set(e, -ENOMEM, "out of memory for a path");
	int rc = s->what->kind == PLAN_BASE ? step_base_run(s, e) : step_component_run(s, e);
	return rc < 0 ? rc : tidy_layer(fs, &s->below, s->plan->epoch, e);
}
