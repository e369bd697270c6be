/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/json.h"

int json_print(const json_t *j, FILE *to)
{
	/* 15 digits: what a double holds of a decimal fraction, so that 0.1 is printed as 0.1 */
	if (json_dumpf(j, to, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) < 0)
		return -EIO;
	return fputc('\n', to) == EOF ? -EIO : 0;
}
