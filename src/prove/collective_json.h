/* SPDX-License-Identifier: MIT */
/*
 * nccl-tests' JSON report, version 3, with what it lacks: provider, ranks, percentiles. Of the environment only FI_*,
 * NCCL_* and OMPI_MCA_* are written: the rest holds secrets.
 */
#ifndef KILN_PROVE_COLLECTIVE_JSON_H
#define KILN_PROVE_COLLECTIVE_JSON_H

#include "base/json.h"
#include "prove/collective.h"

/* argv: NULL-ended, the program's own. least_busbw as in collective_table_foot. Gives the object; NULL when out of memory. */
json_t *collective_json(const struct collective_ops *ops, const struct team *t, const struct collective_options *o,
			const struct collective_result *r, double least_busbw, char *const *argv);

#endif
