/* SPDX-License-Identifier: MIT */
/* kiln prove node: every check that one node can make of itself. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fdio.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/own.h"
#include "base/table.h"
#include "base/world.h"
#include "kiln.h"
#include "prove/node.h"

#define VERB "prove node"
#define MAX_JUNIT_BYTES (1 << 20)
#define MAX_SELECTED 128

extern const struct verb cmd_prove_node;

struct node_args {
	struct opt_list only;
	const char *root;
	const char *junit;
	uint32_t deadline_ms;
	bool list;
	bool json;
};

static const char *const marks[CHECK_OUTCOMES] = { "pass", "WARN", "FAIL", "skip" };

static int print_list(bool json)
{
	AUTO_JSON all = json_array();
	AUTO(table) t = table_new("ID|WORST|WHAT");
	for (const struct check *const *c = checks; *c; c++) {
		const char *worst = check_outcome_text((*c)->severity);
		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "id", (*c)->id, "what",
						     (*c)->what, "severity", worst, "why", (*c)->why, "mend",
						     (*c)->mend, "source", (*c)->source));
		if (t) {
			table_cell(t, "%s", (*c)->id);
			table_cell(t, "%s", worst);
			table_cell(t, "%s", (*c)->what);
		}
	}
	if (json) {
		AUTO_JSON out = json_pack("{s:s, s:i, s:O}", "kiln", VERB, "version", 1, "checks", all);
		return out && json_print(out, stdout) == 0 ? EXIT_GOOD : EXIT_FINDING;
	}
	return t && table_print(t, stdout) == 0 ? EXIT_GOOD : EXIT_FINDING;
}

/* Adds the rows that one --only names, in the table's order whatever the user's. */
static int select_words(const char *words, bool *wanted, struct err *e)
{
	const char *ids[MAX_SELECTED];
	size_t count = 0;
	for (; checks[count]; count++)
		ids[count] = checks[count]->id;
	ids[count] = NULL;
	AUTO_STR copy = strdup(words);
	char *save = NULL;
	if (!copy)
		return err_set(e, -ENOMEM, "--only");
	for (char *word = strtok_r(copy, ", ", &save); word; word = strtok_r(NULL, ", ", &save)) {
		size_t i = 0;
		while (i < count && strcmp(ids[i], word) != 0)
			i++;
		if (i == count) {
			const char *near = str_nearest(word, ids);
			return err_input(e, "--only: there is no check '%s'%s%s%s", word,
					 near ? "; did you mean '" : "", near ? near : " (--list shows them)",
					 near ? "'?" : "");
		}
		wanted[i] = true;
	}
	return 0;
}

static int select_rows(const struct opt_list *only, const struct check **ret, struct err *e)
{
	bool wanted[MAX_SELECTED] = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < only->count; i++) {
		int r = select_words(only->at[i], wanted, e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; checks[i]; i++)
		if (!only->count || wanted[i])
			ret[n++] = checks[i];
	ret[n] = NULL;
	return n ? 0 : err_input(e, "--only names no check (--list shows them)");
}

static int print_text(const struct node_report *n)
{
	char took[CLOCK_TEXT_BYTES];
	AUTO(table) t = table_new("|CHECK|SEEN");
	for (size_t i = 0; t && i < n->count; i++) {
		table_cell(t, "%s", marks[n->rows[i].result.outcome]);
		table_cell(t, "%s", n->rows[i].check->id);
		table_cell(t, "%s", n->rows[i].result.evidence);
	}
	if (!t || table_print(t, stdout) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n->count; i++) {
		const struct node_row *row = &n->rows[i];
		if (row->result.outcome != CHECK_WARN && row->result.outcome != CHECK_FAIL)
			continue;
		printf("\n%s %s: %s\n  why   %s\n  mend  %s\n  see   %s\n", marks[row->result.outcome], row->check->id,
		       row->check->what, row->check->why, node_row_mend(row), row->check->source);
	}
	clock_duration_text(n->ns, took);
	printf("\n%s: %s (%u pass, %u warn, %u fail, %u skip; %s)%s\n", n->host, check_outcome_text(node_verdict(n)),
	       n->counts[CHECK_PASS], n->counts[CHECK_WARN], n->counts[CHECK_FAIL], n->counts[CHECK_SKIP], took,
	       n->simulated ? " [GPUs simulated]" : "");
	return 0;
}

static int write_junit(const struct node_report *n, const char *path, struct err *e)
{
	AUTO_BUF xml;
	buf_init(&xml, MAX_JUNIT_BYTES);
	int r = node_junit(n, &xml);
	return r < 0 ? err_set(e, r, "%s", path) : fdio_write_file(AT_FDCWD, path, xml.data, xml.len, 0644, e);
}

static int exit_status(const struct node_report *n)
{
	switch (node_verdict(n)) {
	case CHECK_FAIL:
		return EXIT_FINDING;
	case CHECK_SKIP:
		return EXIT_CANNOT_TELL;
	default:
		return EXIT_GOOD;
	}
}

static int run(const void *args, char *const *operands)
{
	const struct node_args *a = args;
	const struct check *rows[MAX_SELECTED + 1];
	struct err e = { 0 };
	struct world w;
	AUTO(node_report) n = NULL;
	(void)operands;
	if (a->list)
		return print_list(a->json);
	if (select_rows(&a->only, rows, &e) < 0)
		return opt_fail(VERB, &e);
	if (world_init(&w, a->root, &e) < 0) {
		e.space = ERR_INPUT; /* the folder that the user named */
		return opt_fail(VERB, &e);
	}
	int r = node_run(&w, rows, a->deadline_ms, &n, &e);
	world_fini(&w);
	if (r < 0 || (a->junit && write_junit(n, a->junit, &e) < 0))
		return opt_fail(VERB, &e);
	if (a->json) {
		AUTO_JSON out = node_json(n);
		r = out ? json_print(out, stdout) : -ENOMEM;
	} else {
		r = print_text(n);
	}
	if (r < 0) {
		err_set(&e, r, "cannot print the result");
		return opt_fail(VERB, &e);
	}
	return exit_status(n);
}

static const struct opt opts[] = {
	{ "only", 0, OPT_LIST, offsetof(struct node_args, only), "ID[,ID]", NULL, "make these checks only", NULL },
	{ "list", 0, OPT_FLAG, offsetof(struct node_args, list), NULL, NULL, "list the checks and make none", NULL },
	{ "root", 0, OPT_STR, offsetof(struct node_args, root), "DIR", "/",
	  "look at a recorded tree (/proc, /sys, /etc) instead of this machine", "<dir>" },
	{ "deadline", 0, OPT_DURATION, offsetof(struct node_args, deadline_ms), "TIME", "5s",
	  "skip a check that has not answered by then", NULL },
	{ "junit", 0, OPT_STR, offsetof(struct node_args, junit), "FILE", NULL, "also write the result as JUnit XML",
	  "<file>" },
	{ "json", 0, OPT_FLAG, offsetof(struct node_args, json), NULL, NULL, "print the result as JSON", NULL },
	{ 0 },
};

const struct verb cmd_prove_node = {
	.name = "node",
	.help = "every check that this node can make of itself, with the evidence and the mend",
	.opts = opts,
	.args_size = sizeof(struct node_args),
	.run = run,
	.details =
		"Exit status: 0 nothing failed (there may be warnings), 1 a check failed, 3 every check was skipped.",
};
