/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container reader.
 */
#include "base/mem.h"
#include "container/container_reader.h"

/* A directory of about 3,600 entries and its footer, in one read. */
#define TAIL_READ_BYTES (128 * KiB)
/* Ahead of that it does no harm to have the second read, too, if there must be
 * one. */
#define TAIL_PREFETCH_BYTES (256 * KiB)
/* What lies between two groups and is read in vain costs less than a request of
 * its own: on flash and on network disks, 100 us and more. */
#define PREFETCH_GAP (64 * KiB)

struct container_reader {
	struct file *file;
	struct pool_id pool;
	struct directory dir;
	struct container_footer footer;
	u64 file_bytes;
};

/* The groups must lie between header and directory, in order. */
static int check_groups(const struct directory *d, u64 dir_off)
{
	u64 end = CONTAINER_HEADER_BYTES;
	u32 i;

	for (i = 0; i < d->nr_groups; i++) {
		if (d->groups[i].off < end || d->groups[i].len > dir_off ||
		    d->groups[i].off > dir_off - d->groups[i].len)
			return -AKIN_E_bad_length;
		end = d->groups[i].off + d->groups[i].len;
	}
	return 0;
}

static int read_directory(struct container_reader *r, u64 number,
			  u32 generation, const u8 *tail, u64 tail_off,
			  struct akin_diag *diag)
{
	struct container_footer f;
	const u8 *bytes;
	u8 *own = NULL;
	int err;

	err = container_footer_decode(tail + (r->file_bytes - tail_off) -
				      CONTAINER_FOOTER_BYTES, &f);
	if (err)
		return diag_set(diag, err, "footer: %s", akin_strerror(err));
	if (f.number != number || f.generation != generation)
		return diag_set(diag, -AKIN_E_bad_identity,
				"footer: it is container %llu.%u",
				(unsigned long long)f.number, f.generation);
	if (f.dir_len > DIRECTORY_MAX_BYTES ||
	    f.dir_off + f.dir_len + CONTAINER_FOOTER_BYTES != r->file_bytes)
		return diag_set(diag, -AKIN_E_bad_length,
				"footer: the directory does not end where the "
				"footer starts");
	if (f.dir_off >= tail_off) {
		bytes = tail + (f.dir_off - tail_off);
	} else {
		own = mem_alloc(f.dir_len);
		if (!own)
			return diag_set(diag, -AKIN_E_nomem, "directory");
		err = file_pread(r->file, own, f.dir_len, f.dir_off, diag);
		bytes = own;
	}
	if (!err)
		err = directory_decode(bytes, f.dir_len, &r->dir);
	mem_free(own);
	if (err)
		return diag_set(diag, err, "directory: %s",
				akin_strerror(err));
	if (r->dir.container != number || r->dir.generation != generation)
		return diag_set(diag, -AKIN_E_bad_identity,
				"directory: it is container %llu.%u",
				(unsigned long long)r->dir.container,
				r->dir.generation);
	r->footer = f;
	err = check_groups(&r->dir, f.dir_off);
	if (err)
		return diag_set(diag, err, "directory: groups outside the "
				"file");
	return 0;
}

static int read_tail(struct container_reader *r, u64 number, u32 generation,
		     struct akin_diag *diag)
{
	u64 len, off;
	u8 *tail;
	int err;

	err = file_size(r->file, &r->file_bytes, diag);
	if (err)
		return err;
	if (r->file_bytes < CONTAINER_HEADER_BYTES + CONTAINER_FOOTER_BYTES ||
	    r->file_bytes > CONTAINER_MAX_BYTES)
		return diag_set(diag, -AKIN_E_bad_length,
				"a file of %llu bytes is no sealed container",
				(unsigned long long)r->file_bytes);
	len = min_u64(r->file_bytes, TAIL_READ_BYTES);
	off = r->file_bytes - len;
	tail = mem_alloc(len);
	if (!tail)
		return diag_set(diag, -AKIN_E_nomem, "directory");
	err = file_pread(r->file, tail, len, off, diag);
	if (!err)
		err = read_directory(r, number, generation, tail, off, diag);
	mem_free(tail);
	return err;
}

int container_open(struct disk *data, const struct pool_id *pool, u64 number,
		   u32 generation, struct container_reader **out,
		   struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	char name[FORMAT_NAME_MAX];
	struct container_reader *r;
	int err;

	r = mem_zalloc(sizeof(*r));
	if (!r)
		return diag_set(diag, -AKIN_E_nomem, "container reader");
	r->pool = *pool;
	format_container_name(number, generation, name);
	err = disk_open(data, name, 0, &r->file, &why);
	if (!err)
		err = read_tail(r, number, generation, &why);
	if (err) {
		container_close(r);
		return diag_set(diag, err, "container %llu: %s",
				(unsigned long long)number, why.text);
	}
	*out = r;
	return 0;
}

void container_prefetch_directory(struct disk *data, u64 number,
				  u32 generation)
{
	char name[FORMAT_NAME_MAX];
	struct file *f;
	u64 bytes, len;

	format_container_name(number, generation, name);
	if (disk_open(data, name, 0, &f, NULL))
		return;
	if (!file_size(f, &bytes, NULL)) {
		len = min_u64(bytes, TAIL_PREFETCH_BYTES);
		file_prefetch(f, bytes - len, len);
	}
	ignore_result(file_close(f, NULL));
}

int container_open_unsealed(struct disk *data, const struct pool_id *pool,
			    struct directory *dir,
			    struct container_reader **out,
			    struct akin_diag *diag)
{
	struct container_reader *r = mem_zalloc(sizeof(*r));
	char name[FORMAT_NAME_MAX];
	int err;

