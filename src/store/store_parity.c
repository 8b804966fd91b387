/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parity of what is stored already: given to containers that have none or
 * another share than the pool wants, or taken away.
 *
 * Nobody may reclaim meanwhile, so the containers stay; backups go on, and make
 * that of theirs. A container that is damaged gets none: it would be parity of
 * damage.
 */
#include <stdio.h>

#include "akin/optimize.h"
#include "catalog/catalog_gc.h"
#include "container/container_reader.h"
#include "os/clock.h"
#include "store/store.h"
#include "verify/verify_content.h"

#define REPORT_NS (200ull * 1000 * 1000)

/* All checksums hold: of header, directory and groups, without any help. */
static int test_container(struct akin_pool *p, const struct container_id *id,
			  struct akin_diag *diag)
{
	struct container_header h;
	struct container_reader *r;
	struct container_group g;
	u32 i;
	int err;

	err = container_open(p->data, &p->super.pool, id->number,
			     id->generation, &r, diag);
	if (err)
		return err;
	err = container_check_header(r, &h, diag);
	for (i = 0; !err && i < container_directory(r)->nr_groups; i++) {
		err = container_read_group(r, i, &g, diag);
		if (!err)
			container_group_release(&g);
		if (!err)
			err = store_check_stop(p, diag);
	}
	if (!err && container_reader_healed(r))
		err = diag_set(diag, -AKIN_E_bad_checksum, "container %llu: "
			       "some of its sectors are damaged",
			       (unsigned long long)id->number);
	container_close(r);
	return err;
}

int store_parity_make(struct akin_pool *p, const struct container_id *id,
		      u8 percent, u64 *bytes_ret, struct akin_diag *diag)
{
	int err = test_container(p, id, diag);

	return err ? err : container_parity_write(p->data, &p->super.pool, id,
						  percent, bytes_ret, diag);
}

/* The setting ---------------------------------------------------------------*/

/* That of the metadata disk counts; a crash in between leaves the old one. Both
 * are read anew: features may have been switched on meanwhile. */
static int set_percent(struct akin_pool *p, u8 percent, struct akin_diag *diag)
{
	struct super meta, data;
	int err;

	err = store_super_read(p->meta, &meta, diag);
	if (!err)
		err = store_super_read(p->data, &data, diag);
	if (err)
		return err;
	meta.parity = data.parity = percent;
	meta.sequence = data.sequence = max_u64(meta.sequence,
						data.sequence) + 1;
	err = store_super_write(p->data, &data, SUPER_DATA, diag);
	if (!err)
		err = store_super_write(p->meta, &meta, SUPER_METADATA, diag);
	if (err)
		return err;
	p->super.parity = percent;
	p->super.sequence = meta.sequence;
	p->depot.super.parity = percent;
	return 0;
}

/* All containers --------------------------------------------------------------*/

struct giving {
	struct akin_pool *p;
	const struct akin_parity_options *opt;
	struct akin_parity_result *out;
	struct akin_diag *diag;
	u64 start_ns, said_ns;
	u8 percent;
	bool touched[256];	/* folders with new names */
};

static int tick(struct giving *g)
{
	struct akin_progress p = { 0 };
	u64 now = clock_ns();
	int err = store_check_stop(g->p, g->diag);

	if (err || !g->opt->progress || now - g->said_ns < REPORT_NS)
		return err;
	g->said_ns = now;
	p.others = g->out->containers;
	p.bytes = p.bytes_new = g->out->bytes_read;
	p.bytes_stored = g->out->bytes_made;
	p.current = "parity";
	p.elapsed_ns = now - g->start_ns;
	g->opt->progress(g->opt->ctx, &p);
	return 0;
}

