/* SPDX-License-Identifier: MIT */
/* What can be made of layers: one row per kind of output, listed in target.c. */
#ifndef KILN_BAKE_TARGET_H
#define KILN_BAKE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/progress.h"
#include "image/layer.h"
#include "stack/plan.h"

struct target_input {
	const struct plan *plan;
	const struct layer_info *layers; /* bottom first, packed */
	size_t layer_count;
	const char *output;
	struct progress_step *progress; /* may be NULL */
	bool (*stopped)(void *arg);     /* may be NULL */
	void *stopped_arg;
};

struct target_output {
	char digest[DIGEST_HEX_BYTES];
	int64_t bytes;
};

struct bake_target {
	const char *name;   /* as typed: "oci" */
	const char *help;   /* one line */
	const char *suffix; /* of the default output's name: ".oci" */
	/* Can it be written there? Asked before any work. ERR_INPUT, -EACCES, -ELIBACC (a program is missing). */
	int (*check)(const char *output, struct err *e);
	/* Is what stands at the output already made of just these layers and this plan? Never fails. */
	bool (*is_made)(const struct target_input *in, struct target_output *ret);
	/* Makes it beside and renames; nothing half-made is left. */
	int (*write)(const struct target_input *in, struct target_output *ret, struct err *e);
};

/* NULL-ended. */
extern const struct bake_target *const target_rows[];
/* By name; NULL: no such target. */
const struct bake_target *target_find(const char *name);

extern const struct bake_target target_oci;
extern const struct bake_target target_sqsh;

/* Can something be made beside output? ERR_INPUT: its folder is missing; -EACCES. */
int target_check_folder(const char *output, struct err *e);

/* Removes what writers that died left beside output ("OUTPUT.new-PID"); never fails. */
void target_remove_left_overs(const char *output);

/* The image's environment: PATH, the components' own, the stack's (which win). Gives a NULL-ended list (AUTO_STRINGS);
 * -ENOMEM. */
int target_env(const struct plan *p, char ***ret, struct err *e);

#endif
