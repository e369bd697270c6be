/* SPDX-License-Identifier: MIT */
/* kiln prove report: one HTML file from result files. */
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/opt.h"
#include "kiln.h"
#include "prove/report.h"

#define VERB "prove report"

extern const struct verb cmd_prove_report;

struct report_args {
	const char *output;
	const char *title;
	bool json;
};

static int print_json(const char *path, const struct report *r)
{
	AUTO_JSON out = json_pack("{s:s, s:i, s:s, s:s}", "kiln", VERB, "version", 1, "output", path, "verdict",
				  check_outcome_text(report_verdict(r)));
	return out && json_print(out, stdout) == 0 ? EXIT_GOOD : EXIT_FINDING;
}

static int run(const void *args, char *const *operands)
{
	const struct report_args *a = args;
	struct err e = { 0 };
	AUTO(report) r = NULL;
	if (!a->output) {
		err_input(&e, "--output FILE is missing: where the report is to be written");
		return opt_fail(VERB, &e);
	}
	if (report_new(a->title, clock_wall_ns(), &r, &e) < 0)
		return opt_fail(VERB, &e);
	for (; *operands; operands++)
		if (report_add(r, *operands, &e) < 0)
			return opt_fail(VERB, &e);
	if (report_write(r, a->output, &e) < 0)
		return opt_fail(VERB, &e);
	if (a->json)
		return print_json(a->output, r);
	printf("%s: %s\n", a->output, check_outcome_text(report_verdict(r)));
	return EXIT_GOOD;
}

static const struct opt opts[] = {
	{ "output", 'o', OPT_STR, offsetof(struct report_args, output), "FILE.html", NULL, "where to write the page",
	  "<file>" },
	{ "title", 0, OPT_STR, offsetof(struct report_args, title), "TEXT", "kiln report", "the page's title", NULL },
	{ "json", 0, OPT_FLAG, offsetof(struct report_args, json), NULL, NULL,
	  "print where it is and its verdict as JSON", NULL },
	{ 0 },
};

const struct verb cmd_prove_report = {
	.name = "report",
	.operands = "RESULT...",
	.help = "one HTML page, readable offline, from what kiln's verbs printed with --json",
	.opts = opts,
	.args_size = sizeof(struct report_args),
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
	.operand_words = "<file>",
	.details = "RESULT is a file that plan, bake, launch, prove node, prove transfer or a collective wrote with "
		   "--json,\n"
		   "nccl-tests' own -J file, or the JSON lines of kiln watch. Exit status 0 when the page was written, "
		   "whatever it says.",
};
