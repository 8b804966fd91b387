/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a calculation has to say, as text for people or as JSON Lines.
 *
 * The same calls make both, so they cannot disagree: lines, steps (only with
 * explain), tables row by row, and a summary of facts at the end.
 *
 * For a page there is a third form, @both: JSON Lines in which every cell is
 * [what people see, what programs see], both strings; in front of each table an
 * object "columns" with its headings; and each fact an object "fact".
 */
#ifndef CAPACITY_DOC_H
#define CAPACITY_DOC_H

#include "capacity_text.h"

struct cap_column {
	const char *key;	/* in JSON */
	const char *heading;	/* ASCII */
	unsigned width;
	bool left;
};

struct cap_doc {
	struct cap_text *out;
	bool json, explain;
	bool both;		/* with json */
	/* State; zeroed = ready. */
	const char *type;
	const struct cap_column *columns;
	unsigned nr_columns, at;
	bool comma, headed, lines;
};

/* As cap_put(). Text only. A line; an empty line is put between it and what follows. */
#define cap_line(d, ...) cap_line_args(d, CAP_FORMAT(__VA_ARGS__))
void cap_line_args(struct cap_doc *d, const char *fmt,
		   const struct cap_arg *args);
/* With explain only; wrapped at 78 columns. JSON: {"type":"step"}. */
#define cap_step(d, ...) cap_step_args(d, CAP_FORMAT(__VA_ARGS__))
void cap_step_args(struct cap_doc *d, const char *fmt,
		   const struct cap_arg *args);

/* A table: its rows are objects of @type. @columns are borrowed until the end
 * of the table; every row has one cell a column, in order. */
void cap_table(struct cap_doc *d, const char *type,
	       const struct cap_column *columns, unsigned nr);
void cap_cell_text(struct cap_doc *d, const char *s);
void cap_cell_bool(struct cap_doc *d, bool v);
void cap_cell_count(struct cap_doc *d, cap_u128 v);
/* Text: "3.64 TiB"; JSON: the number. */
void cap_cell_bytes(struct cap_doc *d, cap_u128 v);
/* a / b with so many decimals, in both. */
void cap_cell_fixed(struct cap_doc *d, cap_u128 a, cap_u128 b, int digits);
void cap_cell_none(struct cap_doc *d);
/* A range; JSON: @key_max beside the column's key. */
void cap_cell_range(struct cap_doc *d, unsigned min, unsigned max,
		    const char *key_max);
/* JSON only, in the row; key "X_bytes" beside a rounded column. */
void cap_cell_extra(struct cap_doc *d, const char *key, cap_u128 v);
void cap_row_end(struct cap_doc *d);

/*
 * The summary. @label is NULL for what only programs want, @key is NULL for
 * what only people want.
 */
void cap_summary(struct cap_doc *d, const char *kind);
#define cap_fact_text(d, key, label, ...) \
	cap_fact_args(d, key, label, CAP_FORMAT(__VA_ARGS__))
void cap_fact_args(struct cap_doc *d, const char *key, const char *label,
		   const char *fmt, const struct cap_arg *args);
void cap_fact_bool(struct cap_doc *d, const char *key, const char *label,
		   bool v);
void cap_fact_count(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 v);
/* Text: in TiB and TB. */
void cap_fact_bytes(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 v);
void cap_fact_fixed(struct cap_doc *d, const char *key, const char *label,
		    cap_u128 a, cap_u128 b, int digits, const char *unit);
void cap_fact_none(struct cap_doc *d, const char *key);
void cap_summary_end(struct cap_doc *d);

#endif
