/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorted listings.
 *
 * A record is the name, a NUL and the type. As no name holds a NUL, comparing
 * records bytewise compares names as node_name_compare() does. Records lie in
 * one arena, and an array of their offsets is merge-sorted; when the next
 * record would not fit the budget, all records so far and to come go to a
 * spill instead.
 *
 * A directory that changes while it is read may yield a name twice: the second
 * one, adjacent after sorting, is dropped.
 */
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "os/dirlist.h"
#include "os/spill.h"

/* Some file systems count characters, not bytes. */
#define NAME_BYTES_MAX 1023
#define GETDENTS_BYTES (32 * KiB)

struct dirlist {
	struct dirlist_memory *mem;
	struct buf names; /* records */
	u32 *offs;
	size_t nr, cap, next;
	size_t held;	     /* of mem->used_bytes */
	struct spill *spill; /* then names and offs are empty */
	size_t spill_bytes;
	const char *last; /* record given last; NULL before the first */
	char *copy;	  /* with a spill: what last points to */
};

/* An offset costs its own four bytes, and four more while it is sorted. */
static size_t list_bytes(const struct dirlist *l)
{
	return l->names.cap + 2 * l->cap * sizeof(*l->offs) + l->spill_bytes;
}

static void list_account(struct dirlist *l)
{
	l->mem->used_bytes -= l->held;
	l->held = list_bytes(l);
	l->mem->used_bytes += l->held;
}

static size_t list_limit(const struct dirlist *l)
{
	size_t others = l->mem->used_bytes - l->held;
	size_t left = others < l->mem->budget_bytes
			      ? l->mem->budget_bytes - others
			      : 0;

	return max_u64(left, DIRLIST_MIN_BYTES);
}

static void drop_names(struct dirlist *l)
{
	buf_release(&l->names);
	mem_free(l->offs);
	l->offs = NULL;
	l->nr = l->cap = 0;
	list_account(l);
}

static int record_compare(const void *a, size_t alen, const void *b,
			  size_t blen)
{
	int c = memcmp(a, b, min_u64(alen, blen));

	if (c)
		return c;
	return alen < blen ? -1 : alen > blen;
}

static int spill_failed(const struct dirlist *l, int err,
			struct akin_diag *diag)
{
	const struct akin_diag *why = l->spill ? spill_diag(l->spill) : NULL;

	return diag_set(diag, err, "cannot sort a directory: %s",
			why && why->code ? why->text : akin_strerror(err));
}

static int to_spill(struct dirlist *l, struct akin_diag *diag)
{
	size_t i;
	int err;

	if (!l->mem->disk)
		return diag_set(diag, -AKIN_E_too_large,
				"directory has more names than memory holds");
	l->copy = mem_alloc(NAME_BYTES_MAX + 2);
	if (!l->copy)
		return diag_set(diag, -AKIN_E_nomem, "out of memory");
	l->spill_bytes = max_u64(list_limit(l) / 2, SPILL_MIN_BYTES);
	err = spill_new(l->mem->disk, l->mem->dir, l->spill_bytes,
			record_compare, &l->spill);
	for (i = 0; i < l->nr && !err; i++) {
		const u8 *rec = l->names.data + l->offs[i];

		err = spill_add(l->spill, rec, strlen((const char *)rec) + 2);
	}
	if (err)
		return spill_failed(l, err, diag);
	drop_names(l);
	return 0;
}

static bool fits(const struct dirlist *l, size_t rec_len)
{
	size_t bytes = list_bytes(l);

	if (l->names.cap - l->names.len < rec_len)
		bytes += l->names.cap / 2 + rec_len;
	if (l->nr == l->cap)
		bytes += l->cap * 2 * sizeof(*l->offs);
	return bytes <= list_limit(l);
}

static int list_add(struct dirlist *l, const char *name, u8 type,
		    struct akin_diag *diag)
{
	u8 rec[NAME_BYTES_MAX + 2];
	size_t n = strlen(name);
	u32 *offs;
	int err;

	if (n == 0 || n > NAME_BYTES_MAX)
		return diag_set(diag, -AKIN_E_io, "impossible name length %zu",
				n);
	memcpy(rec, name, n + 1);
	rec[n + 1] = type;
	if (!l->spill && !fits(l, n + 2)) {
		err = to_spill(l, diag);
		if (err)
			return err;
	}
	if (l->spill) {
		err = spill_add(l->spill, rec, n + 2);
		return err ? spill_failed(l, err, diag) : 0;
	}
	if (l->nr == l->cap) {
		offs = mem_realloc(l->offs, (l->cap * 2 + 16) * sizeof(*offs));
		if (!offs)
			return diag_set(diag, -AKIN_E_nomem, "out of memory");
		l->offs = offs;
		l->cap = l->cap * 2 + 16;
	}
	l->offs[l->nr] = (u32)l->names.len;
	buf_put(&l->names, rec, n + 2);
	err = buf_error(&l->names);
	if (err)
		return diag_set(diag, err, "out of memory");
	l->nr++;
	list_account(l);
	return 0;
}

