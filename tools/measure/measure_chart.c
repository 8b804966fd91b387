/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Charts, as SVG.
 *
 * A chart has lines: one for each of its columns and each group of rows. Points
 * of an axis stand evenly, in the order in which their values come up; points
 * in time where their time is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure_page.h"

#define WIDTH 640
#define HEIGHT 260
#define LEFT 64
#define RIGHT 16
#define TOP 28
#define BOTTOM 36
#define MAX_GROUPS 8
#define MAX_POINTS 256
/* More points than this are a line without dots. */
#define MAX_DOTS 64

static const char *const colours[MAX_GROUPS] = {
	"#2a6f97", "#c1440e", "#5a8f29", "#7b4ab5", "#b8860b", "#0f8b8d",
	"#a4243b", "#555555",
};

struct plot {
	const struct measure_report *r;
	const struct measure_chart *c;
	double top;		/* of the axis */
	double end;		/* of time */
	/* Values of the axis, in order. */
	double points[MAX_POINTS];
	uint32_t nr_points;
	uint32_t groups[MAX_GROUPS];	/* a row of each */
	uint32_t nr_groups;
};

static double value(const struct plot *p, uint32_t row, uint32_t column)
{
	return measure_value(p->r, row, column);
}

/* Is @row of the group that @first stands for? */
static bool is_of(const struct plot *p, uint32_t row, uint32_t first)
{
	if (p->c->by == MEASURE_BY_NONE)
		return true;
	if (p->c->by == MEASURE_BY_LABEL)
		return strcmp(p->r->labels[row], p->r->labels[first]) == 0;
	return value(p, row, (uint32_t)p->c->by) ==
	       value(p, first, (uint32_t)p->c->by);
}

static void find_groups(struct plot *p)
{
	uint32_t i, g;

	for (i = 0; i < p->r->nr_rows; i++) {
		for (g = 0; g < p->nr_groups; g++) {
			if (is_of(p, i, p->groups[g]))
				break;
		}
		if (g == p->nr_groups && g < MAX_GROUPS)
			p->groups[p->nr_groups++] = i;
	}
}

static void find_points(struct plot *p)
{
	uint32_t i, k;
	double v;

	for (i = 0; i < p->r->nr_rows; i++) {
		v = value(p, i, 0);
		p->end = v > p->end ? v : p->end;
		for (k = 0; k < p->nr_points && p->points[k] != v; k++)
			;
		if (k == p->nr_points && k < MAX_POINTS)
			p->points[p->nr_points++] = v;
	}
}

/* The next of 1, 2 and 5 times a power of ten. */
static double round_up(double v)
{
	double p = pow(10, floor(log10(v)));

	if (v <= p)
		return p;
	return v <= 2 * p ? 2 * p : v <= 5 * p ? 5 * p : 10 * p;
}

static double find_top(const struct plot *p)
{
	double max = 0, v;
	uint32_t i, k;

	for (i = 0; i < p->r->nr_rows; i++) {
		for (k = 0; k < p->c->nr_columns; k++) {
			v = value(p, i, p->c->columns[k]);
			max = v > max ? v : max;
		}
	}
	return max > 0 ? round_up(max) : 1;
}

static double y_of(const struct plot *p, double v)
{
	return HEIGHT - BOTTOM - v / p->top * (HEIGHT - TOP - BOTTOM);
}

static double x_of(const struct plot *p, double v)
{
	double at = 0.5;
	uint32_t k;

	if (p->c->kind == MEASURE_TIME) {
		at = p->end > 0 ? v / p->end : 0;
	} else if (p->nr_points > 1) {
		for (k = 0; k + 1 < p->nr_points && p->points[k] != v; k++)
			;
		at = (double)k / (p->nr_points - 1);
	}
	return LEFT + 10 + at * (WIDTH - LEFT - RIGHT - 20);
}

static const char *colour(const struct plot *p, uint32_t column, uint32_t group)
{
	return colours[(column * p->nr_groups + group) % MAX_GROUPS];
}

static void draw_grid(const struct plot *p, FILE *f)
{
	double y;
	int i;

	for (i = 0; i <= 4; i++) {
		y = y_of(p, p->top * i / 4);
		fprintf(f, "<line class=g x1=%d y1=%.1f x2=%d y2=%.1f />"
			"<text x=%d y=%.1f text-anchor=end>%g</text>\n", LEFT,
			y, WIDTH - RIGHT, y, LEFT - 6, y + 4, p->top * i / 4);
	}
	fputs("<text x=4 y=12>", f);
	measure_text(p->c->unit, f);
	fputs("</text>\n", f);
}

static void draw_bars(const struct plot *p, FILE *f)
{
	const struct measure_report *r = p->r;
	double slot = (double)(WIDTH - LEFT - RIGHT) / r->nr_rows;
	double wide = slot * 0.8 / p->c->nr_columns, x, y;
	uint32_t i, k, column;

	for (i = 0; i < r->nr_rows; i++) {
		for (k = 0; k < p->c->nr_columns; k++) {
			column = p->c->columns[k];
			x = LEFT + slot * i + slot * 0.1 + wide * k;
			y = y_of(p, value(p, i, column));
			fprintf(f, "<rect x=%.1f y=%.1f width=%.1f height=%.1f "
				"fill=\"%s\"><title>%s %g</title></rect>\n", x,
				y, wide, HEIGHT - BOTTOM - y, colours[k %
				MAX_GROUPS], r->columns[column].title,
				value(p, i, column));
		}
		fprintf(f, "<text x=%.1f y=%d text-anchor=middle>",
			LEFT + slot * (i + 0.5), HEIGHT - BOTTOM + 16);
		measure_text(r->labels[i], f);
		fputs("</text>\n", f);
	}
}

