/* SPDX-License-Identifier: MIT */
/* child_check and child_output. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/own.h"

/* The last thing it said: from what was captured, else from the log that it wrote to. */
static char *last_said(const struct child_spec *spec, const struct child_result *r)
{
	if (r->output)
		return child_last_lines_of(r->output, 1);
	if (spec->log_fd <= 0)
		return NULL;
	char log[64];
	snprintf(log, sizeof(log), "/proc/self/fd/%d", spec->log_fd);
	return child_last_lines(log, 1);
}

static int failed(const struct child_spec *spec, const struct child_result *r, struct err *e)
{
	AUTO_STR said = last_said(spec, r);
	const char *between = said && *said ? ": " : "";
	const char *text = said ? said : "";
	if (r->status < 0) {
		const char *name = sigabbrev_np(-r->status);
		return err_native(e, -EIO, ERR_CHILD, r->status, "'%s' was ended by SIG%s%s%s", spec->argv[0],
				  name ? name : "?", between, text);
	}
	return err_native(e, -EIO, ERR_CHILD, r->status, "'%s' failed with status %d%s%s", spec->argv[0], r->status,
			  between, text);
}

int child_check(const struct child_spec *spec, struct err *e)
{
	struct child_result r;
	int rc = child_run(spec, &r, e);
	if (rc == 0 && r.status != 0)
		rc = failed(spec, &r, e);
	free(r.output);
	return rc;
}

int child_output(const struct child_spec *spec, char **ret, struct err *e)
{
	struct child_result r;
	int rc = child_run(spec, &r, e);
	AUTO_STR output = r.output;
	if (rc < 0)
		return rc;
	if (r.status != 0)
		return failed(spec, &r, e);
	char *text = output ? steal(output) : strdup("");
	if (!text)
		return err_set(e, -ENOMEM, "'%s': out of memory for its output", spec->argv[0]);
	*ret = text;
	return 0;
}
