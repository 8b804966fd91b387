/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a pool, and reading its superblocks.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "codec/codec.h"
#include "format/format_parity.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/store.h"

#define DEFAULT_CHUNK (8 * KiB)
#define DEFAULT_GROUP (128 * KiB)
#define DEFAULT_CONTAINER (8 * MiB)
/* A directory of that many entries is read in one go and fits the caches. */
#define CONTAINER_CHUNKS 4096
static_assert(AKIN_PARITY_MAX == PARITY_PERCENT_MAX, "the same");

int store_super_read(struct disk *d, struct super *out,
		     struct akin_diag *diag)
{
	u8 *data;
	size_t len;
	int err;

	err = disk_read_file(d, FILE_SUPERBLOCK, SUPER_FILE_BYTES, &data, &len,
			     diag);
	if (err)
		return err;
	err = super_decode(data, len, out, NULL, diag);
	mem_free(data);
	if (err)
		diag_prefix(diag, "%s pool: superblock", d->label);
	return err;
}

static int choose(const struct akin_init_options *opt, struct super *s,
		  struct akin_diag *diag)
{
	struct chunk_params params = { 0 };
	struct codec_choice codec;
	int err;

	params.method = opt->chunk_fixed ? CHUNK_FIXED : CHUNK_CDC;
	params.avg = opt->chunk_size ? opt->chunk_size : DEFAULT_CHUNK;
	params.min = opt->chunk_fixed ? params.avg : params.avg / 4;
	params.max = opt->chunk_fixed ? params.avg : params.avg * 8;
	if (params.max > CHUNK_MAX_RAW)
		params.max = CHUNK_MAX_RAW;
	if (params.min < CHUNK_MIN_BYTES || params.avg > params.max ||
	    (params.avg == params.max && !opt->chunk_fixed))
		return diag_set(diag, -AKIN_E_usage, "chunk size: from %u to "
				"%u bytes", CHUNK_MIN_BYTES *
				(opt->chunk_fixed ? 1u : 4u), CHUNK_MAX_BYTES /
				(opt->chunk_fixed ? 1u : 2u));
	err = chunk_params_check(&params, diag);
	if (err)
		return err;
	err = codec_parse(opt->compression ? opt->compression : "zstd:1",
			  &codec, diag);
	if (err)
		return err;
	s->hash_id = hash_id_of(opt->hash ? opt->hash : "blake3");
	if (!s->hash_id)
		return diag_set(diag, -AKIN_E_usage, "'%s': no such hash; "
				"there are blake3 and sha256", opt->hash);
	if (opt->verify > AKIN_VERIFY_WRITE)
		return diag_set(diag, -AKIN_E_usage, "no such verification");
	if (opt->engine > AKIN_ENGINE_HYBRID)
		return diag_set(diag, -AKIN_E_usage, "no such engine");
	s->engine = opt->engine ? (u8)(opt->engine - 1) : SUPER_ENGINE_IDENTITY;
	s->container_bytes = opt->container_bytes ? opt->container_bytes :
						    DEFAULT_CONTAINER;
	if (s->container_bytes < MiB || s->container_bytes > 64 * MiB)
		return diag_set(diag, -AKIN_E_usage, "container size: from 1 "
				"MiB to 64 MiB");
	if (opt->delta_depth < AKIN_DELTA_NONE ||
	    opt->delta_depth > AKIN_DELTA_DEPTH_MAX)
		return diag_set(diag, -AKIN_E_usage,
				"delta depth: from 0 to %d",
				AKIN_DELTA_DEPTH_MAX);
	s->delta_depth = (u8)(opt->delta_depth == AKIN_DELTA_NONE ? 0 :
			      opt->delta_depth ? opt->delta_depth :
						 AKIN_DELTA_DEPTH_DEFAULT);
	if (opt->parity > AKIN_PARITY_MAX)
		return diag_set(diag, -AKIN_E_usage, "parity: from 0 to %d "
				"percent", AKIN_PARITY_MAX);
	s->parity = (u8)opt->parity;
	s->verify = opt->verify ? (u8)(opt->verify - 1) : SUPER_VERIFY_OFF;
	s->chunk_method = params.method;
	s->chunk_min = params.min;
	s->chunk_avg = params.avg;
	s->chunk_max = params.max;
	s->codec_id = codec.id;
	s->codec_level = codec.level;
	s->group_bytes = (u32)max_u64(DEFAULT_GROUP, params.max);
	s->container_chunks = CONTAINER_CHUNKS;
	return 0;
}

