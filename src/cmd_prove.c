/* SPDX-License-Identifier: MIT */
/* kiln prove: is it right? */
#include "cmd_prove.h"

#include <stddef.h>

static const struct verb *const subs[] = { &cmd_prove_node, &cmd_prove_transfer, &cmd_prove_all_reduce,
					   &cmd_prove_report, NULL };

const struct verb cmd_prove = {
	.name = "prove",
	.help = "check nodes, prove the fabric between them, and report",
	.subs = subs,
};
