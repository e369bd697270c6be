/* SPDX-License-Identifier: MIT */
/*
 * A stack file, resolved: an ordered list of steps, each one layer, each with the exact packages and files it takes and
 * a key that names its whole input. bake executes a plan; plan never changes the machine but for its own caches
 * (STATE/apt, STATE/locks).
 *
 * Layers are independent: a step is built over the layers of what it needs (transitively) and of the base, and over
 * nothing else; its key is a digest of its scripts, version, packages, sources, build inputs, environment, the keys of
 * its needs, the epoch and PLAN_LAYER_FORMAT. So a change in one component rebuilds its layer and those that need it, no
 * other.
 *
 * The epoch (times in layers are clamped to it, so it is part of what a layer holds) is SOURCE_DATE_EPOCH when that is
 * set, else the Date of the first Release file that the OS's row names: Debian's own suite, which is signed anew only
 * at a point release, not the security or updates suites, which move every day. So fetching newer lists that hold the
 * same packages for a step gives the same key, and an image's date still says which release it stands on.
 *
 * Thread rule: a plan is read-only once resolved; share freely.
 */
#ifndef KILN_STACK_PLAN_H
#define KILN_STACK_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/own.h"
#include "stack/stack.h"

/* Part of every key: raise it when bake makes other layers from the same inputs, so that old layers are not taken. */
#define PLAN_LAYER_FORMAT 1

/* One file to be fetched before a step can run. */
struct plan_source {
	char *url;  /* http(s):// or file:// */
	char *file; /* its name where install.sh finds it: "libfabric1_1.17.0-3_amd64.deb", "efa.tar.gz" */
	char sha256[DIGEST_HEX_BYTES];
	int64_t bytes; /* -1: not known beforehand */
};

enum plan_step_kind {
	PLAN_BASE,      /* the root file system that everything stands on: mmdebstrap's minbase */
	PLAN_COMPONENT, /* install.sh of a component: a layer of the image */
	PLAN_BUILDROOT, /* packages that a component's build.sh needs: cached, never part of the image */
};

struct plan_step {
	enum plan_step_kind kind;
	char *name;    /* "base", "libfabric", "kiln:buildroot": unique in the plan */
	char *version; /* as installed: "1.17.0-3" */
	char key[DIGEST_HEX_BYTES];
	size_t *needs; /* indices of earlier steps, transitive, in order; base is always there but for base itself */
	size_t need_count;
	size_t buildroot; /* index of the step whose layer build.sh runs on; SIZE_MAX: nothing is compiled */

	/* Distribution packages. packages: what install.sh is told to install, "name=version" each (NULL-ended). debs: all
	 * files that this takes beyond what base and needs hold. deb_index: their stanzas, as in a Packages file with
	 * Filename: ./<file>, so that a local repository can be made. */
	char **packages;
	struct plan_source *debs;
	size_t deb_count;
	char *deb_index;

	struct plan_source *sources; /* files that component.json names */
	size_t source_count;

	char *dir; /* the component's folder (install.sh, verify.sh, maybe build.sh); NULL for base and buildroots */
	char *source_tree; /* a folder that build.sh compiles, found there as $KILN_SOURCE_TREE: kiln's own; NULL: none */
	char **source_paths; /* what of it is compiled, and so is in the key and has to be copied; NULL-ended, or NULL */
	char *source_digest; /* of those paths; NULL without a source_tree */
	char **env;          /* NAME=value for the scripts, NULL-ended: KILN_VERSION, and the component's own */
	char **image_env;    /* NAME=value that the image's environment gets, NULL-ended */
	char *needed_by;     /* the component that made the plan add this one; NULL when the stack lists it */
};

struct plan {
	char *stack_name;
	char *os;           /* "debian12" */
	char *os_title;     /* "Debian GNU/Linux 12 (bookworm)" */
	char *suite;        /* "bookworm" */
	char *architecture; /* "amd64": Debian's and OCI's name agree for those we know (amd64, arm64) */
	char *apt_sources; /* text of the image's own /etc/apt/sources.list.d/debian.sources: real mirrors, signed-by */
	char snapshot[DIGEST_HEX_BYTES]; /* digest of the package lists' Release files */
	char *snapshot_date;             /* RFC 3339, from the newest Release file */
	char **mirrors;                  /* "http://mirror.example/debian bookworm bookworm-updates", NULL-ended */
	int64_t epoch;                   /* seconds; see above */
	char **env;                      /* the stack's "env": NAME=value, NULL-ended */
	struct plan_step *steps;         /* in an order that can be executed one after another */
	size_t step_count;
	char key[DIGEST_HEX_BYTES]; /* of all image steps, name, env and epoch: the image's identity */
};

struct plan_options {
	const char *components_dir; /* extra folder of components, looked at first; NULL: only kiln's own */
	bool update;                /* fetch the package lists anew even when there are some */
	struct progress *progress;  /* may be NULL */
};

/* Resolves. Errors in the stack are ERR_INPUT and name its file and line; a mirror that cannot be reached is ERR_REMOTE;
 * -ENOSYS: apt, the keyring or kiln's own source is missing, with what to install. */
int plan_resolve(const struct stack *s, const struct plan_options *o, struct plan **ret, struct err *e);
void plan_free(struct plan *p);
AUTO_DEFINE(plan)

/* True when the layer store holds the step's layer already. */
bool plan_is_cached(const struct plan_step *step);
/* Bytes to download for a step, without what is cached elsewhere; sources of unknown size count 0. */
int64_t plan_download_bytes(const struct plan_step *step);

struct plan_totals {
	size_t steps;
	size_t cached;          /* of them: layers that the store holds */
	size_t debs;            /* package files in the image's steps, counted in each */
	int64_t download_bytes; /* what steps that are not cached still need and STATE/downloads does not hold, once each */
};

/* -ENOMEM, or the state folder cannot be used. */
int plan_totals(const struct plan *p, struct plan_totals *ret, struct err *e);

/* The result of `kiln plan --json`; gives a new reference; NULL when out of memory. */
json_t *plan_json(const struct plan *p);

#endif
