/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "measure.h"

int measure_add(struct measure_report *r, const char *label,
		const double *values)
{
	uint32_t cap = r->cap_rows ? r->cap_rows * 2 : 16;
	void *p;

	if (r->nr_rows == r->cap_rows) {
		p = realloc(r->values, cap * r->nr_columns * sizeof(*values));
		if (!p)
			return -AKIN_E_nomem;
		r->values = p;
		p = realloc(r->labels, cap * sizeof(*r->labels));
		if (!p)
			return -AKIN_E_nomem;
		r->labels = p;
		r->cap_rows = cap;
	}
	memcpy(r->values + (size_t)r->nr_rows * r->nr_columns, values,
	       r->nr_columns * sizeof(*values));
	snprintf(r->labels[r->nr_rows], MEASURE_LABEL, "%s",
		 label ? label : "");
	r->nr_rows++;
	return 0;
}

struct measure_report *measure_more(struct measure_report *r)
{
	while (r->next)
		r = r->next;
	r->next = calloc(1, sizeof(*r));
	return r->next;
}

void measure_release(struct measure_report *r)
{
	if (r->next)
		measure_release(r->next);
	free(r->next);
	r->next = NULL;
	free(r->values);
	free(r->labels);
	r->values = NULL;
	r->labels = NULL;
	r->nr_rows = r->cap_rows = 0;
}

static int width_of(const struct measure_column *c)
{
	int n = (int)strlen(c->title) + 2;

	return n < 9 ? 9 : n;
}

static void one_table(const struct measure_report *r, FILE *f)
{
	const double *v = r->values;
	uint32_t i, k;

	fprintf(f, "%s\n", r->title);
	if (r->machine[0])
		fprintf(f, "%s\n", r->machine);
	fputc('\n', f);
	if (r->row_title)
		fprintf(f, "%-34s", r->row_title);
	for (k = 0; k < r->nr_columns; k++)
		fprintf(f, "%*s", width_of(&r->columns[k]),
			r->columns[k].title);
	fputc('\n', f);
	for (i = 0; i < r->nr_rows; i++) {
		if (r->row_title)
			fprintf(f, "%-34s", r->labels[i]);
		for (k = 0; k < r->nr_columns; k++)
			fprintf(f, "%*.*f", width_of(&r->columns[k]),
				r->columns[k].digits, *v++);
		fputc('\n', f);
	}
}

void measure_table(const struct measure_report *r, FILE *f)
{
	bool behind = false;

	for (; r; r = r->next) {
		if (r->quiet || !r->nr_rows)
			continue;
		if (behind)
			fputc('\n', f);
		one_table(r, f);
		behind = true;
	}
}
