/* SPDX-License-Identifier: MIT */
/* kiln bake TARGET STACK: make an image of a stack. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bake/bake.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/state.h"
#include "base/table.h"
#include "kiln.h"
#include "stack/plan.h"
#include "stack/stack.h"

#define FAILURE_LINES 15
#define SHORT_DIGEST_CHARS 12

struct bake_args {
	const char *output;
	const char *components;
	const char *rebuild;
	bool update;
	bool json;
};

static const struct opt bake_opts[] = {
	{ "output", 'o', OPT_STR, offsetof(struct bake_args, output), "PATH", NULL,
	  "where the image goes (default: images/STACK.TARGET in kiln's state folder)", "<file>" },
	{ "components", 0, OPT_STR, offsetof(struct bake_args, components), "DIR", NULL,
	  "look for components in DIR first, then among kiln's own", "<dir>" },
	{ "update", 0, OPT_FLAG, offsetof(struct bake_args, update), NULL, NULL,
	  "fetch the package lists anew, even when there are some", NULL },
	{ "rebuild", 0, OPT_STR, offsetof(struct bake_args, rebuild), "STEP", NULL,
	  "build this step's layer although there is one", NULL },
	{ "json", 0, OPT_FLAG, offsetof(struct bake_args, json), NULL, NULL, "print the result as JSON", NULL },
	{ 0 },
};

/* A first Ctrl-C ends the work in order: what is half made is removed, what is finished is kept. */
static volatile sig_atomic_t bake_stop;

static void bake_on_signal(int number)
{
	bake_stop = number;
}

static void bake_catch_signals(void)
{
	struct sigaction once = { .sa_handler = bake_on_signal, .sa_flags = (int)SA_RESETHAND };
	sigaction(SIGINT, &once, NULL);
	sigaction(SIGTERM, &once, NULL);
	sigaction(SIGHUP, &once, NULL);
}

/* A name that ends in '/' is the folder's own, and a link to an image that is there stays a link to the new one. */
static int bake_output_tidy(char **path, struct err *e)
{
	struct stat st;

	for (size_t len = strlen(*path); len > 1 && (*path)[len - 1] == '/'; len--)
		(*path)[len - 1] = '\0';
	if (lstat(*path, &st) < 0 || !S_ISLNK(st.st_mode))
		return 0;
	char *target = realpath(*path, NULL);
	if (!target)
		return err_input(e, "%s is a link that leads nowhere: remove it or choose another --output", *path);
	free(*path);
	*path = target;
	return 0;
}

/* The output's path, absolute: --output, or STATE/images/<stack><suffix>. */
static int bake_output(const struct bake_args *args, const struct bake_target *t, const struct stack *s, char **ret,
		       struct err *e)
{
	AUTO_STR dir = NULL;
	AUTO_STR here = NULL;

	if (args->output && args->output[0] == '\0')
		return err_input(e, "--output wants a path");
	if (args->output && args->output[0] == '/') {
		*ret = strdup(args->output);
	} else if (args->output) {
		here = getcwd(NULL, 0);
		*ret = here ? str_printf("%s/%s", here, args->output) : NULL;
	} else {
		int rc = state_dir("images", &dir, e);
		if (rc < 0)
			return rc;
		*ret = str_printf("%s/%s%s", dir, s->name, t->suffix);
	}
	return *ret ? bake_output_tidy(ret, e) : err_set(e, -ENOMEM, "out of memory for a path");
}

static json_t *bake_layers_json(const struct bake_result *r)
{
	json_t *layers = json_array();

	for (size_t i = 0; i < r->layer_count; i++) {
		const struct bake_layer *l = &r->layers[i];
		json_array_append_new(
			layers, json_pack("{s:s s:s s:s s:o s:o s:I s:I s:b s:f}", "component", l->info.component,
					  "version", l->info.version, "key", l->info.key, "diff_id",
					  json_sprintf("sha256:%s", l->info.diff_id), "digest",
					  json_sprintf("sha256:%s", l->info.digest), "bytes", (json_int_t)l->info.bytes,
					  "uncompressed_bytes", (json_int_t)l->info.uncompressed_bytes, "cached",
					  l->cached, "seconds", (double)l->ns / 1e9));
	}
	return layers;
}

static int bake_print_json(const char *target, const char *stack, const char *output, const struct bake_result *r,
			   struct err *e)
{
	AUTO_JSON json = json_pack("{s:s s:i s:s s:s s:s s:o s:I s:f s:b s:o}", "kiln", "bake", "version", 1, "target",
				   target, "stack", stack, "output", output, "digest",
				   json_sprintf("sha256:%s", r->digest), "bytes", (json_int_t)r->bytes, "seconds",
				   (double)r->ns / 1e9, "unchanged", r->unchanged, "layers", bake_layers_json(r));
	if (!json)
		return err_set(e, -ENOMEM, "out of memory for the result");
	return json_print(json, stdout) < 0 ? err_sys(e, "standard output") : 0;
}

