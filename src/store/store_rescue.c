/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata directory, made anew from the data directory.
 *
 *	 1. nobody else: all bytes of the lock file
 *	 2. the data disk's superblock, if it needs writing
 *	 3. the mark "rebuilding"
 *	 4. no superblock on the metadata disk: from here on it is no pool
 *	 5. what is left of the catalog goes into the quarantine
 *	 6. a new catalog; its containers, ascending, from their directories
 *	 7. the index
 *	 8. its snapshots, from their records
 *	 9. the mark goes
 *	10. the superblock: it is a pool
 *
 * Whoever dies before 9 leaves a directory without a superblock and with the
 * mark, and the next repair starts again from 5; between 9 and 10 only the
 * superblock is missing. Nothing that the data directory has is changed but
 * its superblock, and unreadable containers, which are put aside.
 *
 * Of several generations of a container the lowest is taken whose bases were
 * found: it has all that the later ones have. Those that are left are nobody's
 * and go with the next reclaim.
 *
 * Memory: the handle's budget; the names of containers are sorted on disk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "catalog/catalog_gc.h"
#include "catalog/catalog_retention.h"
#include "container/container_reader.h"
#include "repair/repair_quarantine.h"
#include "repair/repair_salvage.h"
#include "repair/repair_scan.h"
#include "store/store_repair.h"
#include "verify/verify_content.h"

#define JOURNAL FILE_CATALOG "-journal"
/* Rows in one transaction: so that syncing it is little of the time. */
#define ROWS 1024
/* Generations of one container that are looked at; there are rarely two. */
#define GENERATIONS_MAX 64
/* Rules and marks that the old catalog may still tell. */
#define CARRIED_MAX 65536

/* What can still be read in a damaged catalog, and is nowhere else. */
struct carried {
	struct catalog_rule *rules;	/* owned, strings too */
	u32 nr_rules;
	struct catalog_damage *marks;
	u32 nr_marks, cap_marks;
	struct catalog_numbers numbers;
	bool policy_known;
};

/* A file that cannot be read. */
struct broken {
	u64 number;		/* first member */
	u32 generation, last_generation;
	bool lost;		/* no other generation can be read either */
};

struct rescue {
	struct store_repair *r;
	struct akin_diag *diag;
	struct carried carried;
	struct catalog_least least;
	/* Filling in. */
	struct catalog_found *rows;
	u32 nr_rows;
	struct broken *broken;	/* files that cannot be read, ascending */
	u32 nr_broken, cap_broken;
	u64 number;		/* whose generations these are; 0: none */
	u32 generations[GENERATIONS_MAX];
	u32 nr_generations, last_generation;
};

/* What the old catalog tells -------------------------------------------------*/

static int carry_rule(void *ctx, const struct catalog_rule *rule)
{
	struct carried *c = ctx;
	struct catalog_rule *p, own;

	p = mem_realloc(c->rules, (c->nr_rules + 1) * sizeof(*p));
	if (!p)
		return -AKIN_E_nomem;
	c->rules = p;
	own.rule = mem_strdup(rule->rule);
	own.value = mem_strdup(rule->value);
	p[c->nr_rules++] = own;
	return own.rule && own.value ? 0 : -AKIN_E_nomem;
}

static int carry_mark(void *ctx, const struct catalog_damage *row)
{
	struct carried *c = ctx;
	struct catalog_damage *p;
	u32 cap = c->cap_marks ? c->cap_marks * 2 : 64;

	if (c->nr_marks == CARRIED_MAX)
		return 1;
	if (c->nr_marks == c->cap_marks) {
		p = mem_realloc(c->marks, cap * sizeof(*p));
		if (!p)
			return -AKIN_E_nomem;
		c->marks = p;
		c->cap_marks = cap;
	}
	c->marks[c->nr_marks++] = *row;
	return 0;
}

/* Best effort, piece by piece: it is damaged, or not there. */
static void carry(struct rescue *s)
{
	struct catalog_options opt = { .read_only = true };
	struct akin_pool *p = s->r->p;
	struct catalog *c;

	if (!p->meta || catalog_open(p->meta, &p->super.pool, &opt, &c, NULL))
		return;
	ignore_result(catalog_numbers(c, &s->carried.numbers, NULL));
	s->carried.policy_known = !catalog_each_rule(c, carry_rule,
						     &s->carried, NULL);
	ignore_result(catalog_each_damage(c, carry_mark, &s->carried, NULL));
	catalog_close(c);
}

