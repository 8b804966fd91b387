/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers with references.
 */
#include <stdlib.h>
#include <string.h>

#include "testlib.h"

#include "base/mem.h"
#include "format/format_internal.h"
#include "refbuild.h"

#define OK(expr) assert_int_equal(expr, 0)

void refbuild_begin(struct refbuild *b, struct disk *disk,
		    struct codec_ctx *codec, const struct hasher *hasher,
		    const struct container_header *header)
{
	u8 head[CONTAINER_HEADER_BYTES];

	memset(b, 0, sizeof(*b));
	b->disk = disk;
	b->codec = codec;
	b->hasher = hasher;
	b->header = *header;
	b->dir.container = header->number;
	b->dir.generation = header->generation;
	b->dir.kind = header->kind;
	b->dir.entries = mem_calloc(CONTAINER_MAX_ENTRIES,
				    sizeof(*b->dir.entries));
	b->dir.groups = mem_calloc(CONTAINER_MAX_ENTRIES,
				   sizeof(*b->dir.groups));
	assert_true(b->dir.entries && b->dir.groups);
	container_header_encode(header, head);
	buf_put(&b->file, head, sizeof(head));
}

static u32 next_entry(const struct refbuild *b)
{
	u32 n = b->dir.nr_entries;

	return n ? b->dir.entries[n - 1].entry + 1 : 0;
}

u32 refbuild_chunk(struct refbuild *b, const void *data, u32 len)
{
	struct dir_entry *e = &b->dir.entries[b->dir.nr_entries];

	/* Left there by refbuild_skip. */
	e->entry += next_entry(b);
	e->len = len;
	e->group = b->dir.nr_groups;
	hasher_one(b->hasher, data, len, &e->fp);
	buf_put(&b->raw, data, len);
	b->dir.nr_entries++;
	return e->entry;
}

void refbuild_skip(struct refbuild *b)
{
	b->dir.entries[b->dir.nr_entries].entry++;
}

/* Into the sorted list of bases. */
static void note_base(struct directory *d, u64 container)
{
	u32 i = 0;

	while (i < d->nr_bases && d->bases[i] < container)
		i++;
	if (i < d->nr_bases && d->bases[i] == container)
		return;
	d->bases = mem_realloc(d->bases, (d->nr_bases + 1) * sizeof(u64));
	assert_non_null(d->bases);
	memmove(d->bases + i + 1, d->bases + i,
		(d->nr_bases - i) * sizeof(u64));
	d->bases[i] = container;
	d->nr_bases++;
}

/* The payload; *refs becomes NULL if it is not against them. */
static u8 *pack(struct refbuild *b, const struct refs **refs,
		struct group_header *h)
{
	u8 *out = malloc(codec_bound(b->raw.len) + 1);
	struct akin_diag d = { 0 };
	size_t n;

	assert_non_null(out);
	if (*refs)
		OK(codec_compress_ref(b->codec, CODEC_GAIN_ANY, (*refs)->bytes,
				      (*refs)->len, b->raw.data, b->raw.len,
				      out, &n, &h->codec_id, &d));
	else
		OK(codec_compress(b->codec, CODEC_GAIN_ANY, b->raw.data,
				  b->raw.len, out, &n, &h->codec_id, &d));
	if (h->codec_id == CODEC_NONE)
		*refs = NULL;
	h->stored_len = (u32)n;
	if (h->codec_id == CODEC_NONE) {
		memcpy(out, b->raw.data, b->raw.len);
		h->stored_len = (u32)b->raw.len;
	}
	return out;
}

static void describe(struct refbuild *b, const struct refs *refs,
		     struct group_header *h)
{
	u32 i;

	h->number = b->dir.nr_groups;
	h->raw_len = (u32)b->raw.len;
	h->nr_chunks = b->dir.nr_entries - b->first;
	h->chunks = mem_calloc(h->nr_chunks, sizeof(*h->chunks));
	assert_non_null(h->chunks);
	for (i = 0; i < h->nr_chunks; i++) {
		h->chunks[i].entry = b->dir.entries[b->first + i].entry;
		h->chunks[i].len = b->dir.entries[b->first + i].len;
	}
	if (!refs)
		return;
	h->depth = refs->depth;
	h->nr_refs = refs->nr;
	h->ref_raw_len = refs->len;
	h->refs = mem_dup(refs->refs, refs->nr * sizeof(*h->refs));
	assert_non_null(h->refs);
}

static void seal_group(u8 *group, size_t len, u64 container)
{
	put_le64(group + 8, format_checksum_seeded(group + 16, len - 16,
						   container));
}

bool refbuild_group(struct refbuild *b, const struct refs *refs)
{
	struct dir_group *g = &b->dir.groups[b->dir.nr_groups];
	struct group_header h = { 0 };
	u32 i;
	u8 *payload;

	payload = pack(b, &refs, &h);
	describe(b, refs, &h);
	if (refs && refs->lie)
		refs->lie(&h, refs->ctx);
	g->number = h.number;
	g->off = b->file.len;
	g->raw_len = h.raw_len;
	g->first = b->first;
	g->nr = h.nr_chunks;
	g->codec_id = h.codec_id;
	g->depth = h.depth;
	OK(group_encode(&h, b->dir.container, payload, &b->file));
	g->len = (u32)(b->file.len - g->off);
	if (refs && refs->patch) {
		refs->patch(b->file.data + g->off, g->len, refs->ctx);
		seal_group(b->file.data + g->off, g->len, b->dir.container);
	}
	for (i = 0; i < h.nr_refs; i++)
		note_base(&b->dir, h.refs[i].container);
	free(payload);
	group_header_release(&h);
	b->raw.len = 0;
	b->dir.nr_groups++;
	b->first = b->dir.nr_entries;
	return refs != NULL;
}

