/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The printer (inspect_print.c) and the structures (the other files).
 */
#ifndef INSPECT_INTERNAL_H
#define INSPECT_INTERNAL_H

#include "format/format_recipe.h"
#include "inspect.h"
#include "os/disk.h"

struct inspect {
	const char *path;	/* for messages */
	bool json;
	FILE *out;
	struct akin_diag *diag;
	int err;		/* first damage */
	struct file *file;
	u64 size;
};

/* A line: begin, fields, end. */
void print_begin(struct inspect *in, u64 off, const char *what);
void print_u64(struct inspect *in, const char *key, u64 v);
void print_s64(struct inspect *in, const char *key, s64 v);
/* A word of ours: no escapes needed. */
void print_word(struct inspect *in, const char *key, const char *word);
void print_hex(struct inspect *in, const char *key, const void *p, size_t n);
void print_bytes(struct inspect *in, const char *key, const void *p, size_t n);
void print_text(struct inspect *in, const char *key, const char *s);
void print_numbers(struct inspect *in, const char *key, const u64 *v, u32 nr);
void print_end(struct inspect *in);
/* A line "damage"; the first one becomes the result. Returns @err. */
int print_damage(struct inspect *in, u64 off, const char *what, int err);

/* [data, data + len) is the whole file. */
void inspect_super(struct inspect *in, const u8 *data, size_t len);
void inspect_container(struct inspect *in, const u8 *data, size_t len);
void inspect_directory(struct inspect *in, const u8 *data, size_t len);
void inspect_snapshot(struct inspect *in, const u8 *data, size_t len);
void inspect_label(struct inspect *in, const u8 *data, size_t len);
void inspect_rulebook(struct inspect *in, const u8 *data, size_t len);
void inspect_parity(struct inspect *in, const u8 *data, size_t len);
void inspect_piece(struct inspect *in, const u8 *data, size_t len);
void inspect_listing(struct inspect *in, const u8 *data, size_t len);
/* Reads in->file page by page. Returns codes of I/O only. */
int inspect_run(struct inspect *in);

/* Fields of content, on the current line, and a line for each entry. */
void inspect_content(struct inspect *in, u64 off, const struct content *ct);

#endif
