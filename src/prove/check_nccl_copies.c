/* SPDX-License-Identifier: MIT */
/* One NCCL on the library path. */
#include "prove/check_library.h"
#include "prove/check_rows.h"

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)e;
	struct check_library l;
	check_library_find(c, "libnccl.so.2", &l);
	if (!l.count)
		return check_skip(ret, "no libnccl.so.2 on the library path, nor where installers put it");
	if (l.count == 1)
		return check_pass(ret, "%s (%s)", l.at[0].real, l.at[0].from);
	check_warn(ret, "%zu copies; %s", l.count,
		   l.on_path ? "the loader takes the first" : "none is on the loader's path");
	check_library_add(&l, ret);
	return 0;
}

const struct check check_nccl_copies = {
	.id = "nccl-copies",
	.what = "one NCCL on the library path",
	.severity = CHECK_WARN,
	.why = "ranks that load different ones stop with \"Mismatched NCCL version detected\", or meet a plugin made "
	       "for the other",
	.mend = "keep one; a framework that bundles its own (pip's nvidia-nccl) should be the only one in its image",
	.source = "https://github.com/aws/aws-ofi-nccl/issues/67",
	.run = run,
};
