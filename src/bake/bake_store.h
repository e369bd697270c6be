/* SPDX-License-Identifier: MIT */
/*
 * The steps of a plan against the layer store: which are there, what each stands on, and the joining layers between
 * components that do not need each other (kiln-merge).
 * Thread rule: bake_store_below may come from any thread; one at a time does the work.
 */
#ifndef KILN_BAKE_BAKE_STORE_H
#define KILN_BAKE_BAKE_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "bake/view.h"
#include "base/err.h"
#include "image/layer.h"
#include "stack/plan.h"

#define BAKE_MERGE_NAME "kiln-merge"

struct bake_store_step {
	bool build; /* to be built in this run */
	int64_t ns; /* that it took */
	char *fs;
	char **below; /* folders it stands on, bottom first, NULL-ended; NULL: not asked for yet */
	size_t below_count;
};

struct bake_store {
	const struct plan *plan;
	struct bake_store_step *steps; /* one per step of the plan */
	pthread_mutex_t lock;          /* below, and making joining layers */
	bool (*stopped)(void *arg);
	void *stopped_arg;
};

/* Looks which layers are there. rebuild: a step to build although it is there; NULL: none. ERR_INPUT: no such step. */
int bake_store_init(struct bake_store *s, const struct plan *p, const char *rebuild, struct err *e);
void bake_store_fini(struct bake_store *s);

/* What step `index` is built on; makes the joining layer when its needs are independent of each other. Borrowed until
 * bake_store_fini. ERR_INPUT: they clash. */
int bake_store_below(struct bake_store *s, size_t index, struct view *ret, struct err *e);
/* What build.sh of step `index` runs on: its buildroot's layer and what that stands on. count 0: nothing is compiled. */
int bake_store_build_below(struct bake_store *s, size_t index, char ***ret, size_t *ret_count, struct err *e);

/* All image steps together: the key of the layer that joins them; "" when none is needed because each needs the one
 * before. */
void bake_store_merge_key(const struct bake_store *s, char ret[DIGEST_HEX_BYTES]);
/* Makes it, unless it is there. *ret_empty: it holds nothing, so it need not be in the image. */
int bake_store_merge(struct bake_store *s, const char *key, bool *ret_empty, struct err *e);

#endif
