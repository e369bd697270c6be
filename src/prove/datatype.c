/* SPDX-License-Identifier: MIT */
#include "prove/datatype.h"

#include <stdio.h>
#include <string.h>

const struct datatype *const datatypes[] = { &datatype_int8,
					     &datatype_uint8,
					     &datatype_int32,
					     &datatype_uint32,
					     &datatype_int64,
					     &datatype_uint64,
					     &datatype_half,
					     &datatype_float,
					     &datatype_double,
					     &datatype_bfloat16,
					     NULL };

static const char *const reductions[REDUCTION_COUNT] = { "sum", "prod", "max", "min", "avg" };

int datatype_find(const char *name, const struct datatype **ret, struct err *e)
{
	char known[160] = "";
	size_t used = 0;

	for (const struct datatype *const *d = datatypes; *d; d++) {
		if (strcmp((*d)->name, name) == 0) {
			*ret = *d;
			return 0;
		}
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s ", (*d)->name);
	}
	return err_input(e, "unknown data type '%s'; known: %sall", name, known);
}

int datatype_find_reduction(const char *name, enum reduction *ret, struct err *e)
{
	for (int i = 0; i < REDUCTION_COUNT; i++)
		if (strcmp(reductions[i], name) == 0) {
			*ret = (enum reduction)i;
			return 0;
		}
	return err_input(e, "unknown reduction '%s'; known: sum prod max min avg all", name);
}

const char *datatype_reduction_name(enum reduction op)
{
	return reductions[op];
}