static int bake_print(const char *output, const struct bake_result *r, struct err *e)
{
	char bytes[TABLE_BYTES_TEXT], took[CLOCK_TEXT_BYTES];
	AUTO(table) t = table_new("LAYER|VERSION|>PACKED|>UNPACKED|DIGEST|");

	for (size_t i = 0; t && i < r->layer_count; i++) {
		const struct bake_layer *l = &r->layers[i];
		clock_duration_text(l->ns, took);
		table_cell(t, "%s", l->info.component);
		table_cell(t, "%s", l->info.version);
		table_bytes_text((unsigned long long)l->info.bytes, bytes);
		table_cell(t, "%s", bytes);
		table_bytes_text((unsigned long long)l->info.uncompressed_bytes, bytes);
		table_cell(t, "%s", bytes);
		table_cell(t, "%.*s", SHORT_DIGEST_CHARS, l->info.digest);
		table_cell(t, "%s%s", l->cached ? "cached" : "built in ", l->cached ? "" : took);
	}
	if (!t || table_print(t, stdout) < 0)
		return err_set(e, -ENOMEM, "out of memory for the result");
	table_bytes_text((unsigned long long)r->bytes, bytes);
	clock_duration_text(r->ns, took);
	printf("\n%s: %s, %s in %s\nsha256:%s\n", output, bytes, r->unchanged ? "unchanged, looked up" : "made", took,
	       r->digest);
	return 0;
}

/* The last lines of the script that failed, above the one line that says so. */
static void bake_print_failure(const struct bake_failure *failure)
{
	AUTO_STR lines = failure->log[0] ? child_last_lines(failure->log, FAILURE_LINES) : NULL;
	size_t len = lines ? strlen(lines) : 0;

	if (len > 0)
		fprintf(stderr, "the last lines of %s:\n%s%s", failure->log, lines, lines[len - 1] == '\n' ? "" : "\n");
}

static int bake_do(const struct bake_args *args, const struct bake_target *t, const char *path,
		   struct bake_failure *failure, struct err *e)
{
	AUTO(stack) s = NULL;
	AUTO_STR output = NULL;
	struct plan *made = NULL;
	int rc = stack_load(path, &s, e);
	if (rc == 0)
		rc = bake_output(args, t, s, &output, e);
	if (rc == 0)
		rc = bake_check(t, output, e);
	if (rc < 0)
		return rc;

	struct progress *progress = progress_new(stderr, 0);
	struct plan_options plan_options = { args->components, args->update, progress };
	rc = plan_resolve(s, &plan_options, &made, e);
	progress_free(progress); /* its line is gone before others are shown */
	AUTO(plan) p = made;
	if (rc < 0)
		return rc;

	struct bake_options options = { args->rebuild, stderr, &bake_stop };
	AUTO(bake_result) result = NULL;
	bake_catch_signals();
	rc = bake_make(p, t, output, &options, &result, failure, e);
	if (rc < 0)
		return rc;
	return args->json ? bake_print_json(t->name, p->stack_name, output, result, e) : bake_print(output, result, e);
}

static int bake_run(const char *target, const void *verb_args, char *const *operands)
{
	struct bake_failure failure = { 0 };
	struct err e = { 0 };
	char verb[32];

	snprintf(verb, sizeof(verb), "bake %s", target);
	if (bake_do(verb_args, target_find(target), operands[0], &failure, &e) == 0)
		return EXIT_GOOD;
	bake_print_failure(&failure);
	return (int)opt_fail(verb, &e);
}

static int bake_run_oci(const void *args, char *const *operands)
{
	return bake_run("oci", args, operands);
}

static int bake_run_sqsh(const void *args, char *const *operands)
{
	return bake_run("sqsh", args, operands);
}

static const struct verb bake_oci = {
	.name = "oci",
	.operands = "STACK",
	.help = "make an OCI image: a folder that skopeo, podman, umoci and kiln launch take",
	.opts = bake_opts,
	.args_size = sizeof(struct bake_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = bake_run_oci,
	.operand_words = "<file>",
};

static const struct verb bake_sqsh = {
	.name = "sqsh",
	.operands = "STACK",
	.help = "make a squashfs file that enroot and pyxis start",
	.opts = bake_opts,
	.args_size = sizeof(struct bake_args),
	.min_operands = 1,
	.max_operands = 1,
	.run = bake_run_sqsh,
	.operand_words = "<file>",
};

static const struct verb *const bake_subs[] = { &bake_oci, &bake_sqsh, NULL };

const struct verb cmd_bake = {
	.name = "bake",
	.help = "build a stack's components, each as a layer, and make an image of them",
	.subs = bake_subs,
	.details = "Needs root. A layer whose input has not changed is not built again; the same stack on the same\n"
		   "packages makes the same image, byte for byte. Logs, one per step, are in kiln's state folder.\n",
};
