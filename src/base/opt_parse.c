/* SPDX-License-Identifier: MIT */
/* opt_parse and opt_parse_bytes: one verb's argv into its args. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/opt.h"
#include "base/own.h"

#define OPTS_MAX 64

int opt_parse_bytes(const char *text, uint64_t *ret)
{
	uint64_t n = 0;
	const char *c = text;
	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n))
			return -EINVAL;
	if (c == text)
		return -EINVAL;
	static const char suffixes[] = "KMGT";
	if (*c) {
		const char *s = strchr(suffixes, *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
		if (!s || c[1])
			return -EINVAL;
		if (__builtin_mul_overflow(n, (uint64_t)1 << (10 * (s - suffixes + 1)), &n))
			return -EINVAL;
	}
	*ret = n;
	return 0;
}

static int parse_int(const char *text, int64_t *ret)
{
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	bool starts = (*text >= '0' && *text <= '9') || *text == '-' || *text == '+';
	if (errno || end == text || *end || !starts)
		return -EINVAL;
	*ret = n;
	return 0;
}

/* The word of "a|b|c" that text is, as a string of its own end: argv's, since the table's has no NUL behind it. */
static bool is_choice(const char *words, const char *text)
{
	size_t n = strlen(text);
	for (;;) {
		size_t len = strcspn(words, "|");
		if (len == n && memcmp(words, text, n) == 0)
			return n > 0;
		if (!words[len])
			return false;
		words += len + 1;
	}
}

