/* SPDX-License-Identifier: MIT */
/* kiln plan STACK: what a bake would do, step by step, and what it would fetch. */
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/table.h"
#include "kiln.h"
#include "stack/plan.h"
#include "stack/stack.h"

#define SHORT_KEY_CHARS 12

struct plan_args {
	const char *components;
	bool update;
	bool json;
};

static const struct opt plan_opts[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct plan_args, json), NULL, NULL, "print the plan as JSON", NULL },
	{ "update", 0, OPT_FLAG, offsetof(struct plan_args, update), NULL, NULL,
	  "fetch the package lists anew, even when there are some", NULL },
	{ "components", 0, OPT_STR, offsetof(struct plan_args, components), "DIR", NULL,
	  "look for components in DIR first, then among kiln's own", "<dir>" },
	{ 0 },
};

/* True when `need` comes with another need of the step anyway, so that it need not be shown. */
static bool is_implied(const struct plan *p, const struct plan_step *s, size_t need)
{
	for (size_t i = 0; i < s->need_count; i++) {
		const struct plan_step *other = &p->steps[s->needs[i]];
		for (size_t k = 0; k < other->need_count; k++)
			if (other->needs[k] == need)
				return true;
	}
	return false;
}

/* "libfabric, openssh": the layers it is built right over; gives the text. */
static char *over_text(const struct plan *p, const struct plan_step *s)
{
	AUTO_BUF b;
	buf_init(&b, 4096);
	buf_str(&b, "");
	for (size_t i = 0; i < s->need_count; i++)
		if (!is_implied(p, s, s->needs[i]))
			buf_printf(&b, "%s%s", b.len ? ", " : "", p->steps[s->needs[i]].name);
	return buf_steal(&b);
}

/* Why the step is there, and whether there is something to do; gives the text. */
static char *note_text(const struct plan *p, const struct plan_step *s)
{
	const char *state = plan_is_cached(s) ? "cached" : "to build";
	if (s->needed_by)
		return str_printf("%s; added, %s needs it", state, s->needed_by);
	if (s->kind == PLAN_BUILDROOT)
		return str_printf("%s; not part of the image", state);
	if (s->buildroot != SIZE_MAX)
		return str_printf("%s; compiled on %s", state, p->steps[s->buildroot].name);
	return strdup(state);
}

static void add_row(struct table *t, const struct plan *p, size_t i)
{
	const struct plan_step *s = &p->steps[i];
	char bytes[TABLE_BYTES_TEXT];
	AUTO_STR over = over_text(p, s);
	AUTO_STR note = note_text(p, s);
	table_bytes_text((unsigned long long)plan_download_bytes(s), bytes);
	table_cell(t, "%zu", i + 1);
	table_cell(t, "%s", s->name);
	table_cell(t, "%s", s->version);
	table_cell(t, "%zu", s->deb_count);
	table_cell(t, "%s", bytes);
	table_cell(t, "%s", over ? over : "");
	table_cell(t, "%.*s", SHORT_KEY_CHARS, s->key);
	table_cell(t, "%s", note ? note : "");
}

static void print_foot(const struct plan *p, const struct plan_totals *totals)
{
	char bytes[TABLE_BYTES_TEXT], epoch[CLOCK_TEXT_BYTES];
	table_bytes_text((unsigned long long)totals->download_bytes, bytes);
	clock_text(p->epoch * 1000000000, epoch);
	printf("\n%zu steps: %zu cached, %zu to build, %s to download\n", totals->steps, totals->cached,
	       totals->steps - totals->cached, bytes);
	printf("packages as of %s (--update fetches newer lists), times up to %s\n", p->snapshot_date, epoch);
	for (char **mirror = p->mirrors; *mirror; mirror++)
		printf("  from %s\n", *mirror);
	printf("lock %s\n", p->key);
}

static int print_table(const struct plan *p, struct err *e)
{
	AUTO(table) t = table_new(">#|STEP|VERSION|>PACKAGES|>DOWNLOAD|OVER|KEY|STATE");
	struct plan_totals totals;
	int rc = plan_totals(p, &totals, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; t && i < p->step_count; i++)
		add_row(t, p, i);
	printf("stack %s: %s, %s\n\n", p->stack_name, p->os_title, p->architecture);
	if (!t || table_print(t, stdout) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	print_foot(p, &totals);
	return 0;
}

static int print_json(const struct plan *p, struct err *e)
{
	AUTO_JSON out = plan_json(p);
	if (!out)
		return err_set(e, -ENOMEM, "out of memory");
	return json_print(out, stdout) < 0 ? err_sys(e, "standard output") : 0;
}

static int make_plan(const struct plan_args *args, const char *path, struct progress *progress, struct plan **ret,
		     struct err *e)
{
	const struct plan_options options = { .components_dir = args->components,
					      .update = args->update,
					      .progress = progress };
	AUTO(stack) s = NULL;
	int rc = stack_load(path, &s, e);
	return rc < 0 ? rc : plan_resolve(s, &options, ret, e);
}

static int plan_run(const void *verb_args, char *const *operands)
{
	const struct plan_args *args = verb_args;
	struct err e = { 0 };
	struct plan *made = NULL;
	struct progress *progress = progress_new(stderr, 0);
	int rc = make_plan(args, operands[0], progress, &made, &e);
	progress_free(progress); /* its line is gone before ours are printed */
	AUTO(plan) p = made;
	if (rc == 0)
		rc = args->json ? print_json(p, &e) : print_table(p, &e);
	return rc < 0 ? (int)opt_fail("plan", &e) : EXIT_GOOD;
}

const struct verb cmd_plan = {
	.name = "plan",
	.operands = "STACK",
	.help = "resolve a stack file: versions, packages, steps and what is still to do",
	.opts = plan_opts,
	.args_size = sizeof(struct plan_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = plan_run,
	.operand_words = "<file>",
	.details = "STACK is a JSON file (stacks/schema.json describes it; stacks/local.json is one to start from). "
		   "Nothing on the\n"
		   "machine is changed but kiln's own state: package lists and what was resolved from them. The same "
		   "stack and the\n"
		   "same lists always give the same plan and the same lock.",
};