static void carried_drop_rules(struct carried *c)
{
	u32 i;

	for (i = 0; i < c->nr_rules; i++) {
		mem_free((void *)(uintptr_t)c->rules[i].rule);
		mem_free((void *)(uintptr_t)c->rules[i].value);
	}
	mem_free(c->rules);
	c->rules = NULL;
	c->nr_rules = 0;
}

/* The copy, which the catalog was written after: for want of the catalog's. */
static int carry_copy(struct rescue *s)
{
	struct carried *k = &s->carried;
	struct akin_diag why = { 0 };
	struct catalog_rule rule;
	struct rulebook book;
	u32 i;
	int err;

	if (k->policy_known ||
	    !(s->r->super.feat_ro_compat & SUPER_FEAT_RO_POLICY))
		return 0;
	err = store_rulebook_read(s->r->p, &book, &why);
	if (err && !verify_is_damage(err))
		return diag_pass(s->diag, err, &why);
	if (err) {
		store_repair_found(s->r, err, "%s", why.text);
		return 0;
	}
	s->least.txn = max_u64(s->least.txn, min_u64(book.txn,
						     REPAIR_NUMBER_MAX));
	carried_drop_rules(k);
	for (i = 0; !err && i < book.nr; i++) {
		rule = (struct catalog_rule){ book.names[i], book.values[i] };
		err = carry_rule(k, &rule);
	}
	rulebook_release(&book);
	k->policy_known = !err;
	return err ? diag_set(s->diag, err, "policy") : 0;
}

static void carried_release(struct carried *c)
{
	carried_drop_rules(c);
	mem_free(c->marks);
}

/* Containers ----------------------------------------------------------------*/

