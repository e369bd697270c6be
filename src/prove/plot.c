/* SPDX-License-Identifier: MIT */
#include "prove/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "prove/report_html.h"

#define LEFT 58
#define RIGHT 18
#define BOTTOM 42
#define ABOVE_TITLE 18
#define ABOVE_LEGEND 20

/* The plot's inner field in the SVG's units, and both axes worked out. */
struct frame {
	double left, right, top, bottom;
	struct plot_ticks x, y;
};

static bool drawable(const struct plot *p, double x, double y)
{
	return isfinite(x) && isfinite(y) && (p->x.scale == PLOT_LINEAR || x > 0) &&
	       (p->y.scale == PLOT_LINEAR || y > 0);
}

static bool ranges(const struct plot *p, double *x0, double *x1, double *y0, double *y1)
{
	*x0 = *y0 = INFINITY;
	*x1 = *y1 = -INFINITY;
	for (size_t s = 0; s < p->count; s++) {
		for (size_t i = 0; i < p->series[s].count; i++) {
			double x = p->series[s].x[i], y = p->series[s].y[i];
			if (!drawable(p, x, y))
				continue;
			*x0 = fmin(*x0, x);
			*x1 = fmax(*x1, x);
			*y0 = fmin(*y0, y);
			*y1 = fmax(*y1, y);
		}
	}
	return *x0 <= *x1;
}

static double place_x(const struct plot *p, const struct frame *f, double x)
{
	return f->left + plot_ticks_place(&p->x, &f->x, x) * (f->right - f->left);
}

static double place_y(const struct plot *p, const struct frame *f, double y)
{
	return f->bottom - plot_ticks_place(&p->y, &f->y, y) * (f->bottom - f->top);
}

static void axes(const struct plot *p, const struct frame *f, struct buf *to)
{
	for (size_t i = 0; i < f->y.count; i++) {
		double y = place_y(p, f, f->y.at[i]);
		buf_printf(to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", f->left,
			   f->right, y, y);
		buf_printf(to, "<text class=\"tick end\" x=\"%.1f\" y=\"%.1f\">%s</text>", f->left - 7, y + 4,
			   f->y.label[i]);
	}
	for (size_t i = 0; i < f->x.count; i++) {
		double x = place_x(p, f, f->x.at[i]);
		buf_printf(to, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, x, f->top,
			   f->bottom);
		buf_printf(to, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">%s</text>", x, f->bottom + 16,
			   f->x.label[i]);
	}
	buf_printf(to, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", f->left, f->right,
		   f->bottom, f->bottom);
	if (p->x.label) {
		buf_printf(to, "<text class=\"label mid\" x=\"%.1f\" y=\"%.1f\">", (f->left + f->right) / 2,
			   f->bottom + 34);
		html_text(to, p->x.label);
		buf_str(to, "</text>");
	}
	if (p->y.label) {
		double middle = (f->top + f->bottom) / 2;
		buf_printf(to, "<text class=\"label mid\" transform=\"translate(12 %.1f) rotate(-90)\">", middle);
		html_text(to, p->y.label);
		buf_str(to, "</text>");
	}
}

