/* SPDX-License-Identifier: MIT */
/*
 * One option table per verb feeds the parser, --help and shell completion. A verb is one row in a file of its name; the
 * tree of verbs is written out in kiln.c. Options may stand before or after operands; "--" ends them; long options take
 * --name=V or --name V; letters take -x V or -xV. Every verb also takes --help.
 */
#ifndef KILN_BASE_OPT_H
#define KILN_BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum opt_type {
	OPT_FLAG,     /* bool */
	OPT_STR,      /* const char *, borrowed from argv */
	OPT_LIST,     /* struct opt_list; may be given many times */
	OPT_INT,      /* int64_t */
	OPT_BYTES,    /* uint64_t: 64M, 8, 1G; suffixes K M G T are powers of 1024, as nccl-tests */
	OPT_DURATION, /* uint32_t milliseconds: see clock_parse_duration */
	OPT_CHOICE,   /* const char *, one of the words in `words` */
};

#define OPT_LIST_MAX 32
struct opt_list {
	size_t count;
	const char *at[OPT_LIST_MAX];
};

struct opt {
	const char *name; /* without dashes; NULL ends the table */
	char letter;      /* 0: none */
	enum opt_type type;
	size_t offset;        /* into the verb's args */
	const char *value;    /* the value's name in --help: "DIR"; NULL for flags */
	const char *fallback; /* parsed as if typed when the option is not given; NULL: zero */
	const char *help;     /* one line */
	const char *words;    /* OPT_CHOICE: "json|table"; else what completes it: "<file>", "<dir>", or NULL */
};

struct verb {
	const char *name;
	const char *operands; /* "STACK", "NAME [NODE] [-- COMMAND...]"; NULL: takes none */
	const char *help;     /* one line */
	const struct opt *opts;
	size_t args_size;
	int min_operands;
	int max_operands; /* -1: any */
	/* The exit status. operands is NULL-ended and borrowed. Unused when subs is set. */
	int (*run)(const void *args, char *const *operands);
	const struct verb *const *subs; /* NULL-ended: a verb that only holds verbs */
	const char *details;            /* more --help text; may be NULL */
	const char *operand_words;      /* completion of operands: "oci|sqsh", "<file>", or NULL */
	bool stop_at_operand;           /* the first operand ends the options (for `ssh NODE COMMAND...`) */
};

/* Walks down to the verb, parses, runs; prints usage errors as one line on standard error. Returns the exit status.
 * argv[0] is the program's name. */
int opt_main(const struct verb *root, int argc, char *const *argv);
/* Parses one verb's argv (argv[0] is the verb) into args (args_size zeroed bytes). Gives the operands in ret_operands
 * (room for argc + 1). ret_help is set when --help was met. Errors are ERR_INPUT. */
int opt_parse(const struct verb *v, int argc, char *const *argv, void *args, char **ret_operands, bool *ret_help,
	      struct err *e);
void opt_print_help(const struct verb *v, const char *path, FILE *to);
/* A bash completion script for the whole tree. */
void opt_print_bash_completion(const struct verb *root, FILE *to);
/* "64M" -> bytes; -EINVAL. */
int opt_parse_bytes(const char *text, uint64_t *ret);
/* A verb that failed: one line "kiln VERB: message" on standard error; returns err_exit_code(e). */
int opt_fail(const char *verb, const struct err *e);

#endif
