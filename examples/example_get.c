/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the newest objects of a space, in the order in which they are best
 * read, then reads all of them and prints their sizes and a sum of their bytes.
 *
 *	cc example_get.c $(pkg-config --cflags --libs akin)
 *	./a.out POOL SPACE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <akin/session.h>

#define MAX_OBJECTS 1000

struct found {
	char *path, *name;
	uint64_t transaction, order;
};

struct list {
	struct found v[MAX_OBJECTS];
	int nr;
};

/* What the callback gets is gone when it returns. */
static int keep(void *ctx, const struct akin_object_info *info)
{
	struct list *l = ctx;

	if (l->nr == MAX_OBJECTS || info->name.type != AKIN_OBJECT_FILE)
		return 0;
	l->v[l->nr].path = strdup(info->name.path);
	l->v[l->nr].name = strdup(info->name.name);
	l->v[l->nr].transaction = info->transaction;
	l->v[l->nr++].order = info->order;
	return 0;
}

static int by_order(const void *pa, const void *pb)
{
	const struct found *a = pa, *b = pb;

	return (a->order > b->order) - (a->order < b->order);
}

static int add(void *ctx, const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t *sum = ctx;

	while (n--)
		*sum += *p++;
	return 0;
}

static int read_one(struct akin_session *s, const char *space,
		    const struct found *f, struct akin_diag *diag)
{
	struct akin_object_name name = { .space = space, .path = f->path,
					 .name = f->name };
	struct akin_reader *r;
	uint64_t sum = 0;
	int err;

	err = akin_object_open(s, f->transaction, &name, &r, diag);
	if (err)
		return err;
	err = akin_reader_copy(r, 0, UINT64_MAX, add, NULL, &sum, diag);
	if (!err)
		printf("%s%s%s: %llu bytes, sum %llu\n", f->path,
		       *f->path ? "/" : "", f->name,
		       (unsigned long long)akin_reader_size(r),
		       (unsigned long long)sum);
	akin_object_close(r);
	return err;
}

int main(int argc, char **argv)
{
	struct akin_session_options opt = { .version = AKIN_SESSION_VERSION,
					    .read_only = true };
	struct akin_object_query q = { .newest = true };
	struct akin_diag diag = { 0 };
	struct akin_session *s;
	static struct list l;
	int err, i;

	if (argc != 3)
		return fprintf(stderr, "usage: %s POOL SPACE\n", argv[0]);
	opt.path = argv[1];
	q.space = argv[2];
	err = akin_session_open(&opt, &s, &diag);
	if (!err)
		err = akin_object_query(s, &q, keep, &l, &diag);
	qsort(l.v, (size_t)l.nr, sizeof(l.v[0]), by_order);
	for (i = 0; !err && i < l.nr; i++)
		err = read_one(s, argv[2], &l.v[i], &diag);
	if (err)
		fprintf(stderr, "%s\n", diag.text);
	else
		akin_session_close(s);
	for (i = 0; i < l.nr; i++) {
		free(l.v[i].path);
		free(l.v[i].name);
	}
	return err != 0;
}
