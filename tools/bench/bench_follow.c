/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many duplicates are found by following from hooks, of those that an exact
 * index finds (followrate.h), and what is read of the index for that.
 *
 * The files are the versions of a series, in their order, under names that
 * never repeat. Behind them come copies of the last one in another order, its
 * pieces shuffled: the members of a tar, which get other names as well; of
 * anything else, pieces of any length around a mean.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "bench.h"
#include "followrate.h"
#include "os/disk.h"
#include "testlib.h"

#define PAD_FACTOR 100
#define EXACT_MEMORY ((size_t)2 << 30)
#define MAX_SOURCES 64
#define TAR_BLOCK 512
/* Mean lengths of the pieces of what is no tar. */
static const u64 piece_means[] = { 16 << 20, 4 << 20, 1 << 20 };

struct piece {
	u64 from, len;
	u64 at;			/* in the copy */
	bool renamed;
	u64 header;		/* of the tar's member, from its beginning */
};

struct mapped {
	char name[64];
	const u8 *data;
	u64 bytes;
	struct piece *pieces;	/* NULL: as it is */
	u32 nr;
};

struct follow_bench {
	char *dir;
	struct mapped files[MAX_SOURCES];
	struct followrate_source sources[MAX_SOURCES];
	struct followrate rates[MAX_SOURCES];
	u32 nr, nr_files;
};

/* Copies --------------------------------------------------------------------*/

static u64 octal(const u8 *p, u32 n)
{
	u64 v = 0;

	for (; n && (*p == ' ' || *p == '0'); n--, p++)
		;
	for (; n && *p >= '0' && *p < '8'; n--)
		v = v * 8 + (u64)(*p++ - '0');
	return v;
}

static bool is_header(const struct mapped *m, u64 at)
{
	return at + TAR_BLOCK <= m->bytes &&
	       memcmp(m->data + at + 257, "ustar", 5) == 0;
}

/* Another name and the checksum that goes with it. */
static void rename_member(u8 *header, u32 nr)
{
	u32 i, sum = 0;

	memset(header, 0, 100);
	snprintf((char *)header, 100, "copy/%08x", nr * 2654435761u);
	memset(header + 148, ' ', 8);
	for (i = 0; i < TAR_BLOCK; i++)
		sum += header[i];
	snprintf((char *)header + 148, 8, "%06o", sum);
}

static struct piece *add_piece(struct mapped *m, u64 from, u64 len)
{
	struct piece *p;

	if (m->nr % 1024 == 0) {
		p = realloc(m->pieces, (m->nr + 1024) * sizeof(*p));
		if (!p)
			exit(1);
		m->pieces = p;
	}
	p = &m->pieces[m->nr++];
	memset(p, 0, sizeof(*p));
	p->from = from;
	p->len = len;
	return p;
}

/* What is behind the last member stays there. Returns how many may move. */
static u32 cut_tar(struct mapped *m)
{
	u64 at = 0, begun = 0, size;
	struct piece *p;
	u32 nr;
	u8 type;

	while (is_header(m, at)) {
		type = m->data[at + 156];
		size = octal(m->data + at + 124, 12);
		size = min_u64(m->bytes, at + TAR_BLOCK +
			       (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK);
		/* Long names and the like belong to the member behind them. */
		if (!strchr("LKxg", type) || !type) {
			p = add_piece(m, begun, size - begun);
			p->renamed = true;
			p->header = at - begun;
			begun = size;
		}
		at = size;
	}
	nr = m->nr;
	if (begun < m->bytes)
		add_piece(m, begun, m->bytes - begun);
	return nr;
}

static u32 cut_pieces(struct mapped *m, u64 mean, struct rng *r)
{
	u64 at = 0, len;

	for (; at < m->bytes; at += len) {
		len = mean / 4 + rng_below(r, mean * 3 / 2);
		len = min_u64(len, m->bytes - at);
		add_piece(m, at, len);
	}
	return m->nr;
}

static void shuffle(struct mapped *m, u32 nr, struct rng *r)
{
	struct piece tmp;
	u64 at = 0;
	u32 i, k;

	for (i = nr; i > 1; i--) {
		k = (u32)rng_below(r, i);
		tmp = m->pieces[i - 1];
		m->pieces[i - 1] = m->pieces[k];
		m->pieces[k] = tmp;
	}
	for (i = 0; i < m->nr; i++) {
		m->pieces[i].at = at;
		at += m->pieces[i].len;
	}
}

static const struct piece *piece_at(const struct mapped *m, u64 off)
{
	u32 lo = 0, hi = m->nr, mid;

	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (m->pieces[mid].at <= off)
			lo = mid;
		else
			hi = mid;
	}
	return &m->pieces[lo];
}

