/* SPDX-License-Identifier: MIT */
#include "prove/algorithm.h"

#include <string.h>

/* The first that is best; the last always fits. */
const struct algorithm_ops *const algorithm_rows[] = { &algorithm_recursive_doubling, &algorithm_ring, NULL };

int algorithm_choose(const char *name, uint32_t ranks, size_t bytes, const struct algorithm_ops **ret, struct err *e)
{
	for (size_t i = 0; algorithm_rows[i]; i++) {
		if (name && strcmp(name, algorithm_rows[i]->name) != 0)
			continue;
		if (name && !algorithm_rows[i]->fits(ranks))
			return err_input(e, "algorithm '%s' cannot run with %u ranks", name, ranks);
		if (!name && !(algorithm_rows[i]->fits(ranks) && algorithm_rows[i]->is_best(ranks, bytes)))
			continue;
		*ret = algorithm_rows[i];
		return 0;
	}
	return err_input(e, "unknown algorithm '%s'; known: recursive_doubling, ring", name);
}

size_t algorithm_scratch_bytes(uint32_t ranks, size_t bytes)
{
	size_t most = 0;

	for (size_t i = 0; algorithm_rows[i]; i++) {
		size_t n = algorithm_rows[i]->scratch_bytes(ranks, bytes);
		most = n > most ? n : most;
	}
	return most;
}
