/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that nobody names: what sessions left that died, and what this one
 * un-named and a crash kept from being unlinked. And the tombstones without
 * which a catalog made anew could not tell reclaiming from damage.
 *
 * Of each container file, in this order:
 *
 *	1. it is listed
 *	2. its writer, which its header names, has ended (or, if the header is
 *	   not there yet, no session but ours lives)
 *	3. the catalog does not name it
 *
 * Who has ended never names anything any more, so nothing can come between 3
 * and the unlinking. All that is found is noted; then records of sessions that
 * ended without a commit are buried; then the files go: a session that dies in
 * between leaves its files to the next sweep, and its record too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "catalog/catalog_retention.h"
#include "gc/gc_internal.h"
#include "record/record.h"

/* In one run; the next one takes more. */
#define SWEEP_MAX 8192

struct orphan {
	u64 container;
	u32 generation;
};

struct sweep {
	struct gc *g;
	struct akin_diag *diag;
	struct orphan *found;
	u32 nr;
	const char *dir;
	u64 records[CATALOG_FORGET_MAX];
	u32 nr_records;
};

/* "000000000000012a.0" */
static bool parse_name(const char *name, struct orphan *out)
{
	char own[FORMAT_NAME_MAX];
	char *end;

	out->container = strtoull(name, &end, 16);
	if (*end != '.')
		return false;
	out->generation = (u32)strtoul(end + 1, &end, 16);
	format_container_name(out->container, out->generation, own);
	return strcmp(strrchr(own, '/') + 1, name) == 0;
}

/* Will its writer never name it? */
static bool writer_ended(struct gc *g, const struct orphan *o)
{
	u8 bytes[CONTAINER_HEADER_BYTES];
	struct container_header h;
	char name[FORMAT_NAME_MAX];
	struct file *f;
	int err;

	format_container_name(o->container, o->generation, name);
	if (disk_open(g->depot->data, name, 0, &f, NULL))
		return false;
	err = file_pread(f, bytes, sizeof(bytes), 0, NULL);
	ignore_result(file_close(f, NULL));	/* was only read */
	if (err || container_header_decode(bytes, &h))
		return g->opt->alone(g->opt->store);
	return h.session == g->opt->session ||
	       g->opt->session_ended(g->opt->store, h.session) > 0;
}

/*
 * Parity without a container: its name outlived the other's in a crash. Or half
 * of it, and who was writing it is not at it any more: of named containers only
 * who holds the lock that reclaiming holds makes any.
 */
static int one_parity(struct sweep *s, const struct orphan *o, bool tmp)
{
	struct disk *data = s->g->depot->data;
	char name[FORMAT_NAME_MAX];
	struct disk_stat st;
	bool named, there;
	int err;

	err = catalog_names_file(s->g->catalog, o->container, o->generation,
				 &named, s->diag);
	if (err)
		return err;
	format_container_name(o->container, o->generation, name);
	there = disk_stat(data, name, &st, NULL) != -AKIN_E_absent;
	if (tmp ? !named && there && !writer_ended(s->g, o) : named || there)
		return 0;
	if (tmp)
		format_parity_tmp_name(o->container, o->generation, name);
	else
		format_parity_name(o->container, o->generation, name);
	if (disk_stat(data, name, &st, NULL) || disk_unlink(data, name, NULL))
		return 0;
	s->g->result->orphan_files++;
	s->g->result->orphan_bytes += st.size_bytes;
	return 0;
}

static int one_file(void *ctx, const char *name, bool is_dir)
{
	struct sweep *s = ctx;
	bool named, tmp;
	struct orphan o;
	int err;

	err = gc_tick(s->g, s->diag);
	if (err)
		return err;
	if (!is_dir && format_parse_parity(name, &o.container, &o.generation,
					   &tmp))
		return one_parity(s, &o, tmp);
	/* Whatever is not ours stays. */
	if (is_dir || !parse_name(name, &o) || s->nr == SWEEP_MAX)
		return 0;
	err = catalog_names_file(s->g->catalog, o.container, o.generation,
				 &named, s->diag);
	if (err || named || !writer_ended(s->g, &o))
		return err;
	/* Asked again: it may have been named between the two. */
	err = catalog_names_file(s->g->catalog, o.container, o.generation,
				 &named, s->diag);
	if (!err && !named)
		s->found[s->nr++] = o;
	return err;
}

static int list_files(struct sweep *s)
{
	char dir[FORMAT_NAME_MAX];
	struct akin_diag why;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < 256; i++) {
		memset(&why, 0, sizeof(why));
		snprintf(dir, sizeof(dir), DIR_CONTAINERS "/%02x", i);
		err = disk_list(s->g->depot->data, dir, one_file, s, &why);
		if (err == -AKIN_E_absent && !s->diag->code)
			err = 0;	/* a folder that is gone holds nothing */
		if (err)
			ignore_result(diag_pass(s->diag, err, &why));
	}
	return err;
}

/* Tombstones ----------------------------------------------------------------*/

static int bury(void *ctx, const u64 *numbers, u32 nr, struct akin_diag *diag)
{
	struct gc *g = ctx;

	return record_bury(g->depot->data, numbers, nr, diag);
}

