/* SPDX-License-Identifier: MIT */
/* Numbers out of result files as what plots take. */
#ifndef KILN_PROVE_REPORT_SERIES_H
#define KILN_PROVE_REPORT_SERIES_H

#include <jansson.h>

#include "base/own.h"

/* One number of each element of a list: key, or group.key when group is not NULL. Gives an array of as many numbers as
 * the list has elements (free() it), NAN where an element has none; NULL when out of memory. */
double *report_series_of(const json_t *list, const char *group, const char *key);

#define AUTO_SERIES __attribute__((cleanup(own_free))) double *

#endif