/* What pools made alike share: cutting, hash, and the seed of both keys. */
static int copy_likeness(const struct akin_init_options *opt, struct super *s,
			 struct akin_diag *diag)
{
	struct super other;
	struct disk *d;
	size_t n = strlen(opt->like) + sizeof("/data");
	char *path;
	int err;

	path = mem_alloc(n);
	if (!path)
		return diag_set(diag, -AKIN_E_nomem, "path");
	snprintf(path, n, "%s/data", opt->like);
	err = disk_files_new(path, false, &d, diag);
	mem_free(path);
	if (err)
		goto fail;
	d->label = "data";
	err = store_super_read(d, &other, diag);
	disk_free(d);
	if (err)
		goto fail;
	if (opt->chunk_size && opt->chunk_size != other.chunk_avg)
		return diag_set(diag, -AKIN_E_usage, "--like: that pool cuts "
				"chunks of %u bytes", other.chunk_avg);
	s->hash_id = other.hash_id;
	s->chunk_method = other.chunk_method;
	s->chunk_min = other.chunk_min;
	s->chunk_avg = other.chunk_avg;
	s->chunk_max = other.chunk_max;
	s->group_bytes = (u32)max_u64(DEFAULT_GROUP, other.chunk_max);
	memcpy(s->share_seed, other.share_seed, sizeof(s->share_seed));
	return 0;
fail:
	diag_prefix(diag, "--like %s", opt->like);
	return err;
}

static int make_super(const struct akin_init_options *opt, struct super *s,
		      struct akin_diag *diag)
{
	u32 nsec;
	int err;

	memset(s, 0, sizeof(*s));
	s->version = FORMAT_VERSION;
	s->sequence = 1;
	s->feat_ro_compat = SUPER_FEAT_RO_COMPAT_KNOWN;
	clock_wall(&s->created_sec, &nsec);
	err = choose(opt, s, diag);
	if (!err)
		err = random_bytes(s->pool.b, sizeof(s->pool.b), diag);
	if (!err)
		err = random_bytes(s->share_seed, sizeof(s->share_seed),
				   diag);
	s->keys[0].kind = SUPER_KEY_CLEAR;
	if (!err)
		err = random_bytes(s->keys[0].wrapped, 32, diag);
	if (!err && opt->like)
		err = copy_likeness(opt, s, diag);
	return err;
}

/* mkdir; existing is fine if it is a directory. */
static int make_dir(const char *path, struct akin_diag *diag)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return diag_set_errno(diag, error_from_errno(errno), errno, "%s",
			      path);
}

struct emptiness {
	bool pool, other;
};

static int look_at(void *ctx, const char *name, bool is_dir)
{
	struct emptiness *e = ctx;

	if (strcmp(name, FILE_SUPERBLOCK) == 0)
		e->pool = true;
	else if (strcmp(name, "lost+found") != 0)
		e->other = true;
	return 0;
}

static int open_empty(const char *path, const char *label, struct disk **out,
		      struct akin_diag *diag)
{
	struct emptiness found = { 0 };
	int err;

	err = make_dir(path, diag);
	if (!err)
		err = disk_files_new(path, true, out, diag);
	if (err)
		return err;
	(*out)->label = label;
	err = disk_list(*out, ".", look_at, &found, diag);
	if (!err && found.pool)
		err = diag_set(diag, -AKIN_E_pool_exists,
			       "%s: there is a pool already", path);
	else if (!err && found.other)
		err = diag_set(diag, -AKIN_E_exists, "%s: is not empty",
			       path);
	if (err) {
		disk_free(*out);
		*out = NULL;
	}
	return err;
}

/* path/name is the directory itself, or a link to where it is. */
static int place_dir(const char *pool, const char *name, const char *elsewhere,
		     char out[PATH_MAX], struct akin_diag *diag)
{
	char target[PATH_MAX], there[PATH_MAX];

	if (snprintf(out, PATH_MAX, "%s/%s", pool, name) >= PATH_MAX)
		return diag_set(diag, -AKIN_E_usage, "%s: path too long",
				pool);
	if (!elsewhere)
		return 0;
	if (make_dir(elsewhere, diag))
		return diag ? diag->code : -AKIN_E_io;
	if (!realpath(elsewhere, target))
		return diag_set_errno(diag, error_from_errno(errno), errno,
				      "%s", elsewhere);
	if (symlink(target, out) == 0)
		return 0;
	if (errno != EEXIST)
		return diag_set_errno(diag, error_from_errno(errno), errno,
				      "%s", out);
	/* From an earlier attempt, it must lead where this one wants. */
	if (!realpath(out, there) || strcmp(there, target))
		return diag_set(diag, -AKIN_E_exists,
				"%s: is there already and is not %s", out,
				target);
	return 0;
}

