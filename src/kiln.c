/* SPDX-License-Identifier: MIT */
/* The verb table and main(), the only exit(). */
#include "kiln.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_prove.h"

static const struct verb *const verbs[] = {
	&cmd_plan, &cmd_bake, &cmd_launch, &cmd_prove, &cmd_watch, &cmd_explain, &cmd_completion, NULL,
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
	{ "all_reduce_perf", &cmd_prove_all_reduce },
	{ "nccl_message_transfer", &cmd_prove_transfer },
	{ NULL, NULL },
};

/* What a careless parent may leave us with. Closed standard streams: a file of ours must not get the number that messages
 * are written to. An ignored SIGCHLD: the kernel would take children away before we have waited for them. */
static void mend_inheritance(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			exit(EXIT_CANNOT_TELL); /* no /dev/null: there is nowhere to say so */
	signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
	mend_inheritance();
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