/* Bytes [off, off + n) of a piece, its header as the copy has it. */
static void fill_piece(const struct mapped *m, const struct piece *p, u64 off,
		       u8 *out, size_t n)
{
	u64 lo = max_u64(off, p->header);
	u64 hi = min_u64(off + n, p->header + TAR_BLOCK);
	u8 header[TAR_BLOCK];

	memcpy(out, m->data + p->from + off, n);
	if (!p->renamed || lo >= hi)
		return;
	memcpy(header, m->data + p->from + p->header, TAR_BLOCK);
	rename_member(header, (u32)(p - m->pieces));
	memcpy(out + (lo - off), header + (lo - p->header), hi - lo);
}

static int fill(void *ctx, u64 off, void *data, size_t n)
{
	const struct mapped *m = ctx;
	const struct piece *p;
	u8 *out = data;
	size_t part;

	if (!m->pieces) {
		memcpy(out, m->data + off, n);
		return 0;
	}
	for (; n; n -= part, off += part, out += part) {
		p = piece_at(m, off);
		part = min_u64(n, p->at + p->len - off);
		fill_piece(m, p, off - p->at, out, part);
	}
	return 0;
}

/* Sources -------------------------------------------------------------------*/

static struct mapped *add_source(struct follow_bench *b, const char *name,
				 const u8 *data, u64 bytes)
{
	struct followrate_source *s = &b->sources[b->nr];
	struct mapped *m = &b->files[b->nr++];

	snprintf(m->name, sizeof(m->name), "%s", name);
	m->data = data;
	m->bytes = bytes;
	s->name = m->name;
	s->bytes = bytes;
	s->fill = fill;
	s->ctx = m;
	return m;
}

static bool map_file(struct follow_bench *b, const char *path)
{
	const char *name = strrchr(path, '/');
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return false;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED) {
		perror(path);
		return false;
	}
	add_source(b, name ? name + 1 : path, data, (u64)st.st_size);
	return true;
}

static void add_copies(struct follow_bench *b)
{
	const struct mapped *last = &b->files[b->nr - 1];
	struct rng r = { 1 };
	struct mapped *m;
	char name[64];
	size_t i;
	u32 nr;

	if (is_header(last, 0)) {
		m = add_source(b, "members shuffled", last->data, last->bytes);
		nr = cut_tar(m);
		shuffle(m, nr, &r);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(piece_means); i++) {
		snprintf(name, sizeof(name), "shuffled by %llu MiB",
			 (unsigned long long)(piece_means[i] >> 20));
		m = add_source(b, name, last->data, last->bytes);
		nr = cut_pieces(m, piece_means[i], &r);
		shuffle(m, nr, &r);
	}
}

/* ---------------------------------------------------------------------------*/

static int disks(void *ctx, bool padded, struct disk **meta,
		 struct disk **data, struct akin_diag *diag)
{
	const struct follow_bench *b = ctx;
	char *path;
	int err;

