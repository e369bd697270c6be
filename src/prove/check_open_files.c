/* SPDX-License-Identifier: MIT */
/* Enough files may be open for NCCL's bootstrap, which holds a socket per rank. */
#include "prove/check_limits.h"
#include "prove/check_rows.h"

/* NCCL raises its own soft limit to the hard one (bootstrap.cc, setFilesLimit), so the hard one is what counts. Two
 * sockets per rank on the root: 4096 serve about 2000 ranks. */
#define ENOUGH_FILES 4096

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	uint64_t soft, hard;
	int r = check_limits_read(c->world, "Max open files", &soft, &hard, e);
	if (r < 0)
		return r;
	if (hard == CHECK_UNLIMITED)
		return check_pass(ret, "no hard limit (/proc/self/limits)");
	if (hard >= ENOUGH_FILES)
		return check_pass(ret, "%llu, hard limit %llu (/proc/self/limits)", (unsigned long long)soft,
				  (unsigned long long)hard);
	return check_warn(ret, "hard limit %llu (/proc/self/limits)", (unsigned long long)hard);
}

const struct check check_open_files = {
	.id = "open-files",
	.what = "at least 4096 files may be open (hard RLIMIT_NOFILE)",
	.severity = CHECK_WARN,
	.why = "a large job's first rank runs out of sockets: \"Too many open files\" while the others wait",
	.mend = "\"* hard nofile 1048576\" in /etc/security/limits.d; LimitNOFILE= for services; docker --ulimit "
		"nofile=1048576",
	.source = "https://github.com/NVIDIA/nccl/blob/master/src/bootstrap.cc",
	.run = run,
};
