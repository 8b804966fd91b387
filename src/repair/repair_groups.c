/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking for groups; see repair_groups.h.
 *
 * A window moves over the file. Where a magic stands, as many bytes as the
 * group claims to have are read and tried; what was tried in vain counts, and
 * when it comes to more than a few lengths of the file, there is no more
 * trying: no honest file comes near that.
 */
#include "base/mem.h"
#include "repair/repair_groups.h"

#define WINDOW (1 * MiB)
#define BLOCK (4 * KiB)
/* A magic that is cut by the end of a window is found in the next one. */
#define OVERLAP (GROUP_HEAD_BYTES)
/* Lengths of the file that may be tried in vain. */
#define TRIES 4
#define DIRECTORIES_MAX 16

struct repair_groups {
	struct file *file;
	u64 container, size;
	u64 at;			/* nothing before it is looked at again */
	u64 wasted;
	u8 *window;
	u64 win_off;
	size_t win_len;
	u64 dirs[DIRECTORIES_MAX];
	u32 nr_dirs;
};

static bool is_bad_block(int err)
{
	return akin_error_class(err) == AKIN_CLASS_IO ||
	       akin_error_class(err) == AKIN_CLASS_CORRUPT;
}

int repair_read(struct file *f, void *data, size_t n, u64 off, u64 size,
		struct akin_diag *diag)
{
	size_t there = off < size ? (size_t)min_u64(n, size - off) : 0;
	size_t done, len;
	u8 *p = data;
	int err;

	memset(p + there, 0, n - there);
	err = there ? file_pread(f, p, there, off, NULL) : 0;
	if (!err)
		return 0;
	for (done = 0; done < there; done += len) {
		len = (size_t)min_u64(there - done, BLOCK);
		err = file_pread(f, p + done, len, off + done, NULL);
		if (err && !is_bad_block(err))
			return diag_set(diag, err, "container file");
		if (err)
			memset(p + done, 0, len);
	}
	return 0;
}

int repair_groups_new(struct file *f, u64 container, struct repair_groups **out,
		      struct akin_diag *diag)
{
	struct repair_groups *g = mem_zalloc(sizeof(*g));
	int err;

	if (g)
		g->window = mem_alloc(WINDOW);
	if (!g || !g->window) {
		repair_groups_free(g);
		return diag_set(diag, -AKIN_E_nomem, "container file");
	}
	g->file = f;
	g->container = container;
	g->at = CONTAINER_HEADER_BYTES;
	err = file_size(f, &g->size, diag);
	if (err) {
		repair_groups_free(g);
		return err;
	}
	g->size = min_u64(g->size, CONTAINER_MAX_BYTES);
	*out = g;
	return 0;
}

void repair_groups_free(struct repair_groups *g)
{
	if (!g)
		return;
	mem_free(g->window);
	mem_free(g);
}

u32 repair_groups_directories(const struct repair_groups *g, const u64 **out)
{
	*out = g->dirs;
	return g->nr_dirs;
}

static int load_window(struct repair_groups *g, struct akin_diag *diag)
{
	if (g->win_len && g->at >= g->win_off &&
	    g->at + OVERLAP <= g->win_off + g->win_len)
		return 0;
	g->win_off = g->at;
	g->win_len = (size_t)min_u64(WINDOW, g->size - g->at);
	return repair_read(g->file, g->window, g->win_len, g->win_off, g->size,
			   diag);
}

/* Those in the window between g->at and @end. */
static void note_directories(struct repair_groups *g, u64 end)
{
	size_t to = (size_t)(end - g->win_off);
	size_t at = (size_t)(g->at - g->win_off);
	/* One that begins in front of @end may run over it. */
	size_t len = (size_t)min_u64(g->win_len, to + OVERLAP);

	for (;; at++) {
		at = directory_seek(g->window, len, at);
		if (at >= to)
			return;
		if (g->nr_dirs && g->dirs[0] == g->win_off + at)
			continue;
		memmove(g->dirs + 1, g->dirs, (DIRECTORIES_MAX - 1) *
			sizeof(g->dirs[0]));
		g->dirs[0] = g->win_off + at;
		g->nr_dirs += g->nr_dirs < DIRECTORIES_MAX;
	}
}

/* The group that @len bytes at @off may be: 1, 0, or an error. */
static int try_group(struct repair_groups *g, u64 off, u32 len,
		     struct container_group *out, struct akin_diag *diag)
{
	size_t total;
	u8 *bytes;
	int err;

	memset(out, 0, sizeof(*out));
	bytes = buf_extend(&out->bytes, len);
	if (!bytes)
		return diag_set(diag, -AKIN_E_nomem, "container file");
	err = repair_read(g->file, bytes, len, off, g->size, diag);
	if (!err) {
		err = group_decode(bytes, len, g->container, &out->header,
				   &out->payload, &total);
		if (!err)
			return 1;
		g->wasted += len;
		if (err != -AKIN_E_nomem)
			err = 0;
	}
	container_group_release(out);
	return err;
}

int repair_groups_next(struct repair_groups *g, struct container_group *out,
		       u64 *off_ret, struct akin_diag *diag)
{
	size_t pos;
	u64 off;
	u32 len;
	int got;

	while (g->at + GROUP_HEAD_BYTES <= g->size) {
		if (load_window(g, diag))
			return diag && diag->code ? diag->code : -AKIN_E_io;
		pos = group_seek(g->window, g->win_len,
				 (size_t)(g->at - g->win_off));
		off = g->win_off + pos;
		note_directories(g, off);
		if (pos + GROUP_HEAD_BYTES > g->win_len) {
			/* None, or cut: the next window begins there. */
			off = g->win_off + g->win_len - (OVERLAP - 1);
			if (g->win_off + g->win_len >= g->size)
				off = g->size;
			g->at = max_u64(off, g->at + 1);
			continue;
		}
		len = group_claim(g->window + pos);
		g->at = off + 1;
		if (!len || len > g->size - off ||
		    g->wasted > TRIES * g->size)
			continue;
		got = try_group(g, off, len, out, diag);
		if (got < 0)
			return got;
		if (!got)
			continue;
		g->at = off + len;
		*off_ret = off;
		return 1;
	}
	return 0;
}
