/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as one page: style and drawings (SVG) are in it, there are no
 * scripts and no links, and it can be read with its colours inverted.
 */
#include <math.h>
#include <string.h>

#include "measure.h"

#define WIDTH 640
#define HEIGHT 260
#define LEFT 64
#define RIGHT 16
#define TOP 28
#define BOTTOM 36
#define MAX_GROUPS 8

static const char *const colours[MAX_GROUPS] = {
	"#2a6f97", "#c1440e", "#5a8f29", "#7b4ab5", "#b8860b", "#0f8b8d",
	"#a4243b", "#555555",
};

static void text(const char *s, FILE *f)
{
	for (; *s; s++) {
		switch (*s) {
		case '<':
			fputs("&lt;", f);
			break;
		case '>':
			fputs("&gt;", f);
			break;
		case '&':
			fputs("&amp;", f);
			break;
		case '"':
			fputs("&quot;", f);
			break;
		default:
			fputc(*s, f);
		}
	}
}

static double value(const struct measure_report *r, uint32_t row,
		    uint32_t column)
{
	return r->values[(size_t)row * r->nr_columns + column];
}

static double largest(const struct measure_report *r,
		      const struct measure_chart *c)
{
	double max = 0, v;
	uint32_t i, k;

	for (i = 0; i < r->nr_rows; i++) {
		for (k = 0; k < c->nr_columns; k++) {
			v = value(r, i, c->columns[k]);
			max = v > max ? v : max;
		}
	}
	return max > 0 ? max : 1;
}

/* The next of 1, 2 and 5 times a power of ten. */
static double round_up(double v)
{
	double p = pow(10, floor(log10(v)));

	if (v <= p)
		return p;
	return v <= 2 * p ? 2 * p : v <= 5 * p ? 5 * p : 10 * p;
}

static double y_of(double v, double top)
{
	return HEIGHT - BOTTOM - v / top * (HEIGHT - TOP - BOTTOM);
}

static void draw_grid(const struct measure_chart *c, double top, FILE *f)
{
	double y;
	int i;

	for (i = 0; i <= 4; i++) {
		y = y_of(top * i / 4, top);
		fprintf(f, "<line class=g x1=%d y1=%.1f x2=%d y2=%.1f />"
			"<text x=%d y=%.1f text-anchor=end>%g</text>\n", LEFT,
			y, WIDTH - RIGHT, y, LEFT - 6, y + 4, top * i / 4);
	}
	fprintf(f, "<text x=4 y=12>");
	text(c->unit, f);
	fputs("</text>\n", f);
}

static void draw_bars(const struct measure_report *r,
		      const struct measure_chart *c, double top, FILE *f)
{
	double slot = (double)(WIDTH - LEFT - RIGHT) /
		      (r->nr_rows ? r->nr_rows : 1);
	double wide = slot * 0.8 / c->nr_columns, x, y;
	uint32_t i, k;

	for (i = 0; i < r->nr_rows; i++) {
		for (k = 0; k < c->nr_columns; k++) {
			x = LEFT + slot * i + slot * 0.1 + wide * k;
			y = y_of(value(r, i, c->columns[k]), top);
			fprintf(f, "<rect x=%.1f y=%.1f width=%.1f height=%.1f "
				"fill=\"%s\"><title>%s %g</title></rect>\n", x,
				y, wide, HEIGHT - BOTTOM - y,
				colours[k % MAX_GROUPS],
				r->columns[c->columns[k]].title,
				value(r, i, c->columns[k]));
		}
		fprintf(f, "<text x=%.1f y=%d text-anchor=middle>",
			LEFT + slot * (i + 0.5), HEIGHT - BOTTOM + 16);
		text(r->labels[i], f);
		fputs("</text>\n", f);
	}
}

/* The first column is the axis: evenly, point after point of its values. */
static int place_of(const struct measure_report *r, uint32_t row, int *nr_ret)
{
	double seen[256];
	int nr = 0, at = -1, k;
	uint32_t i;

	for (i = 0; i < r->nr_rows; i++) {
		for (k = 0; k < nr && seen[k] != value(r, i, 0); k++)
			;
		if (k == nr && nr < 256)
			seen[nr++] = value(r, i, 0);
		if (i == row)
			at = k;
	}
	*nr_ret = nr;
	return at;
}

static double x_of(const struct measure_report *r, uint32_t row)
{
	int nr, at = place_of(r, row, &nr);

	return LEFT + (nr > 1 ? (double)at / (nr - 1) : 0.5) *
	       (WIDTH - LEFT - RIGHT - 20) + 10;
}

static void draw_line(const struct measure_report *r,
		      const struct measure_chart *c, uint32_t column,
		      double group, double top, const char *colour, FILE *f)
{
	uint32_t i;

	fprintf(f, "<polyline fill=none stroke=\"%s\" stroke-width=2 "
		"points=\"", colour);
	for (i = 0; i < r->nr_rows; i++) {
		if (c->by < 0 || value(r, i, (uint32_t)c->by) == group)
			fprintf(f, "%.1f,%.1f ", x_of(r, i),
				y_of(value(r, i, column), top));
	}
	fputs("\"/>\n", f);
	for (i = 0; i < r->nr_rows; i++) {
		if (c->by < 0 || value(r, i, (uint32_t)c->by) == group)
			fprintf(f, "<circle cx=%.1f cy=%.1f r=3 fill=\"%s\">"
				"<title>%g: %g</title></circle>\n", x_of(r, i),
				y_of(value(r, i, column), top), colour,
				value(r, i, 0), value(r, i, column));
	}
}