struct forgotten {
	struct gc *g;
	struct akin_diag *diag;
	u64 numbers[CATALOG_FORGET_MAX];
	u32 nr;
};

static int flush_forgotten(struct forgotten *f)
{
	int err;

	err = f->nr ? catalog_bury(f->g->catalog, f->numbers, f->nr, bury, f->g,
				   f->diag) : 0;
	f->nr = 0;
	return err;
}

static int one_forgotten(void *ctx, u64 number)
{
	struct forgotten *f = ctx;

	f->numbers[f->nr++] = number;
	return f->nr == CATALOG_FORGET_MAX ? flush_forgotten(f) : 0;
}

int gc_bury_forgotten(struct gc *g, struct akin_diag *diag)
{
	struct forgotten f = { .g = g, .diag = diag };
	int err;

	err = catalog_each_forgotten(g->catalog, false, one_forgotten, &f,
				     diag);
	return err ? err : flush_forgotten(&f);
}

/* The session of a record; 0: it cannot be read. */
static u64 record_session(struct gc *g, u64 number)
{
	char name[FORMAT_NAME_MAX];
	struct snapshot snap = { 0 };
	u64 session = 0;
	size_t len;
	u8 *data;

	format_snapshot_name(number, name);
	if (disk_read_file(g->depot->data, name, SNAPSHOT_RECORD_MAX, &data,
			   &len, NULL))
		return 0;
	if (!snapshot_decode(data, len, &snap))
		session = snap.session;
	snapshot_release(&snap);
	mem_free(data);
	return session;
}

static bool in_catalog(struct gc *g, u64 number, int *err_ret,
		       struct akin_diag *diag)
{
	bool known = true;

	*err_ret = catalog_has_snapshot(g->catalog, number, &known, diag);
	return known;
}

/* A record whose session died before the commit. */
static int one_record(void *ctx, const char *name, bool is_dir)
{
	struct sweep *s = ctx;
	u64 number, session;
	int err = 0;

	if (is_dir || record_parse_name(name, &number) != RECORD_SNAPSHOT ||
	    s->nr_records == ARRAY_SIZE(s->records))
		return 0;
	if (in_catalog(s->g, number, &err, s->diag) || err)
		return err;
	session = record_session(s->g, number);
	if (!session || s->g->opt->session_ended(s->g->opt->store,
						 session) <= 0)
		return 0;
	if (!in_catalog(s->g, number, &err, s->diag) && !err)
		s->records[s->nr_records++] = number;
	return err;
}

static int bury_uncommitted(struct sweep *s)
{
	int err;

	do {
		s->nr_records = 0;
		err = disk_list(s->g->depot->data, DIR_SNAPSHOTS, one_record, s,
				s->diag);
		if (!err && s->nr_records)
			err = record_bury(s->g->depot->data, s->records,
					  s->nr_records, s->diag);
	} while (!err && s->nr_records == ARRAY_SIZE(s->records));
	return err;
}

/* Forgotten for good: nothing is left to be said about it. */
static int one_purge(void *ctx, u64 number)
{
	struct sweep *s = ctx;
	bool purged;

	return catalog_purge(s->g->catalog, number, &purged, s->diag);
}

/* Of one that the catalog does not know (any more). */
static int one_buried(void *ctx, const char *name, bool is_dir)
{
	struct sweep *s = ctx;
	enum record_kind kind;
	u64 number;
	int err;

	kind = is_dir ? RECORD_OTHER : record_parse_name(name, &number);
	if (kind != RECORD_BURIED)
		return 0;
	if (in_catalog(s->g, number, &err, s->diag) || err)
		return err;
	return record_remove(s->g->depot->data, number, s->diag);
}

/* What was reclaimed needs no tombstone once there is no record. */
static int purge(struct sweep *s)
{
	int err;

	err = catalog_each_forgotten(s->g->catalog, true, one_purge, s,
				     s->diag);
	return err ? err : disk_list(s->g->depot->data, DIR_SNAPSHOTS,
				     one_buried, s, s->diag);
}

int gc_sweep(struct gc *g, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct sweep s = { .g = g, .diag = &why };
	u64 bytes;
	u32 i;
	int err;

	g->progress.phase = "sweeping";
	s.found = mem_calloc(SWEEP_MAX, sizeof(*s.found));
	if (!s.found)
		return diag_set(diag, -AKIN_E_nomem, "sweep");
	err = list_files(&s);
	gc_at(g, GC_LISTED);
	if (!err && !g->buried)
		err = gc_bury_forgotten(g, &why);
	if (!err)
		err = bury_uncommitted(&s);
	for (i = 0; !err && i < s.nr; i++) {
		gc_unlink(g, s.found[i].container, s.found[i].generation,
			  &bytes);
		g->result->orphan_files++;
		g->result->orphan_bytes += bytes;
	}
	mem_free(s.found);
	if (!err && !g->held)
		err = purge(&s);
	return err ? diag_set(diag, err, "%s", why.code ? why.text :
			      akin_strerror(err)) : 0;
}
