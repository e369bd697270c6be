/* SPDX-License-Identifier: MIT */
/*
 * A plan carried out: layers built where the store lacks them, packed, joined, and written as an image of some kind.
 * What is finished stays in the store whatever happens later, so that the next run goes on from there; what is half
 * made is removed, at the latest by the next run.
 */
#ifndef KILN_BAKE_BAKE_H
#define KILN_BAKE_BAKE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bake/target.h"
#include "base/err.h"
#include "base/own.h"
#include "image/layer.h"
#include "stack/plan.h"

struct bake_options {
	const char *rebuild;               /* a step that is built although the store has it; NULL: none */
	FILE *show;                        /* where progress is shown; NULL: nowhere */
	const volatile sig_atomic_t *stop; /* non-zero ends it with -EINTR; may be NULL */
};

/* What a failed step left to read; empty when no step failed. */
struct bake_failure {
	char step[128];
	char log[4096]; /* path */
};

struct bake_result {
	char digest[DIGEST_HEX_BYTES]; /* of the manifest, or of the file */
	int64_t bytes;
	int64_t ns;
	bool unchanged; /* it was there already */
	struct bake_layer {
		struct layer_info info;
		bool cached;
		int64_t ns; /* that it took to build; 0 when cached */
	} * layers;
	size_t layer_count;
};

/* Before any plan is made: is the caller root, can the output be written, are the programs there? -EPERM, ERR_INPUT,
 * -EACCES, -ELIBACC: each says what to do. */
int bake_check(const struct bake_target *t, const char *output, struct err *e);

/* Bakes. failure (may be NULL) tells where to read on when a script failed. Errors: those of fetch_all, step_run and of
 * the target; ERR_INPUT when components clash or `rebuild` is no step; -ENOSPC names the path; -EINTR. */
int bake_make(const struct plan *p, const struct bake_target *t, const char *output, const struct bake_options *o,
	      struct bake_result **ret, struct bake_failure *failure, struct err *e);
void bake_result_free(struct bake_result *r);
AUTO_DEFINE(bake_result)

#endif
