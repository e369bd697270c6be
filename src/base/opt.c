/* SPDX-License-Identifier: MIT */
/* opt_main and opt_fail: from argv to the verb's row, and its errors to one line. */
#include "base/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

#define SUBS_MAX 64

int opt_fail(const char *verb, const struct err *e)
{
	bool named = verb && *verb;
	fprintf(stderr, "kiln%s%s: %s\n", named ? " " : "", named ? verb : "",
		e && e->msg[0] ? e->msg : "failed for a reason that was not told");
	return err_exit_code(e);
}

/* A mistake in the command line. */
static int refuse(const char *root, const char *path, const struct err *e)
{
	fprintf(stderr, "%s: %s; see '%s --help'\n", root, e->msg, path);
	return EXIT_USAGE;
}

static const struct verb *find_sub(const struct verb *v, const char *name)
{
	for (const struct verb *const *s = v->subs; *s; s++)
		if (strcmp((*s)->name, name) == 0)
			return *s;
	return NULL;
}

/* What is wrong with the word that should have named a sub-verb of v. */
static void explain_sub(const struct verb *v, const char *word, struct err *e)
{
	const char *names[SUBS_MAX + 1] = { NULL };
	size_t count = 0;
	AUTO_BUF list;
	buf_init(&list, ERR_MSG_BYTES);
	for (; count < SUBS_MAX && v->subs[count]; count++) {
		names[count] = v->subs[count]->name;
		const char *between = count == 0 ? "" : v->subs[count + 1] ? ", " : " or ";
		buf_printf(&list, "%s%s", between, names[count]);
	}
	if (!word) {
		err_input(e, "what shall it do? one of: %s", buf_text(&list));
		return;
	}
	if (word[0] == '-') {
		static const char *const options[] = { "--help", "--version", NULL };
		const char *near = str_nearest(word, options);
		if (near)
			err_input(e, "unknown option '%s' (did you mean '%s'?)", word, near);
		else
			err_input(e, "unknown option '%s' here: a verb's options come behind the verb", word);
		return;
	}
	const char *near = str_nearest(word, names);
	if (near)
		err_input(e, "unknown verb '%s' (did you mean '%s'?)", word, near);
	else
		err_input(e, "unknown verb '%s'; one of: %s", word, buf_text(&list));
}

/* Results may have been lost at the last moment: a full disk, a closed pipe. */
static int flush_output(const char *path, int status)
{
	bool failed = ferror(stdout) != 0;
	errno = 0;
	failed |= fflush(stdout) != 0;
	if (!failed)
		return status;
	fprintf(stderr, "%s: cannot write standard output: %s\n", path, strerror(errno ? errno : EIO));
	return status == EXIT_GOOD ? EXIT_FINDING : status;
}

static int run_verb(const struct verb *root, const struct verb *v, const char *path, int argc, char *const *argv)
{
	AUTO_STR args = calloc(1, v->args_size ? v->args_size : 1);
	__attribute__((cleanup(own_free))) char **operands = calloc((size_t)argc + 1, sizeof(*operands));
	struct err e = { 0 };
	bool help = false;
	if (!args || !operands) {
		err_set(&e, -ENOMEM, "out of memory");
		return opt_fail(NULL, &e);
	}
	int rc = opt_parse(v, argc, argv, args, operands, &help, &e);
	if (help) {
		opt_print_help(v, path, stdout);
		return flush_output(path, EXIT_GOOD);
	}
	if (rc < 0)
		return refuse(root->name, path, &e);
	return flush_output(path, v->run(args, operands));
}

int opt_main(const struct verb *root, int argc, char *const *argv)
{
	const struct verb *v = root;
	struct err e = { 0 };
	AUTO_BUF path;
	buf_init(&path, 4096);
	buf_str(&path, root->name);

	int at = 1;
	for (; v->subs; at++) {
		const char *word = at < argc ? argv[at] : NULL;
		if (word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
			opt_print_help(v, buf_text(&path), stdout);
			return flush_output(buf_text(&path), EXIT_GOOD);
		}
		if (word && v == root && strcmp(word, "--version") == 0) {
			printf("%s %s\n", root->name, KILN_VERSION);
			return flush_output(buf_text(&path), EXIT_GOOD);
		}
		const struct verb *sub = word ? find_sub(v, word) : NULL;
		if (!sub) {
			explain_sub(v, word, &e);
			return refuse(root->name, buf_text(&path), &e);
		}
		buf_printf(&path, " %s", sub->name);
		v = sub;
	}
	return run_verb(root, v, buf_text(&path), argc - at + 1, argv + at - 1);
}
