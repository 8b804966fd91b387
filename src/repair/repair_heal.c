/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Healing; see repair_heal.h.
 *
 *	group			becomes
 *	without marks		is copied as it is
 *	marked, reads well	is copied as it is; its marks are lifted
 *	all chunks elsewhere	is made again, without references
 *	otherwise		is copied as it is; who reads it is told
 */
#include "base/mem.h"
#include "os/random.h"
#include "repair/repair_groups.h"
#include "repair/repair_heal.h"
#include "verify/verify_content.h"

/* Chunks located at a time. */
#define LOCATE 256

enum fate { FATE_COPY, FATE_LIFT, FATE_HEAL };

struct heal {
	struct depot *depot;
	struct decoder *dec;
	struct repair_heal *h;
	struct akin_diag *diag;
	struct container_reader *reader;
	const struct directory *d;
	u8 *fates;			/* of each group */
	struct repair_writer *writer;
	struct buf raw;
	u8 *packed;
	size_t packed_cap;
	struct file *file;
	u64 size;
	struct fp fps[LOCATE];
	struct dir_hit hits[LOCATE];
};

static bool is_marked(struct heal *w, const struct dir_group *g)
{
	u32 i;

	for (i = 0; i < g->nr; i++)
		if (depot_damage_has(&w->depot->damage, w->d->container,
				     w->d->entries[g->first + i].entry))
			return true;
	return false;
}

/* Copies ---------------------------------------------------------------------*/

/* Where else is the chunk? 1, 0 if nowhere. */
static bool is_elsewhere(struct heal *w, const struct dir_hit *hit,
			 const struct dir_entry *e)
{
	return hit->container && hit->container != w->d->container &&
	       hit->len == e->len &&
	       !depot_is_damaged(w->depot, hit->container, hit->entry);
}

/* 1: the raw bytes of that copy are appended to w->raw; 0: it is not sound
 * either; or an error. */
static int fetch(struct heal *w, const struct dir_entry *e,
		 const struct dir_hit *hit)
{
	const struct group_data *g;
	struct akin_diag why = { 0 };
	struct chunk_spot spot;
	int err;

	err = depot_spot(w->depot, hit, &e->fp, &spot, &why);
	if (!err)
		err = groupcache_get(w->depot->groups, w->dec, hit->container,
				     spot.group, &g, &why);
	if (err && !verify_is_damage(err))
		return diag_pass(w->diag, err, &why);
	if (err)
		return 0;
	if (spot.len == e->len && spot.raw_off <= g->raw_len &&
	    e->len <= g->raw_len - spot.raw_off)
		buf_put(&w->raw, g->raw + spot.raw_off, e->len);
	else
		err = 1;
	groupcache_put(w->depot->groups, g);
	if (buf_error(&w->raw))
		return diag_set(w->diag, -AKIN_E_nomem, "healing");
	return !err;
}

/* 1: all of the group's chunks are in w->raw; 0: not all can be had. */
static int gather(struct heal *w, const struct dir_group *g)
{
	const struct dir_entry *e = &w->d->entries[g->first];
	u32 done, n, i;
	int got = 1;

	buf_reset(&w->raw);
	for (done = 0; got > 0 && done < g->nr; done += n) {
		n = (u32)min_u64(g->nr - done, LOCATE);
		for (i = 0; i < n; i++)
			w->fps[i] = e[done + i].fp;
		/* What is nowhere has no hit; other errors find less. */
		ignore_result(depot_locate(w->depot, NULL, w->fps, n, w->hits,
					   NULL));
		for (i = 0; got > 0 && i < n; i++) {
			got = is_elsewhere(w, &w->hits[i], &e[done + i]);
			if (got)
				got = fetch(w, &e[done + i], &w->hits[i]);
		}
	}
	return got;
}

/* Looking --------------------------------------------------------------------*/

