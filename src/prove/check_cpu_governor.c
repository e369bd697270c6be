/* SPDX-License-Identifier: MIT */
/* The processors do not save power while a rank waits for the network. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "prove/check_rows.h"

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	AUTO_STRINGS cpus = NULL;
	unsigned seen = 0, saving = 0;
	char first[64] = "";
	int r = world_list(c->world, "/sys/devices/system/cpu", &cpus, e);
	if (r < 0)
		return r;
	for (char **p = cpus; *p; p++) {
		char path[128];
		AUTO_STR governor = NULL;
		if (strncmp(*p, "cpu", 3) != 0 || !isdigit((unsigned char)(*p)[3]))
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/%.20s/cpufreq/scaling_governor", *p);
		if (world_read(c->world, path, &governor, NULL) < 0)
			continue;
		seen++;
		if (strcmp(governor, "performance") == 0)
			continue;
		if (!saving++)
			snprintf(first, sizeof(first), "%.20s: %.32s", *p, governor);
	}
	if (!seen)
		return check_skip(ret, "no cpufreq in /sys: the hypervisor decides");
	if (!saving)
		return check_pass(ret, "performance on all %u processors", seen);
	return check_warn(ret, "%u of %u processors are not on performance (%s)", saving, seen, first);
}

const struct check check_cpu_governor = {
	.id = "cpu-governor",
	.what = "the processors run at full speed (governor performance)",
	.severity = CHECK_WARN,
	.why = "small messages take longer and vary more: a waiting rank's processor has slowed down when its message "
	       "comes",
	.mend = "cpupower frequency-set -g performance (and a unit that does so at boot)",
	.source = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/processor_state_control.html",
	.run = run,
};