/* Links to it are taken back: the next attempt may say something else. */
static int check_apart(const char *meta, const char *data,
		       struct akin_diag *diag)
{
	struct stat a, b;

	if (stat(meta, &a) || stat(data, &b) || a.st_dev != b.st_dev ||
	    a.st_ino != b.st_ino)
		return 0;
	(void)unlink(meta);	/* a directory stays */
	(void)unlink(data);
	return diag_set(diag, -AKIN_E_usage, "%s and %s would be the same "
			"directory: each needs its own", meta, data);
}

int store_make_meta(struct disk *d, struct akin_diag *diag)
{
	struct file *f;
	int err;

	err = disk_mkdir(d, DIR_RUNS, diag);
	if (!err)
		err = disk_mkdir(d, DIR_TMP, diag);
	if (!err)
		err = disk_open(d, FILE_LOCKS, DISK_WRITE | DISK_CREATE, &f,
				diag);
	return err ? err : file_close(f, diag);
}

int store_make_data(struct disk *d, struct akin_diag *diag)
{
	char name[FORMAT_NAME_MAX];
	u32 i;
	int err;

	err = disk_mkdir(d, DIR_CONTAINERS, diag);
	if (!err)
		err = disk_mkdir(d, DIR_SNAPSHOTS, diag);
	for (i = 0; !err && i < 256; i++) {
		snprintf(name, sizeof(name), DIR_CONTAINERS "/%02x", i);
		err = disk_mkdir(d, name, diag);
	}
	if (!err)
		err = disk_sync_dir(d, DIR_CONTAINERS, diag);
	return err;
}

/* The superblock comes last: a directory without one is no pool. */
int store_super_write(struct disk *d, struct super *s, u8 role,
		      struct akin_diag *diag)
{
	u8 bytes[SUPER_FILE_BYTES];
	int err;

	s->role = role;
	err = super_encode(s, bytes);
	if (err)
		return diag_set(diag, err, "superblock: %s",
				akin_strerror(err));
	return disk_write_file(d, FILE_SUPERBLOCK, bytes, sizeof(bytes), diag);
}

static int fill(struct disk *meta, struct disk *data, struct super *s,
		struct akin_diag *diag)
{
	const struct rulebook none = { .pool = s->pool };
	int err;

	err = store_make_meta(meta, diag);
	if (!err)
		err = catalog_create(meta, &s->pool, diag);
	if (!err)
		err = store_make_data(data, diag);
	if (!err)
		err = store_rulebook_write(data, &none, diag);
	if (!err)
		err = store_super_write(data, s, SUPER_DATA, diag);
	if (!err)
		err = store_super_write(meta, s, SUPER_METADATA, diag);
	return err;
}

int store_init_on(struct disk *meta, struct disk *data,
		  const struct akin_init_options *opt, struct akin_diag *diag)
{
	struct super s;
	int err;

	meta->lockless = opt->single_writer;
	err = make_super(opt, &s, diag);
	return err ? err : fill(meta, data, &s, diag);
}

int akin_pool_init(const struct akin_init_options *opt, struct akin_diag *diag)
{
	char meta_path[PATH_MAX], data_path[PATH_MAX];
	struct disk *meta = NULL, *data = NULL;
	struct super s;
	int err;

	if (!opt->path || !*opt->path)
		return diag_set(diag, -AKIN_E_usage, "no path for the pool");
	err = make_super(opt, &s, diag);
	if (!err)
		err = make_dir(opt->path, diag);
	if (!err)
		err = place_dir(opt->path, "meta", opt->meta_dir, meta_path,
				diag);
	if (!err)
		err = place_dir(opt->path, "data", opt->data_dir, data_path,
				diag);
	if (!err)
		err = check_apart(meta_path, data_path, diag);
	if (!err)
		err = open_empty(meta_path, "metadata", &meta, diag);
	if (!err)
		err = open_empty(data_path, "data", &data, diag);
	if (!err) {
		meta->lockless = opt->single_writer;
		err = fill(meta, data, &s, diag);
	}
	if (err == -AKIN_E_no_locks)
		store_hint_locks(diag);
	if (meta)
		disk_free(meta);
	if (data)
		disk_free(data);
	return err;
}
