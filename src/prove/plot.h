/* SPDX-License-Identifier: MIT */
/*
 * Small line plots as SVG: ticks that people would choose, log axes in powers of two and ten, a legend. Colours come
 * from the page's style sheet (classes s0 to s7, see report_style.c), so that one plot serves light, dark and print;
 * every series also has a marker of its own, for readers who do not tell the colours apart.
 */
#ifndef KILN_PROVE_PLOT_H
#define KILN_PROVE_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum plot_scale { PLOT_LINEAR, PLOT_LOG2, PLOT_LOG10 };
enum plot_unit {
	PLOT_NUMBER,
	PLOT_BYTES,        /* 8, 64K, 1M: powers of 1024 */
	PLOT_MICROSECONDS, /* 10 µs, 1 ms, 2 s */
	PLOT_CLOCK,        /* seconds since 1970, shown as UTC time of day */
};

struct plot_axis {
	const char *label;
	enum plot_scale scale;
	enum plot_unit unit;
	bool from_zero;  /* linear: the axis begins at 0 */
	double min, max; /* min == max: from the data */
};

#define PLOT_COLOURS 8
struct plot_series {
	const char *name;
	const double *x, *y; /* count each; a NAN in y is a gap, as is a value <= 0 on a log axis */
	size_t count;
	bool dashed;
	unsigned colour; /* 0 .. PLOT_COLOURS - 1 */
};

struct plot {
	const char *id;    /* unique in the page: letters, digits and dashes */
	const char *title; /* shown above the plot, and its accessible name */
	const char *desc;  /* what a reader should see in it, for those who cannot */
	struct plot_axis x, y;
	const struct plot_series *series;
	size_t count;
	unsigned width, height; /* in CSS pixels at full size */
	bool markers;           /* a mark with a tool tip on every point */
	bool legend;
};

/* Adds one <svg>. A plot without a point that can be drawn says "no data". 0, or the buffer's failure. */
int plot_svg(const struct plot *p, struct buf *to);

/* One axis worked out: its range, its ticks and what they say. */
#define PLOT_TICKS 16
#define PLOT_LABEL_BYTES 24
struct plot_ticks {
	double min, max;
	size_t count;
	double at[PLOT_TICKS];
	char label[PLOT_TICKS][PLOT_LABEL_BYTES];
};
/* min and max: of the data; both > 0 on a log axis. wanted: how many ticks fit (3 .. PLOT_TICKS - 2). */
void plot_ticks_make(const struct plot_axis *axis, double min, double max, unsigned wanted, struct plot_ticks *ret);
/* Where a value lies on the axis, 0 .. 1. */
double plot_ticks_place(const struct plot_axis *axis, const struct plot_ticks *t, double value);
/* A value as a tool tip or a tick has it. */
void plot_value_text(enum plot_unit unit, double value, char ret[PLOT_LABEL_BYTES]);

#endif
