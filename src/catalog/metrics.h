/* SPDX-License-Identifier: MIT */
/* The metrics that kiln knows: catalog/metrics.json, made into a table when kiln is built. */
#ifndef KILN_CATALOG_METRICS_H
#define KILN_CATALOG_METRICS_H

struct metrics_row {
	const char *name;
	const char *of;   /* "gpu", "efa" */
	const char *kind; /* "gauge", "counter" */
	const char *unit;
	const char *help; /* one sentence */
	const char *source;
	const char *date;
};

/* Sorted by name. */
extern const struct metrics_row metrics_table[];
extern const unsigned metrics_table_count;

/* NULL: not a metric of the catalogue. */
const struct metrics_row *metrics_find(const char *name);

#endif
