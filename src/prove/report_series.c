/* SPDX-License-Identifier: MIT */
#include "prove/report_series.h"

#include "prove/report_html.h"

double *report_series_of(const json_t *list, const char *group, const char *key)
{
	size_t i;
	json_t *one;
	double *all = calloc(json_array_size(list) + 1, sizeof(*all));
	if (!all)
		return NULL;
	json_array_foreach (list, i, one)
		all[i] = html_json_num(group ? json_object_get(one, group) : one, key);
	return all;
}