/* Circle, square, triangle, diamond: so that colour is never the only difference. */
static void marker(struct buf *to, unsigned colour, double x, double y)
{
	switch (colour % 4) {
	case 0:
		buf_printf(to, "<circle class=\"m s%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"", colour, x, y);
		break;
	case 1:
		buf_printf(to, "<rect class=\"m s%u\" x=\"%.1f\" y=\"%.1f\" width=\"5.4\" height=\"5.4\"", colour,
			   x - 2.7, y - 2.7);
		break;
	case 2:
		buf_printf(to, "<path class=\"m s%u\" d=\"M%.1f %.1fl3.6 6.2h-7.2z\"", colour, x, y - 3.9);
		break;
	default:
		buf_printf(to, "<path class=\"m s%u\" d=\"M%.1f %.1fl3.8 3.8l-3.8 3.8l-3.8 -3.8z\"", colour, x,
			   y - 3.8);
	}
}

static void line(const struct plot *p, const struct frame *f, const struct plot_series *s, struct buf *to)
{
	bool pen = false;
	buf_printf(to, "<path class=\"l s%u%s\" d=\"", s->colour, s->dashed ? " dash" : "");
	for (size_t i = 0; i < s->count; i++) {
		if (!drawable(p, s->x[i], s->y[i])) {
			pen = false;
			continue;
		}
		buf_printf(to, "%c%.1f %.1f", pen ? 'L' : 'M', place_x(p, f, s->x[i]), place_y(p, f, s->y[i]));
		pen = true;
	}
	buf_str(to, "\"/>");
}

static void markers(const struct plot *p, const struct frame *f, const struct plot_series *s, struct buf *to)
{
	char x[PLOT_LABEL_BYTES], y[PLOT_LABEL_BYTES];
	for (size_t i = 0; i < s->count; i++) {
		if (!drawable(p, s->x[i], s->y[i]))
			continue;
		marker(to, s->colour, place_x(p, f, s->x[i]), place_y(p, f, s->y[i]));
		plot_value_text(p->x.unit, s->x[i], x);
		plot_value_text(p->y.unit, s->y[i], y);
		buf_str(to, "><title>");
		html_text(to, s->name);
		buf_printf(to, ": %s at %s</title></%s>", y, x,
			   s->colour % 4 == 0   ? "circle"
			   : s->colour % 4 == 1 ? "rect"
						: "path");
	}
}

static void legend(const struct plot *p, double x, double y, struct buf *to)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct plot_series *s = &p->series[i];
		buf_printf(to, "<line class=\"l s%u%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", s->colour,
			   s->dashed ? " dash" : "", x, x + 22, y - 4, y - 4);
		if (p->markers) {
			marker(to, s->colour, x + 11, y - 4);
			buf_str(to, "/>");
		}
		buf_printf(to, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">", x + 28, y);
		html_text(to, s->name);
		buf_str(to, "</text>");
		x += 28 + 16 + 6.7 * (double)strlen(s->name); /* about the width of a character at this size */
	}
}

static void head(const struct plot *p, struct buf *to)
{
	buf_printf(to,
		   "<svg class=\"plot\" role=\"img\" aria-labelledby=\"%s-t %s-d\" viewBox=\"0 0 %u %u\" "
		   "xmlns=\"http://www.w3.org/2000/svg\">",
		   p->id, p->id, p->width, p->height);
	buf_printf(to, "<title id=\"%s-t\">", p->id);
	html_text(to, p->title);
	buf_printf(to, "</title><desc id=\"%s-d\">", p->id);
	html_text(to, p->desc ? p->desc : p->title);
	buf_printf(to, "</desc><text class=\"head\" x=\"0\" y=\"13\">");
	html_text(to, p->title);
	buf_str(to, "</text>");
}

int plot_svg(const struct plot *p, struct buf *to)
{
	double x0, x1, y0, y1;
	head(p, to);
	if (!ranges(p, &x0, &x1, &y0, &y1)) {
		buf_printf(to, "<text class=\"tick mid\" x=\"%u\" y=\"%u\">no data</text></svg>\n", p->width / 2,
			   p->height / 2);
		return to->failed;
	}
	struct frame f = { .left = LEFT,
			   .right = p->width - RIGHT,
			   .bottom = p->height - (p->x.label ? BOTTOM : BOTTOM - 16) };
	f.top = ABOVE_TITLE + (p->legend ? ABOVE_LEGEND : 0) + 8;
	/* A time of day takes about 60 units, a size about 30; twice that keeps them apart. */
	unsigned wanted = (unsigned)((f.right - f.left) / (p->x.unit == PLOT_CLOCK ? 90 : 52));
	plot_ticks_make(&p->x, x0, x1, wanted < 3 ? 3 : wanted > 12 ? 12 : wanted, &f.x);
	plot_ticks_make(&p->y, y0, y1, p->height < 180 ? 3 : 5, &f.y);
	axes(p, &f, to);
	if (p->legend)
		legend(p, LEFT, ABOVE_TITLE + 14, to);
	for (size_t i = 0; i < p->count; i++)
		line(p, &f, &p->series[i], to);
	for (size_t i = 0; p->markers && i < p->count; i++)
		markers(p, &f, &p->series[i], to);
	return buf_str(to, "</svg>\n");
}