static void draw_line(const struct plot *p, uint32_t column, uint32_t group,
		      const char *stroke, FILE *f)
{
	uint32_t i, nr = p->r->nr_rows;

	fprintf(f, "<polyline fill=none stroke=\"%s\" stroke-width=%d "
		"points=\"", stroke, nr > MAX_DOTS ? 1 : 2);
	for (i = 0; i < nr; i++) {
		if (is_of(p, i, group))
			fprintf(f, "%.1f,%.1f ", x_of(p, value(p, i, 0)),
				y_of(p, value(p, i, column)));
	}
	fputs("\"/>\n", f);
	for (i = 0; i < nr && nr <= MAX_DOTS; i++) {
		if (is_of(p, i, group))
			fprintf(f, "<circle cx=%.1f cy=%.1f r=3 fill=\"%s\">"
				"<title>%g: %g</title></circle>\n",
				x_of(p, value(p, i, 0)),
				y_of(p, value(p, i, column)), stroke,
				value(p, i, 0), value(p, i, column));
	}
}

static void draw_points(const struct plot *p, FILE *f)
{
	uint32_t k;

	for (k = 0; k < p->nr_points; k++)
		fprintf(f, "<text x=%.1f y=%d text-anchor=middle>%g</text>\n",
			x_of(p, p->points[k]), HEIGHT - BOTTOM + 16,
			p->points[k]);
}

/* Where each phase begins, its name, and the time. */
static void draw_phases(const struct plot *p, FILE *f)
{
	double from = 0, x;
	uint32_t i, k = 0;

	for (i = 0; i < p->r->nr_rows; i++) {
		if (i && strcmp(p->r->labels[i], p->r->labels[i - 1]) == 0)
			continue;
		if (i)
			from = value(p, i - 1, 0);
		x = x_of(p, from);
		fprintf(f, "<line stroke=currentColor stroke-dasharray=3 "
			"x1=%.1f y1=%d x2=%.1f y2=%d />"
			"<text x=%.1f y=%d>", x, TOP - 12, x, HEIGHT - BOTTOM,
			x + 3, TOP + 12 * (int)(k++ % 2) - 4);
		measure_text(p->r->labels[i], f);
		fprintf(f, "</text><text x=%.1f y=%d>%.2g</text>\n", x,
			HEIGHT - BOTTOM + 16, from);
	}
}

static void draw_lines(const struct plot *p, FILE *f)
{
	uint32_t g, k;

	if (p->c->kind == MEASURE_TIME)
		draw_phases(p, f);
	else
		draw_points(p, f);
	for (k = 0; k < p->c->nr_columns; k++) {
		for (g = 0; g < p->nr_groups; g++)
			draw_line(p, p->c->columns[k], p->groups[g],
				  colour(p, k, g), f);
	}
	fprintf(f, "<text x=%d y=%d text-anchor=middle>",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4);
	measure_text(p->r->columns[0].title, f);
	fputs("</text>\n", f);
}

static void draw_legend(const struct plot *p, FILE *f)
{
	const struct measure_report *r = p->r;
	int by = p->c->by;
	uint32_t g, k;

	if (p->c->nr_columns * p->nr_groups < 2)
		return;
	fputs("<p>", f);
	for (k = 0; k < p->c->nr_columns; k++) {
		for (g = 0; g < p->nr_groups; g++) {
			fprintf(f, "<b style=\"color:%s\">&#9632;</b> ",
				colour(p, k, g));
			measure_text(r->columns[p->c->columns[k]].title, f);
			if (by >= 0) {
				fputs(", ", f);
				measure_text(r->columns[by].title, f);
				fprintf(f, " %g", value(p, p->groups[g],
							(uint32_t)by));
			} else if (by == MEASURE_BY_LABEL) {
				fputs(", ", f);
				measure_text(r->labels[p->groups[g]], f);
			}
			fputs(" &nbsp; ", f);
		}
	}
	fputs("</p>\n", f);
}

void measure_draw(const struct measure_report *r, const struct measure_chart *c,
		  FILE *f)
{
	struct plot p = { .r = r, .c = c };

	find_groups(&p);
	find_points(&p);
	p.top = find_top(&p);
	fputs("<h2>", f);
	measure_text(c->title, f);
	fprintf(f, "</h2>\n<svg viewBox=\"0 0 %d %d\" role=img>\n", WIDTH,
		HEIGHT);
	draw_grid(&p, f);
	if (c->kind == MEASURE_BARS)
		draw_bars(&p, f);
	else
		draw_lines(&p, f);
	fputs("</svg>\n", f);
	draw_legend(&p, f);
}