	if (asprintf(&path, "%s/%s-meta", b->dir, padded ? "p" : "e") < 0)
		return -AKIN_E_nomem;
	mkdir(path, 0700);
	err = disk_files_new(path, true, meta, diag);
	memcpy(strrchr(path, '-') + 1, "data", 4);
	mkdir(path, 0700);
	if (!err)
		err = disk_files_new(path, true, data, diag);
	free(path);
	return err;
}

static void print_rate(const struct bench_options *opt, const char *name,
		       const struct followrate *r)
{
	double gb = (double)r->bytes / 1e9;

	if (opt->json)
		printf("{\"bench\":\"follow\",\"data\":\"%s\",\"bytes\":%llu,"
		       "\"chunks\":%llu,\"new_exact\":%llu,\"new\":%llu,"
		       "\"new_exact_bytes\":%llu,\"new_bytes\":%llu,"
		       "\"share\":%.5f,\"index_pages\":%llu,"
		       "\"meta_reads\":%llu,\"data_reads\":%llu}\n", name,
		       (unsigned long long)r->bytes,
		       (unsigned long long)r->chunks,
		       (unsigned long long)r->new_exact,
		       (unsigned long long)r->new_chunks,
		       (unsigned long long)r->new_exact_bytes,
		       (unsigned long long)r->new_bytes, followrate_share(r),
		       (unsigned long long)r->index_pages,
		       (unsigned long long)r->meta_reads,
		       (unsigned long long)r->data_reads);
	else
		printf("%-20.20s %9.2f %9llu %8llu %8llu %8.3f %9.0f %9.0f "
		       "%9.0f\n", name, gb, (unsigned long long)r->chunks,
		       (unsigned long long)r->new_exact,
		       (unsigned long long)r->new_chunks,
		       100 * followrate_share(r), (double)r->index_pages / gb,
		       (double)r->meta_reads / gb, (double)r->data_reads / gb);
}

static void add_rate(const struct followrate *r, struct followrate *sum)
{
	sum->bytes += r->bytes;
	sum->chunks += r->chunks;
	sum->new_exact += r->new_exact;
	sum->new_chunks += r->new_chunks;
	sum->new_exact_bytes += r->new_exact_bytes;
	sum->new_bytes += r->new_bytes;
	sum->index_pages += r->index_pages;
	sum->meta_reads += r->meta_reads;
	sum->data_reads += r->data_reads;
}

static void print_all(const struct bench_options *opt,
		      const struct follow_bench *b)
{
	struct followrate sum = { 0 };
	u32 i;

	for (i = 0; i < b->nr; i++)
		print_rate(opt, b->files[i].name, &b->rates[i]);
	for (i = 0; i < b->nr_files; i++)
		add_rate(&b->rates[i], &sum);
	print_rate(opt, "all versions", &sum);
}

int bench_follow(const struct bench_options *opt)
{
	struct follow_bench *b = calloc(1, sizeof(*b));
	struct followrate_setup setup = { .disks = disks, .ctx = b };
	struct akin_diag diag = { 0 };
	bool ok = b != NULL;
	u32 i;

	for (i = 0; ok && i < opt->nr_args; i++)
		ok = i < MAX_SOURCES - ARRAY_SIZE(piece_means) &&
		     map_file(b, opt->args[i]);
	if (!ok || !b->nr)
		return 2;
	b->nr_files = b->nr;
	add_copies(b);
	b->dir = bench_mkdir(opt->dir);
	setup.pad_factor = PAD_FACTOR;
	setup.threads = opt->threads ? opt->threads : 2;
	setup.exact_memory = opt->memory ? opt->memory : EXACT_MEMORY;
	if (!opt->json)
		printf("%-20s %9s %9s %8s %8s %8s %9s %9s %9s\n", "", "GB",
		       "chunks", "new", "stored", "found %", "pages/GB",
		       "meta/GB", "data/GB");
	ok = !followrate_run(&setup, b->sources, b->nr, b->rates, &diag);
	if (ok)
		print_all(opt, b);
	else
		bench_fail("follow", &diag);
	bench_rmdir(b->dir);
	return ok ? 0 : 1;
}
