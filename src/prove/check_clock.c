/* SPDX-License-Identifier: MIT */
/* The clock is synchronised, so that logs of several nodes can be laid side by side. */
#include <string.h>
#include <sys/timex.h>

#include "prove/check_package.h"
#include "prove/check_rows.h"

static const char *daemon_running(const struct world *w)
{
	static const char *const names[] = { "chronyd", "systemd-timesyn", "ntpd", "ptp4l", NULL };
	for (const char *const *n = names; *n; n++)
		if (check_package_runs(w, *n))
			return strcmp(*n, "systemd-timesyn") == 0 ? "systemd-timesyncd" : *n;
	return NULL;
}

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	struct timex t = { .modes = 0 };
	if (check_context_recorded(c, "asking the kernel about its clock", ret))
		return 0;
	if (adjtimex(&t) < 0)
		return err_sys(e, "adjtimex");
	const char *daemon = daemon_running(c->world);
	if (t.status & STA_UNSYNC)
		return check_warn(ret, "the kernel's clock is not synchronised (adjtimex: STA_UNSYNC), %s%s",
				  daemon ? "although this runs: " : "and no time daemon runs here",
				  daemon ? daemon : "");
	return check_pass(ret, "synchronised, off by at most %.1f ms%s%s", (double)t.maxerror / 1000.0,
			  daemon ? ", " : "", daemon ? daemon : "");
}

const struct check check_clock = {
	.id = "clock",
	.what = "the clock is synchronised",
	.severity = CHECK_WARN,
	.why = "an Xid on one node and the timeout on another cannot be laid side by side; AWS refuses requests signed "
	       "5 minutes off",
	.mend = "install chrony (on EC2: server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4)",
	.source = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/set-time.html",
	.run = run,
};
