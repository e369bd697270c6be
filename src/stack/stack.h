/* SPDX-License-Identifier: MIT */
/*
 * The stack file as written: checked for syntax, known keys and types, not yet resolved.
 *
 *	{ "stack": 1, "name": "local", "os": "debian12",
 *	  "components": { "rdma-core": "latest", "libfabric": "1.17.0-3", "kiln": "self" },
 *	  "env": { "FI_PROVIDER": "tcp;ofi_rxm" } }
 *
 * A component's value is a version, "latest" (what the package snapshot has), "self" (this kiln's own source), or
 * "=other" (that component's version).
 */
#ifndef KILN_STACK_STACK_H
#define KILN_STACK_STACK_H

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

struct stack {
	struct json_doc *doc; /* owned: for lines in error messages */
	const char *name;     /* borrowed from doc, as all below: [a-z0-9][a-z0-9.-]*, at most 64 */
	const char *os;
	const json_t *components;
	const json_t *env; /* may be NULL */
};

/* Reads and checks. ERR_INPUT names file, line, key and cure. */
int stack_load(const char *path, struct stack **ret, struct err *e);
void stack_free(struct stack *s);
AUTO_DEFINE(stack)

#endif