static bool is_dot(const char *name)
{
	return name[0] == '.' &&
	       (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

static int list_read(struct dirlist *l, int fd, u8 *raw, struct akin_diag *diag)
{
	ssize_t n, at;
	int err;

	if (lseek(fd, 0, SEEK_SET) < 0 && errno != EBADF)
		return diag_set_errno(diag, error_from_errno(errno), errno,
				      "cannot list the directory");
	for (;;) {
		n = getdents64(fd, raw, GETDENTS_BYTES);
		if (n < 0 && errno == EBADF)
			errno = EACCES; /* an O_PATH descriptor */
		if (n < 0)
			return diag_set_errno(diag, error_from_errno(errno),
					      errno,
					      "cannot list the directory");
		if (n == 0)
			return 0;
		for (at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(raw + at);

			at += d->d_reclen;
			if (is_dot(d->d_name))
				continue;
			err = list_add(l, d->d_name, d->d_type, diag);
			if (err)
				return err;
		}
	}
}

static int offs_compare(const struct dirlist *l, u32 a, u32 b)
{
	return strcmp((const char *)l->names.data + a,
		      (const char *)l->names.data + b);
}

/* Merge sort, bottom up: no recursion, no worst case. */
static int list_sort(struct dirlist *l)
{
	size_t width, lo, mid, hi, i, j, k;
	u32 *from = l->offs, *to, *tmp;

	if (l->nr < 2)
		return 0;
	tmp = mem_alloc(l->cap * sizeof(*tmp));
	if (!tmp)
		return -AKIN_E_nomem;
	to = tmp;
	for (width = 1; width < l->nr; width *= 2) {
		for (lo = 0; lo < l->nr; lo = hi) {
			mid = min_u64(lo + width, l->nr);
			hi = min_u64(lo + 2 * width, l->nr);
			for (i = lo, j = mid, k = lo; k < hi; k++) {
				bool left =
					i < mid &&
					(j == hi || offs_compare(l, from[i],
								 from[j]) <= 0);

				to[k] = left ? from[i++] : from[j++];
			}
		}
		l->offs = to;
		to = from;
		from = l->offs;
	}
	mem_free(to);
	return 0;
}

/* Lists outlive their reading, often in their thousands: give back the rest. */
static void list_trim(struct dirlist *l)
{
	u8 *data;
	u32 *offs;

	if (l->names.cap - l->names.len > 64) {
		data = mem_realloc(l->names.data, l->names.len);
		if (data) {
			l->names.data = data;
			l->names.cap = l->names.len;
		}
	}
	if (l->cap > l->nr && l->nr) {
		offs = mem_realloc(l->offs, l->nr * sizeof(*offs));
		if (offs) {
			l->offs = offs;
			l->cap = l->nr;
		}
	}
	list_account(l);
}

int dirlist_open(struct dirlist_memory *mem, int fd, struct dirlist **out,
		 struct akin_diag *diag)
{
	struct dirlist *l = mem_zalloc(sizeof(*l));
	u8 *raw = mem_alloc(GETDENTS_BYTES);
	int err = -AKIN_E_nomem;

	if (!l || !raw) {
		diag_set(diag, err, "out of memory");
		goto fail;
	}
	l->mem = mem;
	err = list_read(l, fd, raw, diag);
	if (err)
		goto fail;
	mem_free(raw);
	raw = NULL;
	err = l->spill ? spill_finish(l->spill) : list_sort(l);
	if (err) {
		spill_failed(l, err, diag);
		goto fail;
	}
	list_trim(l);
	*out = l;
	return 0;
fail:
	mem_free(raw);
	dirlist_free(l);
	return err;
}

static int next_record(struct dirlist *l, const u8 **rec_ret,
		       struct akin_diag *diag)
{
	const void *rec = NULL;
	size_t len;
	int n;

	if (!l->spill) {
		if (l->next == l->nr)
			return 0;
		*rec_ret = l->names.data + l->offs[l->next++];
		return 1;
	}
	n = spill_next(l->spill, &rec, &len);
	*rec_ret = rec;
	return n < 0 ? spill_failed(l, n, diag) : n;
}

int dirlist_next(struct dirlist *l, const char **name_ret, u8 *type_ret,
		 struct akin_diag *diag)
{
	const u8 *rec;
	size_t n;
	int rc;

	do {
		rc = next_record(l, &rec, diag);
		if (rc <= 0)
			return rc;
	} while (l->last && strcmp(l->last, (const char *)rec) == 0);
	n = strlen((const char *)rec);
	l->last = (const char *)rec;
	if (l->spill) {
		memcpy(l->copy, rec, n + 1);
		l->last = l->copy;
	}
	*name_ret = l->last;
	*type_ret = rec[n + 1];
	return 1;
}

void dirlist_free(struct dirlist *l)
{
	if (!l)
		return;
	spill_free(l->spill);
	mem_free(l->copy);
	l->spill_bytes = 0;
	if (l->mem)
		drop_names(l);
	mem_free(l);
}
