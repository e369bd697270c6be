/* SPDX-License-Identifier: MIT */
/* The verb table and main(), the only exit(). */
#include "kiln.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CMD_PROVE
#include "cmd_prove.h"
#endif

static const struct verb *const verbs[] = {
#ifdef HAVE_CMD_PLAN
	&cmd_plan,
#endif
#ifdef HAVE_CMD_BAKE
	&cmd_bake,
#endif
#ifdef HAVE_CMD_LAUNCH
	&cmd_launch,
#endif
#ifdef HAVE_CMD_PROVE
	&cmd_prove,
#endif
#ifdef HAVE_CMD_WATCH
	&cmd_watch,
#endif
#ifdef HAVE_CMD_EXPLAIN
	&cmd_explain,
#endif
#ifdef HAVE_CMD_COMPLETION
	&cmd_completion,
#endif
	NULL,
};

const struct verb kiln_root = {
	.name = "kiln",
	.help = "turn a bare GPU machine into a proven, watched EFA/NCCL node",
	.subs = verbs,
};

/* The names of other tools that job scripts call us by. */
static const struct {
	const char *program;
	const struct verb *verb;
} aliases[] = {
#ifdef HAVE_CMD_PROVE
	{ "all_reduce_perf", &cmd_prove_all_reduce },
	{ "nccl_message_transfer", &cmd_prove_transfer },
#endif
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "kiln";

	for (size_t i = 0; aliases[i].program; i++)
		if (strcmp(name, aliases[i].program) == 0) {
			struct verb as = *aliases[i].verb;
			as.name = aliases[i].program;
			exit(opt_main(&as, argc, argv));
		}
	exit(opt_main(&kiln_root, argc, argv));
}
