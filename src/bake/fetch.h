/* SPDX-License-Identifier: MIT */
/*
 * Downloads into STATE/downloads/<sha256>: many at a time, resumed, tried again, verified before they get their name.
 * A file that is being fetched is <sha256>.part; one that was cut off stays so and is continued by the next run.
 */
#ifndef KILN_BAKE_FETCH_H
#define KILN_BAKE_FETCH_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/progress.h"
#include "stack/plan.h"

struct fetch_options {
	unsigned parallel;                 /* connections; 0: 8 */
	unsigned attempts;                 /* per file; 0: 4, one and three more */
	uint32_t backoff_ms;               /* before the second attempt, twice as long before each later one; 0: 1000 */
	uint32_t stall_ms;                 /* see http_get; 0: its own */
	struct progress_step *step;        /* gets bytes and total; may be NULL */
	const volatile sig_atomic_t *stop; /* non-zero ends it with -EINTR; may be NULL */
	const volatile sig_atomic_t *cancel; /* likewise */
};

/* Makes every source present. Those that are there (by size; by digest when the size is not known beforehand) are not
 * fetched again; the same file named twice is fetched once. The first file that fails for good ends it:
 * ERR_REMOTE: it cannot be had (names URL and why; the part stays to be continued), or it is not what was asked for
 * (names URL, wanted and got digest; the part is removed); -ENOSPC and the like name the path (the part is removed);
 * -ELIBACC: no libcurl; -EINTR: stopped. */
int fetch_all(const struct plan_source *const *sources, size_t count, const struct fetch_options *o, struct err *e);

/* Removes every part that was left to be continued: where there is no room, they are in the way. */
void fetch_remove_parts(void);

/* Gives STATE/downloads/<sha256>, whether it is there or not. */
int fetch_path(const char *sha256, char **ret, struct err *e);

/* *ret: whether the file is there, whole by its size (by its digest when no size is known). -ENOMEM; an unusable STATE. */
int fetch_present(const struct plan_source *s, bool *ret, struct err *e);

#endif
