/* SPDX-License-Identifier: MIT */
/* kiln completion SHELL: prints the shell's completion script, made from the option tables. */
#include <string.h>

#include "base/buf.h"
#include "kiln.h"

static int completion_run(const void *args, char *const *operands)
{
	(void)args;
	if (strcmp(operands[0], "bash") != 0) {
		struct err e = { 0 };
		err_input(&e, "there is no completion for '%s': only for bash", operands[0]);
		return opt_fail("completion", &e);
	}
	opt_print_bash_completion(&kiln_root, stdout);
	return EXIT_GOOD;
}

const struct verb cmd_completion = {
	.name = "completion",
	.operands = "bash",
	.help = "print a script that completes kiln's command lines in a shell",
	.min_operands = 1,
	.max_operands = 1,
	.run = completion_run,
	.operand_words = "bash",
	.details = "For this shell:   source <(kiln completion bash)\n"
		   "For every shell:  kiln completion bash > /usr/share/bash-completion/completions/kiln\n",
};
