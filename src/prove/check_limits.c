/* SPDX-License-Identifier: MIT */
#include "prove/check_limits.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

static uint64_t number(const char **at)
{
	*at += strspn(*at, " ");
	if (strncmp(*at, "unlimited", 9) == 0) {
		*at += 9;
		return CHECK_UNLIMITED;
	}
	char *end;
	uint64_t n = strtoull(*at, &end, 10);
	*at = end;
	return n;
}

int check_limits_read(const struct world *w, const char *name, uint64_t *ret_soft, uint64_t *ret_hard, struct err *e)
{
	AUTO_STR text = NULL;
	int r = world_read(w, "/proc/self/limits", &text, e);
	if (r < 0)
		return r;
	const char *line = strstr(text, name);
	if (!line)
		return err_set(e, -ENOENT, "/proc/self/limits has no line '%s'", name);
	line += strlen(name);
	*ret_soft = number(&line);
	*ret_hard = number(&line);
	return 0;
}
