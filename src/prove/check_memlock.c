/* SPDX-License-Identifier: MIT */
/* Memory may be locked without limit, as registering it with EFA does. */
#include "base/table.h"
#include "prove/check_limits.h"
#include "prove/check_rows.h"

/* What one rank locks for bounce buffers and registrations is GiBs; the EFA documents say unlimited. */
#define ENOUGH_BYTES (UINT64_C(16) << 30)

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	uint64_t soft, hard;
	char text[TABLE_BYTES_TEXT];
	int r = check_limits_read(c->world, "Max locked memory", &soft, &hard, e);
	if (r < 0)
		return r;
	if (soft == CHECK_UNLIMITED)
		return check_pass(ret, "unlimited (/proc/self/limits)");
	table_bytes_text(soft, text);
	if (soft >= ENOUGH_BYTES)
		return check_pass(ret, "%s (/proc/self/limits)", text);
	if (!c->efa_devices)
		return check_skip(ret, "%s; EFA would need it unlimited, and there is none here", text);
	check_fail(ret, "%s (/proc/self/limits)", text);
	if (hard == CHECK_UNLIMITED || hard >= ENOUGH_BYTES) {
		check_add(ret, "the hard limit would allow more");
		check_mend(ret, "raise the soft limit: ulimit -l unlimited in the job script, or \"* soft memlock "
				"unlimited\" in /etc/security/limits.d");
	}
	return 0;
}

const struct check check_memlock = {
	.id = "memlock",
	.what = "memory may be locked without limit (RLIMIT_MEMLOCK)",
	.severity = CHECK_FAIL,
	.why = "EFA cannot register memory: \"Unable to register MR: Cannot allocate memory\", fi_enable -12",
	.mend = "\"* - memlock unlimited\" in /etc/security/limits.d for logins; LimitMEMLOCK=infinity for slurmd, "
		"kubelet and containerd; docker --ulimit memlock=-1",
	.source = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start-nccl.html",
	.run = run,
};
