/* SPDX-License-Identifier: MIT */
/* Ranges and ticks: 1-2-5 steps, powers of two or ten, round times of day. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "prove/plot.h"

void plot_value_text(enum plot_unit unit, double v, char ret[PLOT_LABEL_BYTES])
{
	static const char letters[] = "KMGTP";
	int at = -1;
	switch (unit) {
	case PLOT_BYTES:
		for (; v >= 1024 && at < 4; at++)
			v /= 1024;
		snprintf(ret, PLOT_LABEL_BYTES, at < 0 ? "%.4g" : "%.4g%c", v, at < 0 ? ' ' : letters[at]);
		return;
	case PLOT_MICROSECONDS:
		if (v >= 1e6)
			snprintf(ret, PLOT_LABEL_BYTES, "%.3g s", v / 1e6);
		else if (v >= 1e3)
			snprintf(ret, PLOT_LABEL_BYTES, "%.3g ms", v / 1e3);
		else
			snprintf(ret, PLOT_LABEL_BYTES, "%.3g µs", v);
		return;
	case PLOT_CLOCK: {
		time_t t = (time_t)v;
		struct tm tm;
		strftime(ret, PLOT_LABEL_BYTES, "%H:%M:%S", gmtime_r(&t, &tm));
		return;
	}
	default:
		snprintf(ret, PLOT_LABEL_BYTES, fabs(v) >= 1e6 ? "%.3g" : fabs(v) >= 100 ? "%.0f" : "%.4g", v);
	}
}

static void add(struct plot_ticks *t, enum plot_unit unit, double v)
{
	if (t->count == PLOT_TICKS)
		return;
	t->at[t->count] = v;
	plot_value_text(unit, v, t->label[t->count++]);
}

/* Powers of the base inside the data's range, every second, third ... of them when there are too many. */
static void log_ticks(const struct plot_axis *axis, double min, double max, unsigned wanted, struct plot_ticks *t)
{
	double base = axis->scale == PLOT_LOG2 ? 2 : 10;
	double low = floor(log(min) / log(base) + 1e-9);
	double high = ceil(log(max) / log(base) - 1e-9);
	if (axis->scale == PLOT_LOG2) {
		/* The data's own ends: message sizes begin and end where the user said. */
		t->min = min;
		t->max = max > min ? max : min * 2;
		low = ceil(log2(min) - 1e-9);
	} else {
		if (high <= low)
			high = low + 1;
		t->min = pow(base, low);
		t->max = pow(base, high);
	}
	/* Decades are far apart and their names short: all of them, up to eight. */
	double step = axis->scale == PLOT_LOG10 && high - low < 8 ? 1 : ceil((high - low + 1) / wanted);
	/* Even steps of 1024 read best: 8 64 512 4K or 8 128 2K. */
	for (double p = low; p <= high + 1e-9; p += step)
		if (pow(base, p) <= t->max * (1 + 1e-9))
			add(t, axis->unit, pow(base, p));
}

static double round_step(const struct plot_axis *axis, double rough)
{
	static const double times[] = { 1,   2,   5,    10,   15,   30,    60,    120,  300,
					600, 900, 1800, 3600, 7200, 14400, 21600, 43200 };
	if (axis->unit == PLOT_CLOCK && rough <= 43200) {
		for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
			if (times[i] >= rough)
				return times[i];
	}
	double power = pow(10, floor(log10(rough)));
	double lead = rough / power;
	return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static void linear_ticks(const struct plot_axis *axis, double min, double max, unsigned wanted, struct plot_ticks *t)
{
	if (axis->from_zero && min > 0)
		min = 0;
	if (max <= min) {
		double around = axis->unit == PLOT_CLOCK ? 30 : fabs(min) > 0 ? fabs(min) * 0.1 : 1;
		min -= axis->from_zero && min >= 0 ? 0 : around;
		max += around;
	}
	double step = round_step(axis, (max - min) / wanted);
	/* A clock keeps the data's ends: an axis that begins before the first sample would look like a gap. */
	t->min = axis->unit == PLOT_CLOCK ? min : floor(min / step + 1e-9) * step;
	t->max = axis->unit == PLOT_CLOCK ? max : ceil(max / step - 1e-9) * step;
	for (double v = ceil(t->min / step - 1e-9) * step; v <= t->max + step * 1e-9; v += step)
		add(t, axis->unit, fabs(v) < step * 1e-9 ? 0 : v);
}

void plot_ticks_make(const struct plot_axis *axis, double min, double max, unsigned wanted, struct plot_ticks *ret)
{
	*ret = (struct plot_ticks){ 0 };
	if (axis->max > axis->min) {
		min = axis->min;
		max = axis->max;
	}
	if (axis->scale == PLOT_LINEAR)
		linear_ticks(axis, min, max, wanted, ret);
	else
		log_ticks(axis, min, max, wanted, ret);
}

double plot_ticks_place(const struct plot_axis *axis, const struct plot_ticks *t, double v)
{
	if (axis->scale == PLOT_LINEAR)
		return (v - t->min) / (t->max - t->min);
	return log(v / t->min) / log(t->max / t->min);
}
