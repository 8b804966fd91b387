/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by what writes pages. */
#ifndef MEASURE_PAGE_H
#define MEASURE_PAGE_H

#include "measure.h"

/* @s as text of HTML. */
void measure_text(const char *s, FILE *f);
/* With its heading and legend. */
void measure_draw(const struct measure_report *r, const struct measure_chart *c,
		  FILE *f);

static inline double measure_value(const struct measure_report *r, uint32_t row,
				   uint32_t column)
{
	return r->values[(size_t)row * r->nr_columns + column];
}

#endif
