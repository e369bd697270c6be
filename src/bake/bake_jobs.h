/* SPDX-License-Identifier: MIT */
/* What is left to do for a plan, as jobs that run side by side: downloads, steps, packing. */
#ifndef KILN_BAKE_BAKE_JOBS_H
#define KILN_BAKE_BAKE_JOBS_H

#include "bake/bake.h"
#include "bake/bake_store.h"

struct bake_jobs {
	const struct plan *plan;
	struct bake_store *store;
	struct progress *progress; /* may be NULL */
	const volatile sig_atomic_t *stop;
	struct bake_failure *failure; /* filled by the first script that fails; may be NULL */
	volatile sig_atomic_t cancel; /* set when a job failed: the others end */
	pthread_mutex_t lock;         /* failure */
};

/* How many progress steps bake_jobs_run will show. */
unsigned bake_jobs_count(const struct bake_store *s);
/* Downloads, builds and packs all that is to be built, and packs what was built but not packed before. The error is the
 * first job's that failed. */
int bake_jobs_run(struct bake_jobs *b, struct err *e);
/* True once the user or a failed job wants everything to end; arg: the struct bake_jobs. */
bool bake_jobs_stopped(void *arg);

#endif