/* Chunks of a container without references -----------------------------------*/

struct chunks {
	struct container_reader *reader;
	u8 *raw;		/* of all groups, one behind the other */
	u32 *off;		/* of each entry of the directory in it */
};

static void load(struct chunks *c, struct disk *disk, struct decoder *dec,
		 const struct pool_id *pool, u64 number)
{
	const struct directory *d;
	struct container_group g;
	u32 i, k, n = 0, total = 0;

	OK(container_open(disk, pool, number, 0, &c->reader, NULL));
	d = container_directory(c->reader);
	for (i = 0; i < d->nr_groups; i++)
		total += d->groups[i].raw_len;
	c->raw = malloc(total);
	c->off = calloc(d->nr_entries, sizeof(*c->off));
	assert_true(c->raw && c->off);
	for (i = 0; i < d->nr_groups; i++) {
		OK(container_read_group(c->reader, i, &g, NULL));
		assert_int_equal(g.header.nr_refs, 0);
		OK(codec_decompress(dec->codec, g.header.codec_id, g.payload,
				    g.header.stored_len, c->raw + n,
				    g.header.raw_len));
		for (k = 0; k < d->groups[i].nr; k++)
			c->off[d->groups[i].first + k] = n +
				d->entries[d->groups[i].first + k].raw_off;
		n += g.header.raw_len;
		container_group_release(&g);
	}
}

static void unload(struct chunks *c)
{
	container_close(c->reader);
	free(c->raw);
	free(c->off);
}

/* The chunks of @base that have the entry numbers of group @g of @d. */
static void refer(const struct directory *d, const struct dir_group *g,
		  const struct chunks *base, struct group_ref *ref,
		  struct refs *out)
{
	const struct directory *bd = container_directory(base->reader);
	u32 i = g->first, end = g->first + g->nr;

	out->nr = 0;
	out->len = 0;
	if (end > bd->nr_entries)
		end = bd->nr_entries;
	if (i >= end || d->entries[i].entry != i || bd->entries[i].entry != i)
		return;
	ref->container = bd->container;
	ref->entry = i;
	ref->nr = end - i;
	out->refs = ref;
	out->nr = 1;
	out->bytes = base->raw + base->off[i];
	for (; i < end; i++)
		out->len += bd->entries[i].len;
}

void refbuild_again(struct refbuild *b, struct disk *disk, struct decoder *dec,
		    const struct hasher *hasher, const struct pool_id *pool,
		    u64 number, u64 base, u8 depth)
{
	struct refs refs = { .depth = depth };
	struct container_header h;
	const struct directory *d;
	struct chunks old, from;
	struct group_ref ref;
	u32 i, k;

	load(&old, disk, dec, pool, number);
	load(&from, disk, dec, pool, base);
	OK(container_check_header(old.reader, &h, NULL));
	refbuild_begin(b, disk, dec->codec, hasher, &h);
	d = container_directory(old.reader);
	assert_int_equal(d->kind, CONTAINER_DATA);
	for (i = 0; i < d->nr_groups; i++) {
		for (k = d->groups[i].first;
		     k < d->groups[i].first + d->groups[i].nr; k++)
			refbuild_chunk(b, old.raw + old.off[k],
				       d->entries[k].len);
		refer(d, &d->groups[i], &from, &ref, &refs);
		ignore_result(refbuild_group(b, refs.nr ? &refs : NULL));
	}
	unload(&old);
	unload(&from);
}

void refbuild_seal(struct refbuild *b)
{
	struct container_footer f = { .number = b->dir.container,
				      .generation = b->dir.generation,
				      .dir_off = b->file.len };
	u8 foot[CONTAINER_FOOTER_BYTES];
	char name[FORMAT_NAME_MAX];
	struct file *file;

	if (b->dir.kind == CONTAINER_METADATA) {
		b->dir.hints = mem_calloc(b->dir.nr_entries,
					  sizeof(*b->dir.hints));
		assert_non_null(b->dir.hints);
	}
	OK(directory_encode(&b->dir, &b->file));
	f.dir_len = (u32)(b->file.len - f.dir_off);
	container_footer_encode(&f, foot);
	buf_put(&b->file, foot, sizeof(foot));
	OK(buf_error(&b->file));
	format_container_name(f.number, f.generation, name);
	OK(disk_open(b->disk, name, DISK_WRITE | DISK_CREATE | DISK_TRUNC,
		     &file, NULL));
	OK(file_pwrite(file, b->file.data, b->file.len, 0, NULL));
	OK(file_sync(file, NULL));
	OK(file_close(file, NULL));
	buf_release(&b->file);
	buf_release(&b->raw);
	directory_release(&b->dir);
}
