/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Container reader.
 *
 * What cannot be read as it was written is asked for once more, through the
 * container's parity, if it has any. Parity is opened anew each time: damage is
 * rare, and a reader has no more state for it than a count.
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
	u32 healed;		/* sectors, atomic */
};

/* Could there be other bytes than those that were read? */
static bool can_heal(int err)
{
	switch (akin_error_class(err)) {
	case AKIN_CLASS_IO:
	case AKIN_CLASS_CORRUPT:
	case AKIN_CLASS_UNSUPPORTED:	/* a bit of a version, or of a name */
		return true;
	default:
		return false;
	}
}

/* @parity NULL: from the file as it is. */
static int read_at(struct container_reader *r,
		   const struct container_parity *parity, void *data,
		   size_t len, u64 off, u32 *healed_ret,
		   struct akin_diag *diag)
{
	*healed_ret = 0;
	if (!parity)
		return file_pread(r->file, data, len, off, diag);
	return container_parity_read(parity, r->file, off, len, data,
				     healed_ret, diag);
}

/* NULL: there is none that could help. */
static struct container_parity *parity_of(struct container_reader *r,
					  u64 number, u32 generation)
{
	const struct container_id id = { number, generation };
	struct container_parity *parity;

	return container_parity_open(r->file->disk, &r->pool, &id, &parity,
				     NULL) ? NULL : parity;
}

static void note_healed(struct container_reader *r, u32 nr)
{
	__atomic_fetch_add(&r->healed, nr, __ATOMIC_RELAXED);
}

u32 container_reader_healed(const struct container_reader *r)
{
	return __atomic_load_n(&r->healed, __ATOMIC_RELAXED);
}

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

static int read_directory(struct container_reader *r,
			  const struct container_parity *parity, u64 number,
			  u32 generation, const u8 *tail, u64 tail_off,
			  struct akin_diag *diag)
{
	struct container_footer f;
	const u8 *bytes;
	u32 healed = 0;
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
		err = read_at(r, parity, own, f.dir_len, f.dir_off, &healed,
			      diag);
		note_healed(r, healed);
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

static int read_tail(struct container_reader *r,
		     const struct container_parity *parity, u64 number,
		     u32 generation, struct akin_diag *diag)
{
	u64 len, off;
	u32 healed;
	u8 *tail;
	int err = 0;

	if (parity)
		r->file_bytes = container_parity_map(parity)->bytes;
	else
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
	err = read_at(r, parity, tail, len, off, &healed, diag);
	note_healed(r, healed);
	if (!err)
		err = read_directory(r, parity, number, generation, tail, off,
				     diag);
	mem_free(tail);
	return err;
}

/* The first error, in @why, stands unless parity helps. */
static int read_tail_healed(struct container_reader *r, u64 number,
			    u32 generation, int err, struct akin_diag *why)
{
	struct container_parity *parity;

	if (!can_heal(err))
		return err;
	parity = parity_of(r, number, generation);
	if (!parity)
		return err;
	directory_release(&r->dir);
	memset(&r->dir, 0, sizeof(r->dir));
	if (!read_tail(r, parity, number, generation, NULL)) {
		diag_clear(why);
		err = 0;
	}
	container_parity_close(parity);
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
	if (!err) {
		err = read_tail(r, NULL, number, generation, &why);
		err = read_tail_healed(r, number, generation, err, &why);
	}
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

static int read_one(struct container_reader *r,
		    const struct container_parity *parity,
		    const struct dir_group *g, u8 *bytes,
		    struct container_group *out, struct akin_diag *diag)
{
	size_t total;
	int err;

	err = read_at(r, parity, bytes, g->len, g->off, &out->healed, diag);
	if (err)
		return err;
	err = group_decode(bytes, g->len, r->dir.container, &out->header,
			   &out->payload, &total);
	if (!err && (total != g->len || !group_agrees(&r->dir, g,
						      &out->header)))
		err = -AKIN_E_bad_identity;
	return err ? diag_set(diag, err, "%s", akin_strerror(err)) : 0;
}

/* The first error, in @why, stands unless parity helps. */
static int read_one_healed(struct container_reader *r,
			   const struct dir_group *g, u8 *bytes,
			   struct container_group *out, int err,
			   struct akin_diag *why)
{
	struct container_parity *parity;

	parity = can_heal(err) ? parity_of(r, r->dir.container,
					   r->dir.generation) : NULL;
	if (!parity)
		return err;
	group_header_release(&out->header);
	memset(&out->header, 0, sizeof(out->header));
	if (!read_one(r, parity, g, bytes, out, NULL)) {
		note_healed(r, out->healed);
		diag_clear(why);
		err = 0;
	}
	container_parity_close(parity);
	return err;
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
	struct akin_diag why = { 0 };
	const struct dir_group *g;
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
	err = read_one(r, NULL, g, bytes, out, &why);
	err = read_one_healed(r, g, bytes, out, err, &why);
	if (err) {
		container_group_release(out);
		return diag_set(diag, err, "container %llu: group %u at %llu: "
				"%s", (unsigned long long)r->dir.container,
				g->number, (unsigned long long)g->off,
				why.text);
	}
	return 0;
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

static int read_header(struct container_reader *r,
		       const struct container_parity *parity,
		       struct container_header *out, struct akin_diag *diag)
{
	u8 bytes[CONTAINER_HEADER_BYTES];
	u32 healed;
	int err;

	err = read_at(r, parity, bytes, sizeof(bytes), 0, &healed, diag);
	if (err)
		return err;
	note_healed(r, healed);
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

int container_check_header(struct container_reader *r,
			   struct container_header *out,
			   struct akin_diag *diag)
{
	struct container_parity *parity;
	struct akin_diag why = { 0 };
	int err;

	err = read_header(r, NULL, out, &why);
	parity = can_heal(err) ? parity_of(r, r->dir.container,
					   r->dir.generation) : NULL;
	if (parity && !read_header(r, parity, out, NULL))
		err = 0;
	container_parity_close(parity);
	return err ? diag_pass(diag, err, &why) : 0;
}

int container_check_parity(struct container_reader *r,
			   struct parity_report *out, struct akin_diag *diag)
{
	const struct container_id id = { r->dir.container, r->dir.generation };
	struct container_parity *parity;
	int err;

	err = container_parity_open(r->file->disk, &r->pool, &id, &parity,
				    diag);
	if (err)
		return err;
	err = container_parity_check(parity, r->file, out, diag);
	container_parity_close(parity);
	return err;
}
