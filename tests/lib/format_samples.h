/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample of every on-disk structure, with what tests, fuzzers and the
 * specification's examples need of it: how to encode the sample, how to decode
 * any bytes as that structure, and how to give wrong bytes a right checksum.
 */
#ifndef FORMAT_SAMPLES_H
#define FORMAT_SAMPLES_H

#include "base/buf.h"
#include "format/format_container.h"
#include "format/format_label.h"
#include "format/format_rulebook.h"
#include "format/format_run.h"
#include "format/format_parity.h"
#include "format/format_similar.h"
#include "format/format_snapshot.h"
#include "format/format_super.h"
#include "format/format_tree.h"

/* What bound structures of the samples are bound to. */
#define SAMPLE_CONTAINER 0x12a
#define SAMPLE_RUN 1000
#define SAMPLE_PAGE 3

struct format_case {
	const char *name;	/* of tests/golden/NAME.hex */
	const char *doc;	/* docs/format/DOC shows it */
	const char *fuzz;	/* tests/fuzz/corpus/FUZZ/NAME is it */
	int (*encode)(struct buf *out);
	/* If @data is accepted, its encoding is appended to @again. */
	int (*decode)(const u8 *data, size_t len, struct buf *again);
	/* Make lengths of the whole and checksums right; NULL: has none. */
	void (*seal)(u8 *data, size_t len);
	bool versioned;		/* le32 version at +0x08 */
	bool sections;		/* may hold sections we skip */
};

extern const struct format_case format_cases[];
extern const size_t nr_format_cases;
/* NULL if there is none of that name. */
const struct format_case *format_case_find(const char *name);

/*
 * Decode; if it is accepted, demand that the encoding of what was read is the
 * bytes that were read (or, where sections were skipped or the minor version
 * is newer, that it reads back as itself). Aborts if not. Returns what decode
 * returned.
 */
int format_case_check(const struct format_case *fc, const u8 *data,
		      size_t len);
/* As given, and sealed. */
void format_case_fuzz(const struct format_case *fc, const u8 *data,
		      size_t len);

/* "00000000  41 4b ..." lines of 16 bytes; equal lines become one "*". */
void format_hexdump(const u8 *data, size_t len, struct buf *out);

/* The samples; borrowed, constant. */
void sample_container_header(struct container_header *out);
void sample_container_footer(struct container_footer *out);
void sample_group(struct group_header *out, const u8 **payload_ret);
void sample_group_raw(struct group_header *out, const u8 **payload_ret);
void sample_directory(struct directory *out);
void sample_directory_meta(struct directory *out);
void sample_leaf(const struct recipe_entry **e, u32 *nr_ret);
void sample_node(const struct recipe_child **c, u32 *nr_ret);
void sample_content_inline(struct content *out);
void sample_content_root(struct content *out);
void sample_super(struct super *out);
void sample_snapshot(struct snapshot *out);
void sample_label(struct label *out);
void sample_rulebook(struct rulebook *out);
void sample_run_header(struct run_header *out);
void sample_run_page(const struct run_entry **e, u32 *nr_ret);
void sample_tree_file(struct node *out);
void sample_tree_symlink(struct node *out);
void sample_tree_device(struct node *out);
/* Its entries, img->nr of them. */
/* Its table: owned, mem_free(). NULL: out of memory. */
u8 *sample_parity(struct parity_map *out);
void sample_similar(struct similar_image *img, const u64 **keys_ret,
		    const u32 **containers_ret);

#endif