	if (!r) {
		directory_release(dir);
		return diag_set(diag, -AKIN_E_nomem, "container reader");
	}
	r->pool = *pool;
	r->dir = *dir;
	memset(dir, 0, sizeof(*dir));
	format_container_name(r->dir.container, r->dir.generation, name);
	err = disk_open(data, name, 0, &r->file, diag);
	if (err) {
		container_close(r);
		return err;
	}
	*out = r;
	return 0;
}

void container_close(struct container_reader *r)
{
	if (!r)
		return;
	/* Opened for reading: nothing can be lost. */
	ignore_result(file_close(r->file, NULL));
	directory_release(&r->dir);
	mem_free(r);
}

const struct directory *container_directory(const struct container_reader *r)
{
	return &r->dir;
}

const struct container_footer *
container_reader_footer(const struct container_reader *r)
{
	return &r->footer;
}

long container_entry_index(const struct directory *d, u32 entry)
{
	u32 lo = 0, hi = d->nr_entries, mid;

	if (entry < d->nr_entries && d->entries[entry].entry == entry)
		return entry;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (d->entries[mid].entry < entry)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->nr_entries && d->entries[lo].entry == entry ? (long)lo : -1;
}

long container_base_index(const struct directory *d, u64 container)
{
	u32 lo = 0, hi = d->nr_bases, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (d->bases[mid] < container)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->nr_bases && d->bases[lo] == container ? (long)lo : -1;
}

size_t container_reader_bytes(const struct container_reader *r)
{
	size_t n = sizeof(*r);
	u32 i;

	n += r->dir.nr_entries * sizeof(*r->dir.entries);
	n += r->dir.nr_groups * sizeof(*r->dir.groups);
	n += r->dir.nr_bases * sizeof(*r->dir.bases);
	if (r->dir.sketches)
		n += r->dir.nr_entries * sizeof(*r->dir.sketches);
	for (i = 0; r->dir.hints && i < r->dir.nr_entries; i++)
		n += sizeof(struct hint) + r->dir.hints[i].nr * sizeof(u64);
	return n;
}

void container_group_release(struct container_group *g)
{
	group_header_release(&g->header);
	buf_release(&g->bytes);
	g->payload = NULL;
}

/* What the group says of itself against what the directory says of it. */
static bool group_agrees(const struct directory *d, const struct dir_group *g,
			 const struct group_header *h)
{
	const struct dir_entry *e = &d->entries[g->first];
	u32 i;

	if (h->number != g->number || h->raw_len != g->raw_len ||
	    h->codec_id != g->codec_id || h->depth != g->depth ||
	    h->nr_chunks != g->nr)
		return false;
	for (i = 0; i < g->nr; i++) {
		if (e[i].entry != h->chunks[i].entry ||
		    e[i].len != h->chunks[i].len)
			return false;
	}
	return true;
}

int container_read_group(struct container_reader *r, u32 index,
			 struct container_group *out, struct akin_diag *diag)
{
	struct buf room = { 0 };

	return container_read_group_into(r, index, &room, out, diag);
}

int container_read_group_into(struct container_reader *r, u32 index,
			      struct buf *room, struct container_group *out,
			      struct akin_diag *diag)
{
	const struct dir_group *g;
	size_t total;
	u8 *bytes;
	int err;

	memset(out, 0, sizeof(*out));
	out->bytes = *room;
	memset(room, 0, sizeof(*room));
	buf_reset(&out->bytes);
	if (index >= r->dir.nr_groups) {
		container_group_release(out);
		return diag_set(diag, -AKIN_E_bad_field,
				"container %llu: group %u of %u",
				(unsigned long long)r->dir.container, index,
				r->dir.nr_groups);
	}
	g = &r->dir.groups[index];
	bytes = buf_extend(&out->bytes, g->len);
	if (!bytes) {
		container_group_release(out);
		return diag_set(diag, -AKIN_E_nomem, "container group");
	}
	err = file_pread(r->file, bytes, g->len, g->off, diag);
	if (!err) {
		err = group_decode(bytes, g->len, r->dir.container,
				   &out->header, &out->payload, &total);
		if (!err && (total != g->len ||
			     !group_agrees(&r->dir, g, &out->header)))
			err = -AKIN_E_bad_identity;
		if (err)
			ignore_result(diag_set(diag, err, "%s",
					       akin_strerror(err)));
	}
	if (err) {
		diag_prefix(diag, "container %llu: group %u at %llu",
			    (unsigned long long)r->dir.container, g->number,
			    (unsigned long long)g->off);
		container_group_release(out);
	}
	return err;
}

void container_prefetch(struct container_reader *r, const u32 *groups, u32 nr)
{
	const struct dir_group *g;
	u64 off = 0, end = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (groups[i] >= r->dir.nr_groups)
			break;
		g = &r->dir.groups[groups[i]];
		if (!end || g->off < end || g->off - end > PREFETCH_GAP) {
			file_prefetch(r->file, off, end - off);
			off = g->off;
		}
		end = g->off + g->len;
	}
	file_prefetch(r->file, off, end - off);
}

int container_check_header(struct container_reader *r,
			   struct container_header *out,
			   struct akin_diag *diag)
{
	u8 bytes[CONTAINER_HEADER_BYTES];
	int err;

	err = file_pread(r->file, bytes, sizeof(bytes), 0, diag);
	if (err)
		return err;
	err = container_header_decode(bytes, out);
	if (!err && (memcmp(&out->pool, &r->pool, sizeof(r->pool)) ||
		     out->number != r->dir.container ||
		     out->generation != r->dir.generation ||
		     out->kind != r->dir.kind))
		err = -AKIN_E_bad_identity;
	if (err)
		return diag_set(diag, err, "container %llu: header: %s",
				(unsigned long long)r->dir.container,
				akin_strerror(err));
	return 0;
}