static int flush_rows(struct rescue *s)
{
	int err;

	err = catalog_add_found(s->r->p->catalog, s->rows, s->nr_rows, s->diag);
	s->nr_rows = 0;
	return err;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* Was container @number found, readable or not? All are that lie below. */
static int is_found(struct rescue *s, u64 number, bool *out)
{
	struct catalog_container row;
	struct akin_diag why = { 0 };
	u32 lo = 0, hi = s->nr_rows, mid;
	int err;

	*out = true;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (s->rows[mid].row.number == number)
			return 0;
		if (s->rows[mid].row.number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (s->nr_broken && bsearch(&number, s->broken, s->nr_broken,
				    sizeof(*s->broken), compare_u64))
		return 0;
	err = catalog_container(s->r->p->catalog, number, &row, &why);
	*out = !err;
	if (err && err != -AKIN_E_absent)
		return diag_pass(s->diag, err, &why);
	return 0;
}

/* A generation of the container that can be read; *whole_ret: its bases are
 * there. */
static int fill_row(struct rescue *s, struct container_reader *c,
		    struct catalog_container *out, bool *whole_ret)
{
	const struct container_footer *f = container_reader_footer(c);
	const struct directory *d = container_directory(c);
	struct akin_diag why = { 0 };
	struct container_header h = { 0 };
	u32 i;
	int err;

	err = container_check_header(c, &h, &why);
	if (err && !verify_is_damage(err))
		return diag_pass(s->diag, err, &why);
	memset(out, 0, sizeof(*out));
	out->number = d->container;
	out->generation = d->generation;
	out->kind = d->kind;
	/* A header that is damaged costs nothing but this. */
	out->session = err ? 0 : min_u64(h.session, REPAIR_NUMBER_MAX);
	out->dir_off = f->dir_off;
	out->dir_len = f->dir_len;
	out->file_bytes = f->dir_off + f->dir_len + CONTAINER_FOOTER_BYTES;
	out->nr_entries = d->nr_entries;
	for (i = 0; i < d->nr_groups; i++)
		out->raw_bytes += d->groups[i].raw_len;
	*whole_ret = true;
	for (err = 0, i = 0; !err && *whole_ret && i < d->nr_bases; i++)
		err = is_found(s, d->bases[i], whole_ret);
	return err;
}

/* Bases that are nowhere: whatever stands on them cannot be had. */
static int miss_bases(struct rescue *s, struct container_reader *c)
{
	const struct directory *d = container_directory(c);
	struct catalog_damage mark = { .code = -AKIN_E_absent };
	bool found;
	u32 i;
	int err = 0;

	mark.place.entry = DAMAGE_WHOLE;
	for (i = 0; !err && i < d->nr_bases; i++) {
		err = is_found(s, d->bases[i], &found);
		if (err || found)
			continue;
		mark.place.container = d->bases[i];
		if (carry_mark(&s->carried, &mark) < 0)
			err = diag_set(s->diag, -AKIN_E_nomem, "damage");
	}
	return err;
}

static int note_broken(struct rescue *s, u32 generation)
{
	u32 cap = s->cap_broken ? s->cap_broken * 2 : 64;
	struct broken *p;

	if (s->nr_broken == s->cap_broken) {
		p = mem_realloc(s->broken, cap * sizeof(*p));
		if (!p)
			return diag_set(s->diag, -AKIN_E_nomem, "containers");
		s->broken = p;
		s->cap_broken = cap;
	}
	p = &s->broken[s->nr_broken++];
	p->number = s->number;
	p->generation = generation;
	p->last_generation = s->last_generation;
	p->lost = false;
	return 0;
}

/*
 * Choose among the generations of s->number. *row is the one to take.
 * 1: there is one, 0: none can be read.
 */
static int choose(struct rescue *s, struct catalog_container *row)
{
	struct container_reader *c, *best = NULL;
	struct akin_pool *p = s->r->p;
	struct catalog_container found;
	struct akin_diag why;
	bool whole = false;
	u32 i;
	int err = 0;

	for (i = 0; !err && !whole && i < s->nr_generations; i++) {
		memset(&why, 0, sizeof(why));
		err = container_open(p->data, &p->super.pool, s->number,
				     s->generations[i], &c, &why);
		if (err && verify_is_damage(err)) {
			err = note_broken(s, s->generations[i]);
			continue;
		}
		if (err)
			return diag_pass(s->diag, err, &why);
		err = fill_row(s, c, &found, &whole);
		if (!err && (whole || !best)) {
			*row = found;
			container_close(best);
			best = c;
		} else {
			container_close(c);
		}
	}
	if (!err && best && !whole)
		err = miss_bases(s, best);
	container_close(best);
	return err ? err : best != NULL;
}

/* All generations of one number are known. */
static int take_container(struct rescue *s)
{
	struct catalog_found *f = &s->rows[s->nr_rows];
	int found;
	u32 i;

	if (!s->number)
		return 0;
	found = choose(s, &f->row);
	if (found < 0)
		return found;
	s->least.container = max_u64(s->least.container, s->number);
	for (i = s->nr_broken; !found && i-- && s->broken[i].number == s->number;)
		s->broken[i].lost = true;
	if (!found)
		return 0;
	f->last_generation = s->last_generation;
	s->least.session = max_u64(s->least.session, f->row.session);
	s->r->out->containers++;
	return ++s->nr_rows == ROWS ? flush_rows(s) : 0;
}

static int one_file(void *ctx, const struct repair_file *file)
{
	struct rescue *s = ctx;
	int err;

	err = store_repair_tick(s->r, s->r->out->containers, 0, "containers",
				s->diag);
	if (!err && file->number != s->number) {
		err = take_container(s);
		s->number = file->number;
		s->nr_generations = 0;
	}
	/* Beyond that, later ones have nothing that these do not have. */
	if (s->nr_generations < GENERATIONS_MAX)
		s->generations[s->nr_generations++] = file->generation;
	s->last_generation = file->generation;
	return err;
}

static int take_containers(struct rescue *s)
{
	struct akin_pool *p = s->r->p;
	int err;

	s->rows = mem_calloc(ROWS, sizeof(*s->rows));
	if (!s->rows)
		return diag_set(s->diag, -AKIN_E_nomem, "containers");
	err = repair_each_file(p->data, p->meta, one_file, s, s->diag);
	if (!err)
		err = take_container(s);
	if (!err)
		err = flush_rows(s);
	return err;
}

/* A row for what was left of a file. */
static int add_salvaged(struct rescue *s, const struct repair_salvage *v)
{
	struct catalog_found f = { .last_generation = v->generation };

	f.row.number = v->number;
	f.row.generation = v->generation;
	f.row.kind = v->kind_found;
	f.row.file_bytes = v->sealed.file_bytes;
	f.row.dir_off = v->sealed.dir_off;
	f.row.dir_len = v->sealed.dir_len;
	f.row.nr_entries = v->sealed.nr_entries;
	f.row.raw_bytes = v->sealed.raw_bytes;
	s->r->out->containers++;
	s->r->out->groups_salvaged += v->groups;
	s->r->out->chunks_salvaged += v->chunks;
	return catalog_add_found(s->r->p->catalog, &f, 1, s->diag);
}

/*
 * All files that cannot be read are put aside, or the next reclaim would take
 * them for what a dead session left: once what is in them is in a new file.
 */
static int one_broken(struct rescue *s, const struct broken *b, bool *done)
{
	struct akin_pool *p = s->r->p;
	char name[FORMAT_NAME_MAX];
	struct repair_salvage v = { .name = name, .number = b->number,
				    .generation = b->last_generation + 1 };
	bool moved;
	int err = 0;

	format_container_name(b->number, b->generation, name);
	if (b->lost && !*done) {
		err = repair_salvage(&p->depot, &p->dec, &v, false, s->diag);
		if (!err && v.groups)
			err = add_salvaged(s, &v);
		*done = v.groups != 0;
	}
	if (!err)
		err = repair_quarantine(p->data, name, &moved, s->diag);
	s->r->out->quarantined += !err && moved;
	return err;
}

/* Ascending, so that what they were compressed against is there. */
static int salvage_broken(struct rescue *s)
{
	bool done = false;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < s->nr_broken; i++) {
		if (i && s->broken[i].number != s->broken[i - 1].number)
			done = false;
		err = store_repair_tick(s->r, s->r->out->containers, 0,
					"damaged containers", s->diag);
		if (!err)
			err = one_broken(s, &s->broken[i], &done);
	}
	return err;
}

/* The order -----------------------------------------------------------------*/

static int one_run(void *ctx, const char *name, bool is_dir)
{
	struct rescue *s = ctx;
	u64 number = strtoull(name, NULL, 16);

	if (!is_dir && strlen(name) == 16 && number <= REPAIR_NUMBER_MAX)
		s->least.run = max_u64(s->least.run, number);
	return 0;
}

static int set_aside_old(struct rescue *s)
{
	static const char *const names[] = { FILE_CATALOG, JOURNAL };
	struct disk *meta = s->r->p->meta;
	bool moved;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(names); i++) {
		err = repair_quarantine(meta, names[i], &moved, s->diag);
		s->r->out->quarantined += !err && moved;
	}
	if (!err)
		err = disk_list(meta, DIR_RUNS, one_run, s, s->diag);
	return err;
}

