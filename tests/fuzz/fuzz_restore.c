/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading pools that somebody hostile has written. The first byte of an input
 * says what the rest is:
 *
 *	'l'	a directory's listing, under its right fingerprint: walked, and
 *		what its files say is read
 *	'r'	a level, then a leaf or node of a recipe, likewise: read from
 *		the start and from the middle
 *	'c'	patches of five bytes (file, offset, value) to the containers
 *		of a pool with one backup
 *	's'	the same, and all checksums are made right again
 *	'd' 'e'	as 'c' and 's', but the data was compressed against that of
 *		another backup, which is there too
 *
 * Nothing may crash, run for ever, or come out of a patched pool other than it
 * went in (fingerprints are not made right).
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

#include "base/mem.h"
#include "format/format_internal.h"
#include "ingest/stream.h"
#include "recipe/recipe_reader.h"
#include "refbuild.h"
#include "restore/fetcher.h"
#include "simpool.h"
#include "store/store.h"
#include "testlib.h"
#include "tree/tree_walk.h"

#define MUST(expr) \
	do { \
		if (!(expr)) { \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, \
				      __LINE__, #expr); \
			abort(); \
		} \
	} while (0)

/* A hostile content is as long as it says; nobody waits for its end. */
#define CALLS_MAX 2000
#define STEPS_MAX 5000

#define DATA_BYTES 60000

static u8 base_data[DATA_BYTES];

struct out {
	u32 nr_calls;
	const u8 *want;		/* NULL: anything */
	size_t left;
};

static int out_data(void *ctx, const u8 *data, u64 len, int err,
		    const struct akin_diag *why, struct akin_diag *diag)
{
	struct out *o = ctx;
	volatile u8 sum = 0;
	u64 i;

	MUST(err || data);
	for (i = 0; data && i < len; i++)
		sum = (u8)(sum + data[i]);
	return ++o->nr_calls > CALLS_MAX ? -AKIN_E_interrupted : 0;
}

static int out_hole(void *ctx, u64 len, struct akin_diag *diag)
{
	struct out *o = ctx;

	return ++o->nr_calls > CALLS_MAX ? -AKIN_E_interrupted : 0;
}

static int out_mark(void *ctx, int what, void *token, struct akin_diag *diag)
{
	return 0;
}

static void read_content(struct akin_pool *p, const struct content *ct,
			 const struct hint *hint, u64 off)
{
	struct out o = { 0 };
	struct fetcher_options opt = { .window_bytes = 1 << 20,
				       .data = out_data, .hole = out_hole,
				       .mark = out_mark, .ctx = &o };
	struct akin_diag d = { 0 };
	struct fetcher *f;
	int err;

	MUST(!fetcher_new(&p->depot, &p->dec, &opt, &f, &d));
	err = fetcher_content(f, ct, hint, off, UINT64_MAX, &d);
	if (!err)
		err = fetcher_drain(f, &d);
	MUST(!err || err == -AKIN_E_interrupted || d.code == err);
	fetcher_free(f);
}

static void walk(struct akin_pool *p, const struct content *ct,
		 const struct hint *hint)
{
	struct akin_diag d = { 0 };
	struct tree_step s;
	struct tree_walk *w;
	u32 steps = 0;
	int more;

	if (tree_walk_open(&p->depot, &p->dec, ct, hint, "", &w, &d)) {
		MUST(d.code != 0);
		return;
	}
	while ((more = tree_walk_next(w, &s, &d)) != 0 &&
	       ++steps < STEPS_MAX) {
		if (more > 0 && s.event == TREE_NODE &&
		    s.node->type == NODE_FILE)
			read_content(p, &s.node->content, s.hint, 0);
		if (more < 0)
			MUST(d.code != 0);
		memset(&d, 0, sizeof(d));
	}
	tree_walk_close(w);
}

/* Store @bytes as a piece of metadata in a session of its own. */
static int store(struct akin_pool *p, const struct buf *bytes, struct fp *fp,
		 u64 *container)
{
	struct session_options sopt = { .lock = store_lock_session,
					.lock_ctx = p };
	struct ingest_options iopt = { 0 };
	struct akin_diag d = { 0 };
	struct ingest_stream *st;
	struct session *s;
	int err;

	MUST(!session_begin(&p->depot, p->catalog, &sopt, &s, &d));
	p->reserve_session = session_number(s);
	MUST(!ingest_stream_open(s, &iopt, &st, &d));
	err = ingest_store_piece(st, bytes, NULL, fp, container, &d);
	MUST(!err || err == -AKIN_E_too_large);
	MUST(!ingest_stream_close(st, NULL));
	MUST(!session_end(s, true, &d));
	store_unlock_session(p, session_number(s));
	session_free(s);
	return err;
}

