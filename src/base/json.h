/* SPDX-License-Identifier: MIT */
/*
 * Strict JSON for files that people write: syntax errors, unknown keys and wrong types name file, line and cure.
 * Values are jansson's. Duplicate keys are refused.
 */
#ifndef KILN_BASE_JSON_H
#define KILN_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/own.h"

/* A file with its text kept, so that a value's line can be told. */
struct json_doc {
	char *path;
	char *text;
	json_t *root;
};

/* Reads a file of at most 4 MiB. ERR_INPUT: "PATH:LINE:COL: what"; -ENOENT and the like when it cannot be read. "-" is
 * standard input. */
int json_doc_load(const char *path, struct json_doc **ret, struct err *e);
/* From a text (copied); path is only for messages. */
int json_doc_parse(const char *path, const char *text, struct json_doc **ret, struct err *e);
void json_doc_free(struct json_doc *d);
AUTO_DEFINE(json_doc)

/* The line of the key (or array element) that a JSON pointer such as "/components/nccl" names; of the nearest parent
 * when it is not there; 1 for "". */
int json_doc_line(const struct json_doc *d, const char *pointer);
/* ERR_INPUT with "PATH:LINE: " of the pointer in front. */
int json_doc_error(const struct json_doc *d, const char *pointer, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#if defined(__clang_analyzer__) && !defined(ERR_PLAIN) /* ERR_PLAIN: where they are defined */
#define json_doc_error(d, pointer, e, ...) (json_doc_error(d, pointer, e, __VA_ARGS__), -22) /* see err.h */
#endif

enum json_kind { JSON_KIND_STRING, JSON_KIND_INT, JSON_KIND_BOOL, JSON_KIND_OBJECT, JSON_KIND_ARRAY, JSON_KIND_ANY };

struct json_field {
	const char *key; /* NULL ends the table */
	enum json_kind kind;
	bool required;
};

/* Refuses keys that the table lacks (with the nearest known one), wrong types, and missing required keys. `at` is the
 * object's pointer. */
int json_doc_check(const struct json_doc *d, const char *at, const struct json_field *fields, struct err *e);

/* Pretty, keys in insertion order, a newline at the end. */
int json_print(const json_t *j, FILE *to);

static inline void json_autofree(json_t **at)
{
	json_decref(*at);
}
#define AUTO_JSON __attribute__((cleanup(json_autofree))) json_t *

#endif
