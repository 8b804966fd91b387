/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as one page: style and drawings (SVG) are in it, there are no
 * scripts and no links, and it can be read with its colours inverted.
 */
#include "measure_page.h"

void measure_text(const char *s, FILE *f)
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

static void table(const struct measure_report *r, FILE *f)
{
	uint32_t i, k;

	fputs("<table>\n<tr>", f);
	if (r->row_title) {
		fputs("<th>", f);
		measure_text(r->row_title, f);
	}
	for (k = 0; k < r->nr_columns; k++) {
		fputs("<th>", f);
		measure_text(r->columns[k].title, f);
	}
	for (i = 0; i < r->nr_rows; i++) {
		fputs("\n<tr>", f);
		if (r->row_title) {
			fputs("<td>", f);
			measure_text(r->labels[i], f);
		}
		for (k = 0; k < r->nr_columns; k++)
			fprintf(f, "<td class=n>%.*f", r->columns[k].digits,
				measure_value(r, i, k));
	}
	fputs("\n</table>\n", f);
}

static void section(const struct measure_report *r, FILE *f)
{
	uint32_t i;

	fputs("<h1>", f);
	measure_text(r->title, f);
	fputs("</h1>\n<p>", f);
	measure_text(r->text, f);
	fputs("</p>\n", f);
	if (r->machine[0]) {
		fputs("<p>", f);
		measure_text(r->machine, f);
		fputs("</p>\n", f);
	}
	for (i = 0; i < r->nr_charts && r->nr_rows; i++)
		measure_draw(r, &r->charts[i], f);
	if (!r->quiet) {
		fputs("<h2>Numbers</h2>\n", f);
		table(r, f);
	}
}

void measure_html(const struct measure_report *r, FILE *f)
{
	fputs("<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
	      "<meta name=viewport content=\"width=device-width\">\n<title>",
	      f);
	measure_text(r->title, f);
	fputs("</title>\n<style>\n"
	      ":root{color-scheme:light dark}\n"
	      "body{font:15px/1.5 sans-serif;max-width:46em;margin:2em auto;"
	      "padding:0 1em}\n"
	      "svg{width:100%;height:auto;font-size:11px}\n"
	      "svg text{fill:currentColor}\n"
	      ".g{stroke:currentColor;stroke-opacity:.2}\n"
	      "table{border-collapse:collapse;display:block;overflow:auto}\n"
	      "th,td{padding:.2em .8em;text-align:left}\n"
	      ".n{text-align:right;font-variant-numeric:tabular-nums}\n"
	      "th{border-bottom:1px solid}\n"
	      "</style>\n", f);
	for (; r; r = r->next) {
		if (r->nr_rows)
			section(r, f);
	}
	fputs("</html>\n", f);
}
