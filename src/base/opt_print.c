/* SPDX-License-Identifier: MIT */
/* opt_print_help and opt_print_bash_completion: what else is made from the option tables. */
#include <string.h>

#include "base/buf.h"
#include "base/opt.h"
#include "base/own.h"

#define COLUMN_MAX 30 /* a left column that is wider has its help on the next line */

/* "-n, --nodes N" */
static void option_left(const struct opt *o, struct buf *to)
{
	if (o->letter)
		buf_printf(to, "-%c, --%s", o->letter, o->name);
	else
		buf_printf(to, "    --%s", o->name);
	if (o->type == OPT_FLAG)
		return;
	if (o->value)
		buf_printf(to, " %s", o->value);
	else
		buf_printf(to, " %s", o->type == OPT_CHOICE ? o->words : "VALUE");
}

static void print_row(FILE *to, const char *left, size_t width, const char *help)
{
	if (strlen(left) > width)
		fprintf(to, "  %s\n  %*s", left, (int)width, "");
	else
		fprintf(to, "  %-*s", (int)width, left);
	fprintf(to, "  %s", help);
}

static size_t widest(const struct verb *v)
{
	size_t width = strlen("    --help");
	for (const struct opt *o = v->opts; o && o->name; o++) {
		AUTO_BUF left;
		buf_init(&left, 4096);
		option_left(o, &left);
		if (left.len > width && left.len <= COLUMN_MAX)
			width = left.len;
	}
	for (const struct verb *const *s = v->subs; s && *s; s++)
		if (strlen((*s)->name) > width)
			width = strlen((*s)->name);
	return width;
}

static void print_options(const struct verb *v, size_t width, FILE *to)
{
	fputs("\noptions:\n", to);
	for (const struct opt *o = v->opts; o && o->name; o++) {
		AUTO_BUF left;
		buf_init(&left, 4096);
		option_left(o, &left);
		print_row(to, buf_text(&left), width, o->help);
		const char *words = o->type == OPT_CHOICE && o->value ? o->words : NULL;
		if (words || o->fallback)
			fprintf(to, " (%s%s%s%s)", words ? words : "", words && o->fallback ? "; " : "",
				o->fallback ? "default " : "", o->fallback ? o->fallback : "");
		if (o->type == OPT_LIST)
			fputs("; may be given many times", to);
		fputc('\n', to);
	}
	print_row(to, "    --help", width, "show this\n");
}

void opt_print_help(const struct verb *v, const char *path, FILE *to)
{
	size_t width = widest(v);
	fprintf(to, "usage: %s%s%s%s%s\n\n%s\n", path, v->subs ? " VERB" : "",
		v->opts && v->opts->name ? " [OPTION...]" : "", v->operands && !v->subs ? " " : "",
		v->operands && !v->subs ? v->operands : "", v->help);
	if (v->subs) {
		fputs("\nverbs:\n", to);
		for (const struct verb *const *s = v->subs; *s; s++) {
			print_row(to, (*s)->name, width, (*s)->help);
			fputc('\n', to);
		}
		fprintf(to, "\n'%s VERB --help' tells more.\n", path);
	} else {
		print_options(v, width, to);
	}
	if (v->details) {
		size_t n = strlen(v->details);
		fprintf(to, "\n%s%s", v->details, n && v->details[n - 1] == '\n' ? "" : "\n");
	}
}

/* ---- bash ---- */

/* "a|<file>" into words and kinds: words='a' kind=file */
static void print_words(FILE *to, const char *indent, const char *words)
{
	AUTO_STR copy = strdup(words ? words : "");
	AUTO_BUF plain;
	buf_init(&plain, 65536);
	const char *kind = NULL;
	char *rest = NULL;
	for (char *w = copy ? strtok_r(copy, "|", &rest) : NULL; w; w = strtok_r(NULL, "|", &rest)) {
		if (strcmp(w, "<file>") == 0)
			kind = "file";
		else if (strcmp(w, "<dir>") == 0)
			kind = kind ? kind : "dir";
		else
			buf_printf(&plain, "%s%s", plain.len ? " " : "", w);
	}
	if (plain.len)
		fprintf(to, "%swords='%s'\n", indent, buf_text(&plain));
	if (kind)
		fprintf(to, "%skind='%s'\n", indent, kind);
}

