/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "poolfix.h"

#define OK(expr) assert_int_equal(expr, 0)

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *ftw)
{
	return remove(path);
}

static int setup(void **state, bool fixed)
{
	struct akin_init_options init = { .compression = "none",
					  .chunk_fixed = fixed,
					  .container_bytes = MiB };
	struct poolfix *fx = calloc(1, sizeof(*fx));
	char path[256];

	/* In memory if there is such a place: a pool has many directories. */
	fx->top = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(fx->dir, sizeof(fx->dir), "%s/akin-pool-XXXXXX", fx->top);
	assert_non_null(mkdtemp(fx->dir));
	snprintf(path, sizeof(path), "%s/src", fx->dir);
	OK(mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/pool", fx->dir);
	init.path = path;
	OK(akin_pool_init(&init, NULL));
	poolfix_reopen(fx, false);
	poolfix_path(fx, "data", path);
	OK(disk_files_new(path, false, &fx->data, NULL));
	*state = fx;
	return 0;
}

int poolfix_setup(void **state)
{
	return setup(state, false);
}

int poolfix_setup_fixed(void **state)
{
	return setup(state, true);
}

int poolfix_teardown(void **state)
{
	struct poolfix *fx = *state;

	akin_pool_close(fx->p);
	disk_free(fx->data);
	nftw(fx->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(fx);
	return 0;
}

void poolfix_reopen(struct poolfix *fx, bool read_only)
{
	struct akin_open_options opt = { .nr_threads = 2,
					 .read_only = read_only };
	struct akin_diag diag = { 0 };
	char path[256];

	akin_pool_close(fx->p);
	fx->p = NULL;
	snprintf(path, sizeof(path), "%s/pool", fx->dir);
	opt.path = path;
	if (akin_pool_open(&opt, &fx->p, &diag))
		fail_msg("%s", diag.text);
}

void poolfix_path(const struct poolfix *fx, const char *name, char out[256])
{
	snprintf(out, 256, "%s/pool/%s", fx->dir, name);
}

void poolfix_write(struct poolfix *fx, const char *name, u64 seed, size_t len)
{
	struct rng r = { seed };
	char path[256], *slash;
	u8 *data = malloc(len + 1);
	FILE *f;

	snprintf(path, sizeof(path), "%s/src/%s", fx->dir, name);
	for (slash = path + strlen(fx->dir) + 5; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = 0;
		(void)mkdir(path, 0700);	/* there already is fine */
		*slash = '/';
	}
	rng_fill(&r, data, len);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	OK(fclose(f));
	free(data);
}

u64 poolfix_backup(struct poolfix *fx, bool force)
{
	struct akin_backup_options opt = { .nr_paths = 1, .host = "test",
					   .force = force };
	struct akin_backup_result result;
	struct akin_diag diag = { 0 };
	const char *paths[1];
	char src[128];

	snprintf(src, sizeof(src), "%s/src", fx->dir);
	paths[0] = src;
	opt.paths = paths;
	if (akin_backup_tree(fx->p, &opt, &result, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(result.total.warnings, 0);
	return result.number;
}

struct whole {
	u8 *data;
	size_t len, cap;
};

static int collect(void *ctx, const void *data, size_t n)
{
	struct whole *w = ctx;

	if (n > w->cap - w->len)
		return -AKIN_E_too_large;
	memcpy(w->data + w->len, data, n);
	w->len += n;
	return 0;
}

int poolfix_read(struct poolfix *fx, u64 number, const char *name, u64 seed,
		 size_t len)
{
	struct whole w = { malloc(len + 1), 0, len };
	struct rng r = { seed };
	u8 *want = malloc(len + 1);
	char path[256];
	int err;

	rng_fill(&r, want, len);
	snprintf(path, sizeof(path), "%s/src/%s", fx->dir, name);
	err = akin_snapshot_read(fx->p, number, path, collect, NULL, &w, NULL);
	if (!err) {
		assert_int_equal(w.len, len);
		assert_memory_equal(w.data, want, len);
	}
	free(w.data);
	free(want);
	return err;
}

static void on_finding(void *ctx, int code, const char *text,
		       const char *snapshot, const char *path)
{
	struct poolfix *fx = ctx;
	struct poolfix_finding *f;

	if (!code) {
		fx->nr_remarks++;
		return;
	}
	assert_in_range(fx->nr_findings, 0, POOLFIX_FINDINGS - 1);
	f = &fx->findings[fx->nr_findings++];
	f->code = code;
	snprintf(f->text, sizeof(f->text), "%s", text);
	snprintf(f->snapshot, sizeof(f->snapshot), "%s", snapshot);
	snprintf(f->path, sizeof(f->path), "%s", path);
}

int poolfix_check(struct poolfix *fx, const struct akin_check_options *opt)
{
	struct akin_check_options o = *opt;

	o.finding = on_finding;
	o.ctx = fx;
	fx->nr_findings = fx->nr_remarks = 0;
	memset(&fx->diag, 0, sizeof(fx->diag));
	return akin_check(fx->p, &o, &fx->result, &fx->diag);
}

u32 poolfix_count(const struct poolfix *fx, const char *what)
{
	u32 i, n = 0;

	for (i = 0; i < fx->nr_findings; i++)
		n += strstr(fx->findings[i].text, what) != NULL;
	return n;
}

void poolfix_flip(const struct poolfix *fx, const char *name, long off)
{
	char path[256];
	u8 byte;
	int fd;

	poolfix_path(fx, name, path);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	if (off < 0)
		off += lseek(fd, 0, SEEK_END);
	assert_int_equal(pread(fd, &byte, 1, off), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, off), 1);
	OK(close(fd));
}

struct nth {
	u8 kind;
	u32 nth;
	struct catalog_container row;
	bool found;
};

static int is_nth(void *ctx, const struct catalog_container *row)
{
	struct nth *n = ctx;

	if (row->kind != n->kind || n->found || n->nth--)
		return 0;
	n->row = *row;
	n->found = true;
	return 0;
}

struct catalog_container poolfix_container(struct poolfix *fx, u8 kind,
					   u32 nth)
{
	struct nth n = { kind, nth };

	OK(catalog_each_container(fx->p->catalog, is_nth, &n, NULL));
	assert_true(n.found);
	return n.row;
}

void poolfix_container_name(u64 number, char out[128])
{
	char name[FORMAT_NAME_MAX];

	format_container_name(number, 0, name);
	snprintf(out, 128, "data/%s", name);
}
