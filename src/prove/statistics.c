/* SPDX-License-Identifier: MIT */
#include "prove/statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double percentile(const double *sorted, size_t count, unsigned p)
{
	return sorted[(count * p + 99) / 100 - 1];
}

void statistics_of(double *values, size_t count, struct statistics *ret)
{
	struct statistics s = { 0 };
	double squares = 0;

	*ret = s;
	if (count == 0)
		return;
	qsort(values, count, sizeof(*values), compare);
	for (size_t i = 0; i < count; i++)
		s.mean += values[i];
	s.mean /= (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	s.stdev = sqrt(squares / (double)count);
	s.min = values[0];
	s.max = values[count - 1];
	s.p50 = percentile(values, count, 50);
	s.p95 = percentile(values, count, 95);
	s.p99 = percentile(values, count, 99);
	*ret = s;
}