/* One case per verb that tells what can follow it, as shell variables. */
static void print_case(const struct verb *v, const char *path, FILE *to)
{
	fprintf(to, "\t'%s')\n", path);
	if (v->subs) {
		fputs("\t\twords='", to);
		for (const struct verb *const *s = v->subs; *s; s++)
			fprintf(to, "%s%s", s == v->subs ? "" : " ", (*s)->name);
		fprintf(to, "'\n\t\toptions='--help%s'\n\t\t;;\n", strchr(path, ' ') ? "" : " --version");
	} else {
		print_words(to, "\t\t", v->operand_words);
		fputs("\t\toptions='--help", to);
		for (const struct opt *o = v->opts; o && o->name; o++)
			fprintf(to, " --%s", o->name);
		fputs("'\n\t\t;;\n", to);
	}
	for (const struct verb *const *s = v->subs; s && *s; s++) {
		AUTO_STR below = str_printf("%s %s", path, (*s)->name);
		if (below)
			print_case(*s, below, to);
	}
}

/* One case per option that takes a value. */
static void print_values(const struct verb *v, const char *path, FILE *to)
{
	for (const struct opt *o = v->opts; !v->subs && o && o->name; o++) {
		if (o->type == OPT_FLAG)
			continue;
		fprintf(to, "\t'%s --%s'", path, o->name);
		if (o->letter)
			fprintf(to, " | '%s -%c'", path, o->letter);
		fputs(")\n\t\tvalue=1\n", to);
		print_words(to, "\t\t", o->words);
		fputs("\t\t;;\n", to);
	}
	for (const struct verb *const *s = v->subs; s && *s; s++) {
		AUTO_STR below = str_printf("%s %s", path, (*s)->name);
		if (below)
			print_values(*s, below, to);
	}
}

/* Every path but the root's, as alternatives of one pattern. */
static void print_paths(const struct verb *v, const char *path, bool first, FILE *to)
{
	for (const struct verb *const *s = v->subs; s && *s; s++) {
		AUTO_STR below = str_printf("%s %s", path, (*s)->name);
		if (!below)
			continue;
		fprintf(to, "%s'%s'", first ? "" : " | \\\n\t\t\t", below);
		print_paths(*s, below, false, to);
		first = false;
	}
}

void opt_print_bash_completion(const struct verb *root, FILE *to)
{
	const char *n = root->name;
	/* bash breaks words at '=', so that --name=V comes as three words */
	fprintf(to,
		"# bash completion for %s: source it, or put it into /usr/share/bash-completion/completions/%s\n"
		"_%s()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal path=%s words='' options='' kind='' value='' i\n"
		"\tCOMPREPLY=()\n"
		"\tif [[ $cur == '=' ]]; then\n\t\tcur=\n"
		"\telif [[ $prev == '=' && $COMP_CWORD -ge 2 ]]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase \"$path ${COMP_WORDS[i]}\" in\n"
		"\t\t",
		n, n, n, n);
	print_paths(root, n, true, to);
	fputs(")\n\t\t\tpath+=\" ${COMP_WORDS[i]}\"\n\t\t\t;;\n\t\t*)\n\t\t\tbreak\n\t\t\t;;\n\t\tesac\n\tdone\n"
	      "\tcase \"$path $prev\" in\n",
	      to);
	print_values(root, n, to);
	fputs("\tesac\n\t[[ $value ]] || case \"$path\" in\n", to);
	print_case(root, n, to);
	fprintf(to,
		"\tesac\n"
		"\tif [[ ! $value && $cur == -* ]]; then\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
		"\t\treturn\n\tfi\n"
		"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		"\tif [[ $kind ]]; then\n"
		"\t\tlocal -a paths\n"
		"\t\tcompopt -o filenames 2>/dev/null\n"
		"\t\tif [[ $kind == dir ]]; then\n"
		"\t\t\tmapfile -t paths < <(compgen -d -- \"$cur\")\n"
		"\t\telse\n"
		"\t\t\tmapfile -t paths < <(compgen -f -- \"$cur\")\n"
		"\t\tfi\n"
		"\t\tCOMPREPLY+=(\"${paths[@]}\")\n\tfi\n"
		"}\n"
		"complete -F _%s %s\n",
		n, n);
}