/* One pool for many pieces; a new one now and then. */
static struct akin_pool *piece_pool(void)
{
	static struct simpool sp;
	static struct akin_pool *p;
	static u32 nr;
	struct akin_diag d = { 0 };

	if (p && nr++ % 200 == 0) {
		akin_pool_close(p);
		simpool_free(&sp);
		p = NULL;
	}
	if (!p) {
		MUST(!simpool_init(&sp, &d));
		MUST(!simpool_open(&sp, false, &p, &d));
	}
	return p;
}

static void fuzz_listing(const u8 *data, size_t len)
{
	struct akin_pool *p = piece_pool();
	struct content ct = { .kind = CONTENT_ENTRIES, .nr = 1 };
	struct buf b = { 0 };
	struct hint hint;
	u64 container;

	if (len == 0)
		return;
	buf_put(&b, data, len);
	MUST(!buf_error(&b));
	ct.bytes = len;
	ct.entries[0].type = RECIPE_CHUNK;
	ct.entries[0].len = len;
	ct.entries[0].count = 1;
	if (!store(p, &b, &ct.entries[0].fp, &container)) {
		hint.containers = &container;
		hint.nr = 1;
		walk(p, &ct, &hint);
	}
	buf_release(&b);
}

static void fuzz_recipe(const u8 *data, size_t len)
{
	struct akin_pool *p = piece_pool();
	struct content ct = { .kind = CONTENT_ROOT };
	struct recipe_piece piece;
	struct buf b = { 0 };
	struct hint hint;
	u64 container;

	if (len < 2)
		return;
	buf_put(&b, data + 1, len - 1);
	MUST(!buf_error(&b));
	ct.level = data[0] % (RECIPE_MAX_LEVEL + 1);
	ct.bytes = len;
	if (!recipe_piece_decode(b.data, b.len, &piece)) {
		ct.bytes = max_u64(1, piece.bytes);
		if (data[0] < 128)
			ct.level = piece.level;
		recipe_piece_release(&piece);
	}
	if (!store(p, &b, &ct.root, &container)) {
		hint.containers = &container;
		hint.nr = 1;
		read_content(p, &ct, &hint, 0);
		read_content(p, &ct, &hint, ct.bytes / 2);
		read_content(p, &ct, &hint, ct.bytes - 1);
		walk(p, &ct, &hint);
	}
	buf_release(&b);
}

/* Patches of a pool ---------------------------------------------------------*/

static struct simpool *base_pool(void)
{
	static struct simpool sp;
	static bool made;
	struct akin_diag d = { 0 };

	if (!made) {
		simpool_fill(1, base_data, sizeof(base_data));
		MUST(!simpool_init(&sp, &d));
		MUST(!simpool_put(&sp, "x", base_data, sizeof(base_data),
				  &d));
		made = true;
	}
	return &sp;
}

struct data_containers {
	u64 first, last;
};

static int note_data(void *ctx, const struct catalog_container *row)
{
	struct data_containers *c = ctx;

	if (row->kind == CONTAINER_DATA) {
		c->first = c->first ? c->first : row->number;
		c->last = row->number;
	}
	return 0;
}

static void refer_to_first(struct simpool *sp)
{
	struct codec_choice choice = { CODEC_ZSTD, 3 };
	struct disk *disk = simdisk_attach(sp->data, true);
	struct data_containers c = { 0 };
	struct akin_pool *p;
	struct decoder dec;
	struct refbuild b;

	MUST(!simpool_open(sp, true, &p, NULL));
	MUST(!catalog_each_container(p->catalog, note_data, &c, NULL));
	MUST(c.first < c.last);
	MUST(!decoder_init(&dec, &choice, NULL));
	refbuild_again(&b, disk, &dec, p->depot.data_hasher, &p->super.pool,
		       c.last, c.first, 1);
	MUST(b.dir.nr_bases == 1);
	refbuild_seal(&b);
	decoder_release(&dec);
	akin_pool_close(p);
	disk_free(disk);
}

/* One whose "x" is like "w", but without any chunk of it. */
static struct simpool *delta_pool(void)
{
	static struct simpool sp;
	static u8 other[DATA_BYTES];
	static bool made;
	struct akin_diag d = { 0 };
	u32 i;

	if (made)
		return &sp;
	simpool_fill(1, base_data, sizeof(base_data));
	memcpy(other, base_data, sizeof(other));
	for (i = 0; i < sizeof(other); i += 200)
		other[i] ^= 1;
	MUST(!simpool_init(&sp, &d));
	/* The references are those made below. */
	sp.delta_depth = AKIN_DELTA_NONE;
	MUST(!simpool_put(&sp, "w", other, sizeof(other), &d));
	MUST(!simpool_put(&sp, "x", base_data, sizeof(base_data), &d));
	refer_to_first(&sp);
	made = true;
	return &sp;
}

