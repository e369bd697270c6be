/* SPDX-License-Identifier: MIT */
/* What a run of times says. Percentiles are of the nearest rank: a time that was really measured. */
#ifndef KILN_PROVE_STATISTICS_H
#define KILN_PROVE_STATISTICS_H

#include <stddef.h>

struct statistics {
	double min, mean, p50, p95, p99, max, stdev;
};

/* Sorts values in place. count 0 gives zeros. */
void statistics_of(double *values, size_t count, struct statistics *ret);

#endif
