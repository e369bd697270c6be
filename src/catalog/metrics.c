/* SPDX-License-Identifier: MIT */
#include "catalog/metrics.h"

#include <stddef.h>
#include <string.h>

const struct metrics_row *metrics_find(const char *name)
{
	for (unsigned i = 0; i < metrics_table_count; i++)
		if (strcmp(metrics_table[i].name, name) == 0)
			return &metrics_table[i];
	return NULL;
}
