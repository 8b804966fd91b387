/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashfiles: snapshots of file systems, a list of files, each with its chunks.
 *
 *	header	magic, version, number of files, root path, number of chunks,
 *		how they were cut, how they were hashed; later versions: of
 *		which system, from when to when, how many bytes
 *	file	size and the like, number of chunks, path
 *	chunk	its size unless that follows, its hash, how well it compresses
 *
 * Packed, in the byte order of the machine that wrote it; those published are
 * little-endian. Numbers of files and chunks are zero if the writer did not
 * come to its end: then the trace ends where it ends.
 */
#include <string.h>

#include "base/types.h"
#include "trace_internal.h"

#define MAGIC 0xdeaddeadu
#define VERSION_MAX 7
#define PATH_BYTES 4096
#define PARAM_BYTES 44
/* Chunks of version 1 and 2 have no size of their own. */
#define VERSION_SIZES 3
#define VERSION_RATIOS 6
#define VERSION_SMALL_SIZES 7
#define CHUNKING_FIXED 1
#define CHUNKING_VARIABLE 2
/* Bytes of what precedes a file's path, by version. */
#define FILE_V2 20
#define FILE_V4 88
#define FILE_V5 96

static int read_u32(struct trace *t, u32 *out, struct akin_diag *diag)
{
	u8 b[4];
	int err = trace_read(t, b, sizeof(b), NULL, diag);

	*out = err ? 0 : get_le32(b);
	return err;
}

static int read_u64(struct trace *t, u64 *out, struct akin_diag *diag)
{
	u8 b[8];
	int err = trace_read(t, b, sizeof(b), NULL, diag);

	*out = err ? 0 : get_le64(b);
	return err;
}

static int skip(struct trace *t, u64 n, struct akin_diag *diag)
{
	int err = 0;
	u64 part;

	for (; !err && n; n -= part) {
		part = min_u64(n, TRACE_LINE_MAX);
		err = trace_read(t, t->text, part, NULL, diag);
	}
	return err;
}

static int read_cutting(struct trace *t, struct akin_diag *diag)
{
	struct trace_hashfile *h = &t->file;
	u8 param[PARAM_BYTES];
	u32 chunking;
	int err;

	err = read_u32(t, &chunking, diag);
	if (!err)
		err = trace_read(t, param, sizeof(param), NULL, diag);
	if (err)
		return err;
	if (chunking != CHUNKING_FIXED && chunking != CHUNKING_VARIABLE)
		return trace_bad(t, "no such way to cut", diag);
	h->fixed = chunking == CHUNKING_FIXED;
	h->fixed_bytes = get_le32(param);
	if (h->fixed && (!h->fixed_bytes || h->fixed_bytes > TRACE_BLOCK_MAX))
		return trace_bad(t, "no such size of blocks", diag);
	return 0;
}

int trace_hashfile_open(struct trace *t, struct akin_diag *diag)
{
	struct trace_hashfile *h = &t->file;
	u32 magic, method, bits = 0;
	int err;

	err = read_u32(t, &magic, diag);
	if (!err)
		err = read_u32(t, &h->version, diag);
	if (!err && (magic != MAGIC || !h->version ||
		     h->version > VERSION_MAX))
		err = trace_bad(t, "not a hashfile of version 1 to 7", diag);
	if (!err)
		err = read_u64(t, &h->files, diag);
	if (!err)
		err = skip(t, PATH_BYTES, diag);
	if (!err)
		err = read_u64(t, &h->chunks, diag);
	if (!err)
		err = read_cutting(t, diag);
	if (!err)
		err = read_u32(t, &method, diag);
	if (!err)
		err = read_u32(t, &bits, diag);
	if (!err && (!bits || bits % 8 || bits / 8 > TRACE_HASH_MAX))
		err = trace_bad(t, "no such length of hashes", diag);
	h->hash_bytes = bits / 8;
	if (!err && h->version >= 3)
		err = skip(t, PATH_BYTES + 16, diag);
	if (!err && h->version >= 5)
		err = skip(t, 8, diag);
	return err;
}

/* The part with numbers in front of a file's path; its length is returned. */
static u32 file_bytes(u32 version)
{
	if (version == 1)
		return PATH_BYTES + 16;
	return version < 4 ? FILE_V2 : version == 4 ? FILE_V4 : FILE_V5;
}

/* *end_ret: there is none. */
static int next_file(struct trace *t, bool *end_ret, struct akin_diag *diag)
{
	struct trace_hashfile *h = &t->file;
	u8 b[PATH_BYTES + 16], *tail;
	u32 n = file_bytes(h->version), paths = 0;
	int err;

	err = trace_read(t, b, n, end_ret, diag);
	if (err || *end_ret)
		return err;
	tail = b + n;
	switch (h->version) {
	case 1:
		h->size = get_le64(b + PATH_BYTES);
		h->nr = get_le64(b + PATH_BYTES + 8);
		break;
	case 2:
	case 3:
		h->size = get_le64(b);
		h->nr = get_le64(b + 8);
		paths = get_le32(b + 16);
		break;
	default:
		h->size = get_le64(b);
		h->nr = get_le64(tail - 16);
		paths = get_le32(tail - 8);
		/* A link's target follows the path. */
		if (get_le32(tail - 4) > PATH_BYTES)
			return trace_bad(t, "too long a link", diag);
		paths += get_le32(tail - 4);
	}
	if (paths > 3 * PATH_BYTES)
		return trace_bad(t, "too long a path", diag);
	h->files_seen++;
	h->left = h->size;
	h->at = 0;
	return skip(t, paths, diag);
}

/* Where chunks carry no size: full blocks, then the rest; or equal parts. */
static u64 implied_size(const struct trace_hashfile *h)
{
	u64 more = h->nr - h->at;

	if (h->fixed)
		return min_u64(h->left, h->fixed_bytes);
	return more == 1 ? h->left : h->left / more;
}

static int next_chunk(struct trace *t, struct trace_record *out,
		      struct akin_diag *diag)
{
	struct trace_hashfile *h = &t->file;
	u64 size = implied_size(h);
	u32 small;
	u8 ratio;
	int err = 0;

	if (!h->fixed && h->version >= VERSION_SMALL_SIZES) {
		err = read_u32(t, &small, diag);
		size = small;
	} else if (!h->fixed && h->version >= VERSION_SIZES) {
		err = read_u64(t, &size, diag);
	}
	if (!err && (!size || size > TRACE_BLOCK_MAX))
		err = trace_bad(t, "no such size of a chunk", diag);
	if (!err)
		err = trace_read(t, out->hash, h->hash_bytes, NULL, diag);
	if (!err && h->version >= VERSION_RATIOS)
		err = trace_read(t, &ratio, 1, NULL, diag);
	out->hash_bytes = h->hash_bytes;
	out->bytes = (u32)size;
	out->begins_file = h->at == 0;
	h->left -= min_u64(size, h->left);
	h->at++;
	h->chunks_seen++;
	return err ? err : 1;
}

int trace_hashfile_next(struct trace *t, struct trace_record *out,
			struct akin_diag *diag)
{
	struct trace_hashfile *h = &t->file;
	bool end = false;
	int err = 0;

	while (!err && !end && h->at == h->nr)
		err = next_file(t, &end, diag);
	if (err)
		return err;
	if (!end)
		return next_chunk(t, out, diag);
	if ((h->files && h->files != h->files_seen) ||
	    (h->chunks && h->chunks != h->chunks_seen))
		return trace_bad(t, "it ends before all of its files", diag);
	return 0;
}
