/* SPDX-License-Identifier: MIT */
/* How a reduction over all ranks is done, as rows. algorithm_choose lists them. */
#ifndef KILN_PROVE_ALGORITHM_H
#define KILN_PROVE_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prove/datatype.h"
#include "prove/team.h"

struct algorithm_job {
	struct team *team;
	const struct datatype *type;
	enum reduction op;
	const void *in; /* count elements; may be out */
	void *out;
	size_t count;
	void *scratch; /* as large as scratch_bytes said; registered with the endpoint, as are in and out */
};

struct algorithm_ops {
	const char *name;
	bool (*fits)(uint32_t ranks);                          /* can run at all */
	bool (*is_best)(uint32_t ranks, size_t bytes);         /* is to be taken when nobody says otherwise */
	size_t (*scratch_bytes)(uint32_t ranks, size_t bytes); /* for a job of so many bytes */
	/* Collective. Errors: request's. */
	int (*run)(const struct algorithm_job *job, struct err *e);
};

extern const struct algorithm_ops algorithm_recursive_doubling;
extern const struct algorithm_ops algorithm_ring;
/* All of them, NULL-ended. */
extern const struct algorithm_ops *const algorithm_rows[];

/* name NULL: the best for that many ranks and bytes. ERR_INPUT: unknown, or cannot run with so many ranks. */
int algorithm_choose(const char *name, uint32_t ranks, size_t bytes, const struct algorithm_ops **ret, struct err *e);
/* Enough for any of them up to bytes. */
size_t algorithm_scratch_bytes(uint32_t ranks, size_t bytes);

#endif
