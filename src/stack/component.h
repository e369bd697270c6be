/* SPDX-License-Identifier: MIT */
/*
 * A component as data: a folder with component.json, install.sh, verify.sh and maybe build.sh.
 *
 *	{ "component": 1, "name": "libfabric", "help": "the fabric library",
 *	  "os": { "debian12": { "packages": ["libfabric1", "libfabric-bin"], "version_of": "libfabric1" } },
 *	  "needs": ["rdma-core"], "env": {}, "sources": [{ "url", "sha256", "bytes", "file" }] }
 *
 * version_of is the package whose version is the component's. "source": "self" instead says that the component is
 * kiln's own source; its version is then this kiln's, and build.sh compiles it on the row's "build_packages".
 */
#ifndef KILN_STACK_COMPONENT_H
#define KILN_STACK_COMPONENT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/own.h"

struct component {
	struct json_doc *doc;  /* owned */
	char *dir;             /* owned */
	const char *name;      /* borrowed from doc, as all below */
	const json_t *os;      /* object: os name -> row */
	const json_t *needs;   /* array of component names, or NULL */
	const json_t *env;     /* object of strings, or NULL */
	const json_t *sources; /* array, or NULL */
	bool is_self;
};

/* Where components are looked for, first match wins; NULL entries are passed over. */
struct component_dirs {
	char *at[2]; /* owned */
};

/* extra (may be NULL) comes first, then kiln's own. ERR_INPUT when extra is no folder; -ENOENT when kiln's data is not
 * there. */
int component_dirs_init(struct component_dirs *dirs, const char *extra, struct err *e);
void component_dirs_fini(struct component_dirs *dirs);
/* Gives the names of all components, sorted (AUTO_STRINGS). */
int component_names(const struct component_dirs *dirs, char ***ret, struct err *e);
/* Reads and checks component.json and that the scripts are there. -ENOENT (with e untouched): no such component.
 * ERR_INPUT names file, line and cure. */
int component_load(const struct component_dirs *dirs, const char *name, struct component **ret, struct err *e);
void component_free(struct component *c);
AUTO_DEFINE(component)

/* What the row for an operating system says; NULL when it has none. */
const json_t *component_packages(const struct component *c, const char *os);
const json_t *component_build_packages(const struct component *c, const char *os);
const char *component_version_of(const struct component *c, const char *os);

#endif
