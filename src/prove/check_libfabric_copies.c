/* SPDX-License-Identifier: MIT */
/* One libfabric on the library path: the one that is meant. */
#include <string.h>

#include "prove/check_library.h"
#include "prove/check_rows.h"

static int run(const struct check_context *c, struct check_result *ret, struct err *e)
{
	(void)e;
	struct check_library l;
	check_library_find(c, "libfabric.so.1", &l);
	if (!l.count)
		return check_skip(ret, "no libfabric.so.1 on the library path, nor where installers put it");
	if (l.count == 1 && l.on_path)
		return check_pass(ret, "%s (%s)", l.at[0].real, l.at[0].from);
	bool amazon = false;
	for (size_t i = 1; i < l.count; i++)
		amazon |= strncmp(l.at[i].path, "/opt/amazon/efa/", 16) == 0;
	if (!l.on_path)
		check_warn(ret, "the loader finds none of the %zu on this machine", l.count);
	else if (amazon && c->efa_devices)
		check_fail(ret, "%zu copies, and the loader takes another one than the EFA installer's", l.count);
	else
		check_warn(ret, "%zu copies; the loader takes the first", l.count);
	check_library_add(&l, ret);
	return 0;
}

const struct check check_libfabric_copies = {
	.id = "libfabric-copies",
	.what = "one libfabric on the library path",
	.severity = CHECK_FAIL,
	.why = "the plugin built for one meets the other: \"version FABRIC_1.7 not found\", or a build without efa is "
	       "taken",
	.mend = "remove the distribution's libfabric where the EFA installer's is used, or put /opt/amazon/efa/lib in "
		"/etc/ld.so.conf.d before it and run ldconfig",
	.source = "https://github.com/aws/aws-ofi-nccl/issues/1055",
	.run = run,
};