static int refuse_choice(const struct opt *o, const char *shown, const char *text, struct err *e)
{
	AUTO_STR words = strdup(o->words);
	AUTO_BUF list;
	buf_init(&list, ERR_MSG_BYTES);
	const char *each[OPTS_MAX + 1] = { NULL };
	size_t count = 0;
	char *rest = NULL;
	for (char *w = words ? strtok_r(words, "|", &rest) : NULL; w && count < OPTS_MAX;
	     w = strtok_r(NULL, "|", &rest)) {
		each[count++] = w;
		buf_printf(&list, "%s%s", count == 1 ? "" : rest && *rest ? ", " : " or ", w);
	}
	const char *near = str_nearest(text, each);
	return err_input(e, "option '%s' must be %s, not '%s'%s%s%s", shown, buf_text(&list), text,
			 near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* shown: the option as it was typed, for messages. */
static int store(const struct opt *o, const char *shown, const char *text, void *args, struct err *e)
{
	void *at = (char *)args + o->offset;
	struct opt_list *list = at;
	switch (o->type) {
	case OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_STR:
		*(const char **)at = text;
		return 0;
	case OPT_LIST:
		if (list->count == OPT_LIST_MAX)
			return err_input(e, "option '%s' is given more than %d times", shown, OPT_LIST_MAX);
		list->at[list->count++] = text;
		return 0;
	case OPT_INT:
		if (parse_int(text, at) < 0)
			return err_input(e, "option '%s' needs a whole number, not '%s'", shown, text);
		return 0;
	case OPT_BYTES:
		if (opt_parse_bytes(text, at) < 0)
			return err_input(e, "option '%s' needs a size such as 8, 64K, 1M or 2G, not '%s'", shown, text);
		return 0;
	case OPT_DURATION:
		if (clock_parse_duration(text, at) < 0)
			return err_input(e, "option '%s' needs a time such as 250ms, 10s, 2m or 1h, not '%s'", shown,
					 text);
		return 0;
	case OPT_CHOICE:
		if (!is_choice(o->words, text))
			return refuse_choice(o, shown, text, e);
		*(const char **)at = text;
		return 0;
	}
	return err_set(e, -EINVAL, "option '%s' has a type that is not known", shown);
}

/* Where one parse is. */
struct parsing {
	const struct verb *v;
	int argc, at; /* at: the word that is looked at */
	char *const *argv;
	void *args;
	bool seen[OPTS_MAX];
	bool *help;
	struct err *e;
};

static int unknown(const struct parsing *p, const char *shown, const char *name)
{
	const char *names[OPTS_MAX + 2] = { "help" };
	size_t count = 1;
	for (const struct opt *o = p->v->opts; o && o->name && count <= OPTS_MAX; o++)
		names[count++] = o->name;
	const char *near = name ? str_nearest(name, names) : NULL;
	return err_input(p->e, "unknown option '%s'%s%s%s", shown, near ? " (did you mean '--" : "", near ? near : "",
			 near ? "'?)" : "");
}

static int need_value(const struct parsing *p, const struct opt *o, const char *shown)
{
	return err_input(p->e, "option '%s' needs a value (%s)", shown, o->value ? o->value : "VALUE");
}

static int take(struct parsing *p, const struct opt *o, const char *shown, const char *text)
{
	size_t index = (size_t)(o - p->v->opts);
	if (index < OPTS_MAX)
		p->seen[index] = true;
	return store(o, shown, text, p->args, p->e);
}

/* "--name", "--name=V", "--name" "V". */
static int parse_long(struct parsing *p, const char *word)
{
	size_t n = strcspn(word + 2, "=");
	const char *value = word[2 + n] ? word + 2 + n + 1 : NULL;
	AUTO_STR shown = strndup(word, n + 2);
	if (!shown)
		return err_set(p->e, -ENOMEM, "out of memory");
	if (strcmp(shown, "--help") == 0) {
		*p->help = true;
		return 0;
	}
	const struct opt *o = p->v->opts;
	while (o && o->name && strcmp(o->name, shown + 2) != 0)
		o++;
	if (!o || !o->name)
		return unknown(p, shown, shown + 2);
	if (o->type == OPT_FLAG)
		return value ? err_input(p->e, "option '%s' takes no value", shown) : take(p, o, shown, NULL);
	if (!value) {
		if (p->at + 1 >= p->argc)
			return need_value(p, o, shown);
		value = p->argv[++p->at];
	}
	return take(p, o, shown, value);
}

/* "-x", "-xyz" for flags, "-xV", "-x" "V". */
static int parse_letters(struct parsing *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		char shown[3] = { '-', *c, '\0' };
		const struct opt *o = p->v->opts;
		while (o && o->name && o->letter != *c)
			o++;
		bool known = o && o->name;
		if (!known && *c == 'h') {
			*p->help = true;
			return 0;
		}
		if (!known)
			return unknown(p, c == word + 1 ? word : shown, word + 1);
		if (o->type == OPT_FLAG) {
			int rc = take(p, o, shown, NULL);
			if (rc < 0)
				return rc;
			continue;
		}
		const char *value = c[1] ? c + 1 : NULL;
		if (!value) {
			if (p->at + 1 >= p->argc)
				return need_value(p, o, shown);
			value = p->argv[++p->at];
		}
		return take(p, o, shown, value);
	}
	return 0;
}

static int add_fallbacks(struct parsing *p)
{
	for (const struct opt *o = p->v->opts; o && o->name; o++) {
		size_t index = (size_t)(o - p->v->opts);
		if (!o->fallback || (index < OPTS_MAX && p->seen[index]))
			continue;
		AUTO_STR shown = str_printf("--%s", o->name);
		int rc = store(o, shown ? shown : o->name, o->fallback, p->args, p->e);
		if (rc < 0)
			return err_wrap(p->e, "the value that stands for '--%s' when it is not given", o->name);
	}
	return 0;
}

static int check_operands(const struct verb *v, int count, char *const *operands, struct err *e)
{
	if (count < v->min_operands)
		return err_input(e, "%s: it needs %s", count == 0 ? "nothing is named" : "something is missing",
				 v->operands ? v->operands : "more operands");
	if (v->max_operands >= 0 && count > v->max_operands)
		return v->operands
			       ? err_input(e, "'%s' is too much: it takes %s", operands[v->max_operands], v->operands)
			       : err_input(e, "'%s' is too much: it takes no operands", operands[v->max_operands]);
	return 0;
}

int opt_parse(const struct verb *v, int argc, char *const *argv, void *args, char **ret_operands, bool *ret_help,
	      struct err *e)
{
	struct parsing p = { .v = v, .argc = argc, .at = 1, .argv = argv, .args = args, .help = ret_help, .e = e };
	int count = 0;
	bool options = true;
	*ret_help = false;
	for (; p.at < argc; p.at++) {
		char *word = argv[p.at];
		int rc = 0;
		if (!options || word[0] != '-' || word[1] == '\0') {
			ret_operands[count++] = word;
			options = options && !v->stop_at_operand;
		} else if (strcmp(word, "--") == 0) {
			options = false;
		} else {
			rc = word[1] == '-' ? parse_long(&p, word) : parse_letters(&p, word);
		}
		if (rc < 0 || *ret_help)
			return rc;
	}
	ret_operands[count] = NULL;
	int rc = add_fallbacks(&p);
	return rc < 0 ? rc : check_operands(v, count, ret_operands, e);
}