/* The different values of a column; how many. */
static uint32_t groups_of(const struct measure_report *r, int column,
			  double out[MAX_GROUPS])
{
	uint32_t nr = 0, i, k;

	out[0] = 0;
	if (column < 0)
		return 1;
	for (i = 0; i < r->nr_rows; i++) {
		for (k = 0; k < nr; k++) {
			if (out[k] == value(r, i, (uint32_t)column))
				break;
		}
		if (k == nr && nr < MAX_GROUPS)
			out[nr++] = value(r, i, (uint32_t)column);
	}
	return nr;
}

static void draw_lines(const struct measure_report *r,
		       const struct measure_chart *c, double top, FILE *f)
{
	double groups[MAX_GROUPS];
	uint32_t nr = groups_of(r, c->by, groups), g, k, i;
	double last = -1;

	for (k = 0; k < c->nr_columns; k++) {
		for (g = 0; g < nr; g++)
			draw_line(r, c, c->columns[k], groups[g], top,
				  colours[(k * nr + g) % MAX_GROUPS], f);
	}
	for (i = 0; i < r->nr_rows; i++) {
		if (x_of(r, i) <= last)
			continue;
		last = x_of(r, i);
		fprintf(f, "<text x=%.1f y=%d text-anchor=middle>%g</text>\n",
			last, HEIGHT - BOTTOM + 16, value(r, i, 0));
	}
	fprintf(f, "<text x=%d y=%d text-anchor=middle>",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4);
	text(r->columns[0].title, f);
	fputs("</text>\n", f);
}

static void draw_legend(const struct measure_report *r,
			const struct measure_chart *c, FILE *f)
{
	double groups[MAX_GROUPS];
	uint32_t nr = groups_of(r, c->by, groups), g, k;

	if (c->nr_columns * nr < 2)
		return;
	fputs("<p>", f);
	for (k = 0; k < c->nr_columns; k++) {
		for (g = 0; g < nr; g++) {
			fprintf(f, "<b style=\"color:%s\">&#9632;</b> ",
				colours[(k * nr + g) % MAX_GROUPS]);
			text(r->columns[c->columns[k]].title, f);
			if (c->by >= 0) {
				fputs(", ", f);
				text(r->columns[c->by].title, f);
				fprintf(f, " %g", groups[g]);
			}
			fputs(" &nbsp; ", f);
		}
	}
	fputs("</p>\n", f);
}

static void draw(const struct measure_report *r, const struct measure_chart *c,
		 FILE *f)
{
	double top = round_up(largest(r, c));

	fputs("<h2>", f);
	text(c->title, f);
	fprintf(f, "</h2>\n<svg viewBox=\"0 0 %d %d\" role=img>\n", WIDTH,
		HEIGHT);
	draw_grid(c, top, f);
	if (c->bars)
		draw_bars(r, c, top, f);
	else
		draw_lines(r, c, top, f);
	fputs("</svg>\n", f);
	draw_legend(r, c, f);
}

static void table(const struct measure_report *r, FILE *f)
{
	uint32_t i, k;

	fputs("<table>\n<tr>", f);
	if (r->row_title) {
		fputs("<th>", f);
		text(r->row_title, f);
	}
	for (k = 0; k < r->nr_columns; k++) {
		fputs("<th>", f);
		text(r->columns[k].title, f);
	}
	for (i = 0; i < r->nr_rows; i++) {
		fputs("\n<tr>", f);
		if (r->row_title) {
			fputs("<td>", f);
			text(r->labels[i], f);
		}
		for (k = 0; k < r->nr_columns; k++)
			fprintf(f, "<td class=n>%.*f", r->columns[k].digits,
				value(r, i, k));
	}
	fputs("\n</table>\n", f);
}

void measure_html(const struct measure_report *r, FILE *f)
{
	uint32_t i;

	fputs("<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
	      "<meta name=viewport content=\"width=device-width\">\n<title>",
	      f);
	text(r->title, f);
	fputs("</title>\n<style>\n"
	      ":root{color-scheme:light dark}\n"
	      "body{font:15px/1.5 sans-serif;max-width:46em;margin:2em auto;"
	      "padding:0 1em}\n"
	      "svg{width:100%;height:auto;font-size:11px}\n"
	      "svg text{fill:currentColor}\n"
	      ".g{stroke:currentColor;stroke-opacity:.2}\n"
	      "table{border-collapse:collapse}\n"
	      "th,td{padding:.2em .8em;text-align:left}\n"
	      ".n{text-align:right;font-variant-numeric:tabular-nums}\n"
	      "th{border-bottom:1px solid}\n"
	      "</style>\n<h1>", f);
	text(r->title, f);
	fputs("</h1>\n<p>", f);
	text(r->text, f);
	fputs("</p>\n<p>", f);
	text(r->machine, f);
	fputs("</p>\n", f);
	for (i = 0; i < r->nr_charts && r->nr_rows; i++)
		draw(r, &r->charts[i], f);
	fputs("<h2>Numbers</h2>\n", f);
	table(r, f);
	fputs("</html>\n", f);
}