static bool is_container(const struct sim_name *n)
{
	return !n->is_dir && !strncmp(n->path, "containers/", 11);
}

/* Groups where @dir said that they are, then directory, then footer. */
static void make_right(struct simdisk *sd, const char *name,
		       const struct directory *dir,
		       const struct container_footer *foot, u8 *data, size_t n)
{
	u8 *at;
	u32 i, len;

	for (i = 0; i < dir->nr_groups; i++) {
		at = data + dir->groups[i].off;
		len = dir->groups[i].len;
		put_le64(at + 8, format_checksum_seeded(at + 16, len - 16,
							dir->container));
	}
	at = data + foot->dir_off;
	put_le64(at + foot->dir_len - 8, format_checksum(at, foot->dir_len -
							     8));
	at = data + n - CONTAINER_FOOTER_BYTES;
	put_le64(at + 0x38, format_checksum(at, 0x38));
	simdisk_poke(sd, name, 0, data, n);
}

static void patch(struct simdisk *sd, struct akin_pool *p,
		  const struct sim_name *file, const u8 *patches, size_t len,
		  u32 index, bool right)
{
	struct container_reader *r;
	struct disk *d = simdisk_attach(sd, true);
	size_t n, off;
	u8 *data;

	MUST(!disk_read_file(d, file->path, 1 << 24, &data, &n, NULL));
	MUST(!container_open(d, &p->super.pool,
			     strtoull(file->path + 14, NULL, 16), 0, &r,
			     NULL));
	for (; len >= 5; len -= 5, patches += 5) {
		off = patches[1] | patches[2] << 8 | patches[3] << 16;
		/* Ends are where the interesting things are. */
		off = patches[3] & 0x80 ? n - 1 - off % n % 4096 % n : off % n;
		if (patches[0] % 2 == index % 2)
			data[off] ^= patches[4];
	}
	if (right)
		make_right(sd, file->path, container_directory(r),
			   container_reader_footer(r), data, n);
	else
		simdisk_poke(sd, file->path, 0, data, n);
	container_close(r);
	mem_free(data);
	disk_free(d);
}

static int same_data(void *ctx, const void *data, size_t n)
{
	struct out *o = ctx;

	MUST(n <= o->left && !memcmp(o->want, data, n));
	o->want += n;
	o->left -= n;
	return 0;
}

static int no_node(void *ctx, const struct akin_node *n)
{
	return 0;
}

struct newest {
	u64 number;
};

static int note_number(void *ctx, const struct akin_snapshot *s)
{
	((struct newest *)ctx)->number = s->number;
	return 0;
}

static void read_patched(struct simpool *sp)
{
	struct out o = { .want = base_data, .left = sizeof(base_data) };
	struct newest newest = { 0 };
	struct akin_diag d = { 0 };
	struct akin_pool *p;
	int err;

	MUST(!simpool_open(sp, true, &p, &d));
	MUST(!akin_snapshot_each(p, NULL, note_number, &newest, &d));
	err = akin_snapshot_list(p, newest.number, "", true, no_node, NULL,
				 &d);
	MUST(!err || (d.code == err && d.text[0]));
	memset(&d, 0, sizeof(d));
	err = akin_snapshot_read(p, newest.number, "x", same_data, NULL, &o,
				 &d);
	MUST(err ? d.code == err && d.text[0] : o.left == 0);
	akin_pool_close(p);
}

static void fuzz_containers(struct simpool *from, const u8 *data, size_t len,
			    bool right)
{
	struct simpool sp = simpool_clone(from);
	struct akin_diag d = { 0 };
	struct sim_name *names;
	struct akin_pool *p;
	size_t nr, i;
	u32 index = 0;

	MUST(!simpool_open(from, true, &p, &d));
	names = simdisk_names(sp.data, &nr);
	for (i = 0; i < nr; i++) {
		if (is_container(&names[i]))
			patch(sp.data, p, &names[i], data, len, index++,
			      right);
	}
	simdisk_names_free(names, nr);
	akin_pool_close(p);
	read_patched(&sp);
	simpool_free(&sp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 1 || len > 100000)
		return 0;
	switch (data[0]) {
	case 'l':
		fuzz_listing(data + 1, len - 1);
		break;
	case 'r':
		fuzz_recipe(data + 1, len - 1);
		break;
	case 'c':
	case 's':
		fuzz_containers(base_pool(), data + 1, len - 1,
				data[0] == 's');
		break;
	case 'd':
	case 'e':
		fuzz_containers(delta_pool(), data + 1, len - 1,
				data[0] == 'e');
		break;
	default:
		break;
	}
	return 0;
}
