/* SPDX-License-Identifier: MIT */
#include "catalog/xids.h"

#include <stdlib.h>

const struct xids_row *xids_find(int code)
{
	unsigned low = 0, high = xids_table_count;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (xids_table[middle].code == code)
			return &xids_table[middle];
		if (xids_table[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct xids_recovery *xids_find_recovery(int action)
{
	for (unsigned i = 0; i < xids_recovery_table_count; i++)
		if (xids_recovery_table[i].action == action)
			return &xids_recovery_table[i];
	return NULL;
}

int xids_nearest(int code)
{
	int best = xids_table[0].code;
	for (unsigned i = 1; i < xids_table_count; i++)
		if (labs((long)xids_table[i].code - code) < labs((long)best - code))
			best = xids_table[i].code;
	return best;
}