static int unlink_durably(struct disk *d, const char *name,
			  struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err = disk_unlink(d, name, &why);

	if (err && err != -AKIN_E_absent)
		return diag_pass(diag, err, &why);
	return disk_sync_dir(d, ".", diag);
}

/* 1 to 5. */
static int clear(struct rescue *s)
{
	struct store_repair *r = s->r;
	struct akin_pool *p = r->p;
	struct super super = r->super;
	int err;

	err = store_make_data(p->data, s->diag);
	if (!err && r->write_data_super)
		err = store_super_write(p->data, &super, SUPER_DATA, s->diag);
	if (!err)
		err = disk_write_file(p->meta, FILE_REBUILDING, "", 0, s->diag);
	if (!err)
		err = unlink_durably(p->meta, FILE_SUPERBLOCK, s->diag);
	if (!err)
		err = store_make_meta(p->meta, s->diag);
	return err ? err : set_aside_old(s);
}

static int restore_carried(struct rescue *s)
{
	struct carried *k = &s->carried;
	struct catalog *c = s->r->p->catalog;
	u32 i;
	int err = 0;

	for (i = 0; !err && i < k->nr_marks; i++)
		err = depot_damage_add(&s->r->p->depot.damage,
				       &k->marks[i].place, NULL);
	if (err)
		return diag_set(s->diag, err, "damage");
	err = catalog_mark_damaged(c, k->marks, k->nr_marks, s->diag);
	if (!err && k->policy_known && k->nr_rules)
		err = catalog_set_policy(c, k->rules, k->nr_rules, NULL, NULL,
					 s->diag);
	s->r->out->policy_lost = !k->policy_known;
	return err;
}