static int judge(struct heal *w, u32 index)
{
	const struct dir_group *g = &w->d->groups[index];
	struct group_test test = { 0 };
	struct akin_diag why = { 0 };
	int err;

	if (!is_marked(w, g))
		return 0;
	err = groupcache_test(w->depot->groups, w->dec, w->reader, index, &test,
			      &why);
	if (err && !verify_is_damage(err))
		return diag_pass(w->diag, err, &why);
	if (!err) {
		w->fates[index] = FATE_LIFT;
		w->h->groups_sound++;
		return 0;
	}
	err = gather(w, g);
	if (err <= 0)
		return err;
	w->fates[index] = FATE_HEAL;
	w->h->groups_healed++;
	w->h->chunks_healed += g->nr;
	return 0;
}

static int list_lifts(struct heal *w)
{
	struct repair_heal *h = w->h;
	const struct dir_group *g;
	u32 i, k;

	h->lift = mem_calloc(w->d->nr_entries, sizeof(*h->lift));
	if (!h->lift)
		return diag_set(w->diag, -AKIN_E_nomem, "healing");
	for (i = 0; i < w->d->nr_groups; i++) {
		g = &w->d->groups[i];
		if (w->fates[i] == FATE_COPY)
			continue;
		for (k = 0; k < g->nr; k++) {
			h->lift[h->nr_lift].container = h->number;
			h->lift[h->nr_lift++].entry =
				w->d->entries[g->first + k].entry;
		}
	}
	return 0;
}

static int look(struct heal *w)
{
	u32 i;
	int err = 0;

	w->fates = mem_zalloc(max_u64(w->d->nr_groups, 1));
	if (!w->fates)
		return diag_set(w->diag, -AKIN_E_nomem, "healing");
	for (i = 0; !err && i < w->d->nr_groups; i++)
		err = judge(w, i);
	return err ? err : list_lifts(w);
}

/* Writing --------------------------------------------------------------------*/

static int put_entries(struct heal *w, const struct dir_group *g)
{
	u32 i, at;
	int err = 0;

	for (i = 0; !err && i < g->nr; i++) {
		at = g->first + i;
		err = repair_writer_entry(w->writer, &w->d->entries[at],
					  w->d->hints ? &w->d->hints[at] : NULL,
					  w->d->sketches ? &w->d->sketches[at] :
							   NULL, w->diag);
	}
	return err;
}

/* As it is, hole or not. What it refers to is in its head; if that cannot be
 * read it may be anything that the directory lists. */
static int copy_group(struct heal *w, u32 index)
{
	const struct dir_group *g = &w->d->groups[index];
	struct group_header h = { .number = g->number, .codec_id = g->codec_id,
				  .depth = g->depth, .raw_len = g->raw_len };
	struct container_group cg = { 0 };
	u32 i;
	int err;

	err = put_entries(w, g);
	buf_reset(&w->raw);
	if (!err && !buf_extend(&w->raw, g->len))
		err = diag_set(w->diag, -AKIN_E_nomem, "healing");
	if (!err)
		err = repair_read(w->file, w->raw.data, g->len, g->off, w->size,
				  w->diag);
	if (err)
		return err;
	if (!g->depth)
		return repair_writer_group(w->writer, &h, w->raw.data, g->len,
					   w->diag);
	if (!container_read_group(w->reader, index, &cg, NULL)) {
		err = repair_writer_group(w->writer, &cg.header, w->raw.data,
					  g->len, w->diag);
		container_group_release(&cg);
		return err;
	}
	for (i = 0; !err && i < w->d->nr_bases; i++)
		err = repair_writer_base(w->writer, w->d->bases[i], w->diag);
	return err ? err : repair_writer_group(w->writer, &h, w->raw.data,
					       g->len, w->diag);
}

static int compress(struct heal *w, struct group_header *h,
		    const u8 **payload, size_t *len)
{
	size_t need = codec_bound(w->raw.len);
	u8 *p;
	int err;

	if (need > w->packed_cap) {
		p = mem_realloc(w->packed, need);
		if (!p)
			return diag_set(w->diag, -AKIN_E_nomem, "healing");
		w->packed = p;
		w->packed_cap = need;
	}
	err = codec_compress(w->dec->codec, w->d->kind == CONTAINER_METADATA ?
			     CODEC_GAIN_ANY : CODEC_GAIN_EIGHTH, w->raw.data,
			     w->raw.len, w->packed, len, &h->codec_id, w->diag);
	*payload = w->packed;
	if (!err && h->codec_id == CODEC_NONE) {
		*payload = w->raw.data;
		*len = w->raw.len;
	}
	return err;
}