/* As it should be: 1, not: 0; *any_ret: there is something. */
static int is_right(struct giving *g, const struct container_id *id,
		    bool *any_ret, struct akin_diag *diag)
{
	struct container_parity *parity;
	struct akin_diag why = { 0 };
	int err, right;

	err = container_parity_open(g->p->data, &g->p->super.pool, id, &parity,
				    &why);
	*any_ret = err != -AKIN_E_absent;
	if (err == -AKIN_E_absent)
		return g->percent == 0;
	if (err && !verify_is_damage(err))
		return diag_pass(diag, err, &why);
	if (err)
		return 0;
	right = container_parity_map(parity)->percent == g->percent;
	container_parity_close(parity);
	return right;
}

static int make(struct giving *g, const struct catalog_container *row,
		const struct container_id *id)
{
	struct akin_diag why = { 0 };
	u64 bytes = 0;
	int err;

	g->out->bytes_read += row->file_bytes;
	if (g->opt->dry_run) {
		g->out->made++;
		return 0;
	}
	err = store_parity_make(g->p, id, g->percent, &bytes, &why);
	if (err && verify_is_damage(err)) {
		g->out->damaged++;
		return 0;
	}
	if (err)
		return diag_pass(g->diag, err, &why);
	g->touched[id->number & 0xff] = true;
	g->out->made++;
	g->out->bytes_made += bytes;
	counters_add(g->p->counters, parity_stored, bytes);
	return 0;
}

static int one_container(void *ctx, const struct catalog_container *row)
{
	const struct container_id id = { row->number, row->generation };
	struct giving *g = ctx;
	u64 bytes;
	bool any;
	int err, right;

	err = tick(g);
	if (err || row->condemned_txn)
		return err;
	g->out->containers++;
	right = is_right(g, &id, &any, g->diag);
	if (right < 0)
		return right;
	if (right && g->percent)
		g->out->had++;
	if (right)
		return 0;
	if (g->percent)
		return make(g, row, &id);
	g->out->removed++;
	return g->opt->dry_run ? 0 :
	       container_parity_remove(g->p->data, &id, &bytes, g->diag);
}

static int sync_folders(struct giving *g)
{
	char name[FORMAT_NAME_MAX];
	u32 i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(g->touched); i++) {
		if (!g->touched[i])
			continue;
		snprintf(name, sizeof(name), DIR_CONTAINERS "/%02x", i);
		err = disk_sync_dir(g->p->data, name, g->diag);
	}
	return err;
}

static int give(struct giving *g)
{
	struct akin_pool *p = g->p;
	int err = 0, err2;

	if (!g->opt->dry_run && g->percent != p->super.parity)
		err = set_percent(p, g->percent, g->diag);
	if (!err)
		err = catalog_each_container(p->catalog, one_container, g,
					     g->diag);
	err2 = sync_folders(g);
	return err ? err : err2;
}

int akin_parity(struct akin_pool *p, const struct akin_parity_options *opt,
		struct akin_parity_result *out, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct giving g = { .p = p, .opt = opt, .out = out, .diag = &why,
			    .start_ns = clock_ns() };
	int err;

	memset(out, 0, sizeof(*out));
	if (opt->percent > AKIN_PARITY_MAX)
		return diag_set(diag, -AKIN_E_usage, "parity: from 0 to %d "
				"percent", AKIN_PARITY_MAX);
	if (p->read_only && !opt->dry_run)
		return diag_set(diag, -AKIN_E_readonly, "the pool was opened "
				"for reading only");
	g.percent = opt->percent < 0 ? p->super.parity : (u8)opt->percent;
	out->percent = g.percent;
	err = opt->dry_run ? 0 : store_lock_gc(p, true, &why);
	if (!err) {
		err = give(&g);
		if (!opt->dry_run)
			ignore_result(store_lock_gc(p, false, NULL));
	}
	if (!err && out->damaged)
		err = diag_set(&why, -AKIN_E_partial, "%llu containers are "
			       "damaged and got no parity",
			       (unsigned long long)out->damaged);
	err = diag_pass(diag, err, &why);
	if (out->damaged)
		diag_hint(diag, "'akin check --read-data' says what is "
			  "damaged, 'akin repair' what can be done.");
	return diag_said(diag, err);
}