/* 6 and 7. */
static int fill(struct rescue *s)
{
	struct akin_index_result index;
	struct akin_pool *p = s->r->p;
	int err;

	err = catalog_create(p->meta, &p->super.pool, s->diag);
	if (!err)
		err = store_open_parts(p, s->diag);
	if (!err)
		err = catalog_raise_numbers(p->catalog, &s->least, s->diag);
	if (!err)
		err = take_containers(s);
	if (!err)
		err = catalog_raise_numbers(p->catalog, &s->least, s->diag);
	if (!err)
		err = store_repair_look_again(s->r, s->diag);
	if (!err)
		err = salvage_broken(s);
	if (!err)
		err = restore_carried(s);
	if (!err)
		err = store_repair_look_again(s->r, s->diag);
	if (!err)
		err = akin_index_rebuild(p, NULL, &index, s->diag);
	if (!err)
		s->r->out->index_entries = index.entries;
	return err;
}

/* 9 and 10. */
static int open_for_all(struct rescue *s)
{
	struct akin_pool *p = s->r->p;
	struct super super = s->r->super;
	int err;

	err = unlink_durably(p->meta, FILE_REBUILDING, s->diag);
	if (!err)
		err = store_super_write(p->meta, &super, SUPER_METADATA,
					s->diag);
	if (!err)
		err = store_repair_look_again(s->r, s->diag);
	if (!err)
		err = store_unlock_all(p, s->diag);
	s->r->write_meta_super = s->r->write_data_super = false;
	s->r->nr_steps = 0;
	s->r->out->rebuilt = !err;
	return err;
}

static int make_meta_dir(struct store_repair *r, struct akin_diag *diag)
{
	if (r->p->meta)
		return 0;
	if (mkdir(r->meta_path, 0700) && errno != EEXIST)
		return diag_set_errno(diag, error_from_errno(errno), errno,
				      "%s", r->meta_path);
	if (disk_files_new(r->meta_path, true, &r->p->meta, diag))
		return diag ? diag->code : -AKIN_E_io;
	r->p->meta->label = "metadata";
	r->p->meta->lockless = r->p->single_writer;
	return store_throttle(&r->throttle_meta, &r->p->meta, diag);
}

static void tell_plan(struct store_repair *r, const char *why,
		      const struct store_records *records)
{
	store_repair_found(r, -AKIN_E_catalog, "metadata pool: %s", why);
	if (r->write_data_super)
		store_repair_plan(r, "superblock", "write the superblock of "
				  "the data pool anew");
	store_repair_plan(r, "metadata", "make the catalog and the index anew "
			  "from the containers; there are records of %llu "
			  "snapshots, and of %llu that were forgotten",
			  (unsigned long long)(records->nr -
					       records->nr_buried),
			  (unsigned long long)records->nr_buried);
	if (!r->p->meta)
		store_repair_plan(r, "directory", "in a new directory, %s (if "
				  "it is on a disk that is not mounted, mount "
				  "that instead)", r->meta_path);
}

static int rescue(struct rescue *s, const char *why,
		  const struct store_records *records)
{
	struct store_repair *r = s->r;
	int err;

	tell_plan(r, why, records);
	if (r->opt->dry_run)
		return diag_set(s->diag, -AKIN_E_catalog, "the metadata must "
				"be made anew: %s", why);
	err = store_repair_confirm(r, s->diag);
	if (!err)
		err = make_meta_dir(r, s->diag);
	if (!err)
		err = store_lock_all(r->p, s->diag);
	if (!err)
		err = store_host_enter(r->p, s->diag);
	if (err)
		return err;
	carry(s);
	s->least.txn = s->carried.numbers.txn;
	s->least.container = s->carried.numbers.last_container;
	err = carry_copy(s);
	if (!err)
		err = clear(s);
	if (!err)
		err = store_records_numbers(r, records, &s->least, s->diag);
	if (!err)
		err = fill(s);
	if (!err)
		err = store_records_take(r, records, s->diag);
	return err ? err : open_for_all(s);
}

int store_rescue(struct store_repair *r, const char *why,
		 struct akin_diag *diag)
{
	struct akin_diag d = { 0 };
	struct rescue s = { .r = r, .diag = &d };
	struct store_records records = { 0 };
	int err;

	err = store_records_list(r->p->data, &records, &d);
	if (!err)
		err = rescue(&s, why, &records);
	store_records_release(&records);
	carried_release(&s.carried);
	mem_free(s.rows);
	mem_free(s.broken);
	return diag_pass(diag, err, &d);
}