static int encode_group(struct heal *w, const struct dir_group *g,
			struct group_header *h)
{
	struct buf bytes = { 0 };
	const u8 *payload = NULL;
	size_t len = 0;
	u32 i;
	int err;

	h->chunks = mem_calloc(g->nr, sizeof(*h->chunks));
	if (!h->chunks)
		return diag_set(w->diag, -AKIN_E_nomem, "healing");
	for (i = 0; i < g->nr; i++) {
		h->chunks[i].entry = w->d->entries[g->first + i].entry;
		h->chunks[i].len = w->d->entries[g->first + i].len;
	}
	err = compress(w, h, &payload, &len);
	if (!err) {
		h->stored_len = (u32)len;
		err = group_encode(h, w->d->container, payload, &bytes);
		if (err)
			ignore_result(diag_set(w->diag, err, "healed group: %s",
					       akin_strerror(err)));
	}
	if (!err)
		err = repair_writer_group(w->writer, h, bytes.data, bytes.len,
					  w->diag);
	mem_free(h->chunks);
	buf_release(&bytes);
	return err;
}

static int heal_group(struct heal *w, u32 index)
{
	const struct dir_group *g = &w->d->groups[index];
	struct group_header h = { .number = g->number, .raw_len = g->raw_len,
				  .nr_chunks = g->nr };
	int err;

	err = gather(w, g);
	if (err == 0)
		return diag_set(w->diag, -AKIN_E_bad_data, "container %llu: a "
				"copy that was sound a moment ago is not any "
				"more", (unsigned long long)w->d->container);
	if (err < 0)
		return err;
	err = put_entries(w, g);
	return err ? err : encode_group(w, g, &h);
}

static int open_files(struct heal *w)
{
	struct container_header h = {
		.pool = w->depot->super.pool,
		.number = w->h->number,
		.generation = w->h->to,
		.kind = w->d->kind,
		.session = w->h->session,
	};
	char name[FORMAT_NAME_MAX];
	int err;

	format_container_name(w->h->number, w->h->from, name);
	err = disk_open(w->depot->data, name, 0, &w->file, w->diag);
	if (err) {
		w->file = NULL;
		return err;
	}
	err = file_size(w->file, &w->size, w->diag);
	if (!err)
		err = random_bytes(h.salt, sizeof(h.salt), w->diag);
	if (!err)
		err = repair_writer_open(w->depot->data, &h, &w->writer,
					 w->diag);
	return err;
}

static int write_generation(struct heal *w)
{
	u32 i;
	int err;

	err = open_files(w);
	if (!err)
		repair_writer_first_leaf(w->writer, &w->d->first_leaf);
	for (i = 0; !err && i < w->d->nr_groups; i++)
		err = w->fates[i] == FATE_HEAL ? heal_group(w, i) :
						 copy_group(w, i);
	if (!err)
		err = repair_writer_seal(w->writer, NULL, &w->h->sealed,
					 w->diag);
	repair_writer_free(w->writer);
	ignore_result(file_close(w->file, NULL));	/* was only read */
	return err;
}

int repair_heal(struct depot *depot, struct decoder *dec, struct repair_heal *h,
		struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct heal *w = mem_zalloc(sizeof(*w));
	int err;

	if (!w)
		return diag_set(diag, -AKIN_E_nomem, "healing");
	w->depot = depot;
	w->dec = dec;
	w->h = h;
	w->diag = &why;
	err = container_open(depot->data, &depot->super.pool, h->number,
			     h->from, &w->reader, &why);
	if (!err) {
		w->d = container_directory(w->reader);
		err = look(w);
		if (!err && h->to && h->groups_healed)
			err = write_generation(w);
		container_close(w->reader);
	} else if (verify_is_damage(err)) {
		err = 0;	/* there is nothing to heal in it */
	}
	mem_free(w->fates);
	mem_free(w->packed);
	buf_release(&w->raw);
	mem_free(w);
	return diag_pass(diag, err, &why);
}
