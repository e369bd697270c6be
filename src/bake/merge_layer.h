/* SPDX-License-Identifier: MIT */
/* The layer that lies on top of independent layers and shows everybody's changes: merge_layers, kept in the store. */
#ifndef KILN_BAKE_MERGE_LAYER_H
#define KILN_BAKE_MERGE_LAYER_H

#include <stdbool.h>

#include "bake/merge.h"
#include "base/err.h"
#include "stack/plan.h"

struct merge_layer {
	const struct plan *plan;
	const struct merge_side *sides; /* bottom first */
	size_t count;
	const char *key;
	bool (*stopped)(void *arg);
	void *stopped_arg;
};

/* Makes the layer and keeps it under its key. Errors of merge_layers; ERR_CHILD: ldconfig failed; -EINTR. */
int merge_layer_make(const struct merge_layer *m, struct err *e);

#endif
