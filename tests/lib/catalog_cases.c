/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases for the tests of the catalog.
 */
#include <stdio.h>

#include "testlib.h"

#include "base/buf.h"
#include "catalog_cases.h"
#include "format/format_container.h"

const struct pool_id case_pool = { { 0xca, 0x7a, 0x10, 0x60 } };

struct simdisk *case_disk(void)
{
	struct simdisk *sd = simdisk_new("metadata");
	struct disk *d = simdisk_attach(sd, true);
	struct akin_diag diag = { 0 };

	if (catalog_create(d, &case_pool, &diag))
		fail_msg("create: %s", diag.text);
	disk_free(d);
	return sd;
}

int case_open(struct disk *d, bool read_only, struct catalog **out,
	      struct akin_diag *diag)
{
	struct catalog_options opt = { .read_only = read_only, .busy_ms = 20 };

	return catalog_open(d, &case_pool, &opt, out, diag);
}

void case_session(struct catalog_session *out, const char *key)
{
	memset(out, 0, sizeof(*out));
	out->begun_sec = -5;
	out->pid = 4242;
	snprintf(out->host, sizeof(out->host), "host-%s", key);
	snprintf(out->user, sizeof(out->user), "user");
	snprintf(out->command, sizeof(out->command), "akin backup %s", key);
	snprintf(out->paths_key, sizeof(out->paths_key), "%s", key);
}

void case_snapshot(struct snapshot *out, const struct catalog_session *s,
		   bool large)
{
	static char host[] = "host", user[] = "user", command[] = "akin";
	static char path[] = "/home", long_path[58000];
	static char *paths[] = { path, long_path, long_path };

	memset(out, 0, sizeof(*out));
	out->pool = case_pool;
	out->number = s->snapshot;
	memset(out->id, (int)(s->snapshot & 0xff), sizeof(out->id));
	out->session = s->number;
	out->time_sec = 1700000000 + (s64)s->snapshot;
	out->host = host;
	out->user = user;
	out->command = command;
	out->paths = paths;
	out->nr_paths = large ? 3 : 1;
	memset(long_path, 'x', sizeof(long_path) - 1);
}

static void fill_container(const struct case_backup *b, u32 i,
			   struct catalog_container *out)
{
	memset(out, 0, sizeof(*out));
	out->number = b->first_container + i;
	out->kind = i % 2 ? CONTAINER_METADATA : CONTAINER_DATA;
	out->session = b->session.number;
	out->file_bytes = 8 * MiB + i;
	out->dir_off = 8 * MiB - 1000;
	out->dir_len = 900;
	out->nr_entries = 1000 + i;
	out->raw_bytes = 16 * MiB;
	out->saved_bytes = 4 * MiB + i;
}

static void fill_run(const struct case_backup *b, u32 i,
		     struct catalog_run *out)
{
	out->number = b->first_run + i;
	out->tier = i;
	out->nr_entries = 5000;
	out->file_bytes = 80000;
	out->session = b->session.number;
}

static int begin_lock(void *ctx, u64 number, u64 txn, struct akin_diag *diag)
{
	struct case_backup *b = ctx;

	b->session.number = number;
	b->session.begin_txn = txn;
	return 0;
}

static int commit(struct catalog *c, struct case_backup *b,
		  const struct catalog_delta *delta, struct akin_diag *diag)
{
	struct snapshot snapshot;
	u64 txn;

	case_snapshot(&snapshot, &b->session, b->large);
	return catalog_commit(c, b->session.number, delta, &snapshot, &txn,
			      diag);
}

int case_step(struct catalog *c, struct case_backup *b, int step,
	      struct akin_diag *diag)
{
	struct catalog_container rows[2];
	struct catalog_delta delta = { .containers = rows };
	struct catalog_session in;
	struct catalog_run run;

	switch (step) {
	case 0:
		case_session(&in, b->key);
		return catalog_session_begin(c, &in, begin_lock, b,
					     &b->session, diag);
	case 1:
		return catalog_reserve(c, b->session.number, NUMBER_CONTAINER,
				       4, &b->first_container, diag);
	case 2:
		return catalog_reserve(c, b->session.number, NUMBER_RUN, 2,
				       &b->first_run, diag);
	case 3:
		fill_container(b, 0, &rows[0]);
		fill_container(b, 1, &rows[1]);
		delta.nr_containers = 2;
		return catalog_checkpoint(c, b->session.number, &delta, diag);
	case 4:
		fill_container(b, 2, &rows[0]);
		fill_run(b, 0, &run);
		delta.nr_containers = 1;
		delta.runs = &run;
		delta.nr_runs = 1;
		return catalog_checkpoint(c, b->session.number, &delta, diag);
	default:
		fill_container(b, 3, &rows[0]);
		fill_run(b, 1, &run);
		delta.nr_containers = 1;
		delta.runs = &run;
		delta.nr_runs = 1;
		delta.dead_runs = &b->first_run;
		delta.nr_dead_runs = 1;
		return commit(c, b, &delta, diag);
	}
}

/* The whole content --------------------------------------------------------*/

static int dump_session(void *ctx, const struct catalog_session *s)
{
	buf_put(ctx, "S", 1);
	buf_put_le64(ctx, s->number);
	buf_put_le64(ctx, s->state);
	buf_put_le64(ctx, s->begin_txn);
	buf_put_le64(ctx, (u64)s->begun_sec);
	buf_put_le64(ctx, s->pid);
	buf_put(ctx, s->host, strlen(s->host) + 1);
	buf_put(ctx, s->user, strlen(s->user) + 1);
	buf_put(ctx, s->command, strlen(s->command) + 1);
	buf_put(ctx, s->paths_key, strlen(s->paths_key) + 1);
	buf_put_le64(ctx, s->snapshot);
	return 0;
}

static int dump_container(void *ctx, const struct catalog_container *row)
{
	buf_put(ctx, "C", 1);
	buf_put_le64(ctx, row->number);
	buf_put_le64(ctx, row->generation);
	buf_put_le64(ctx, row->kind);
	buf_put_le64(ctx, row->session);
	buf_put_le64(ctx, row->file_bytes);
	buf_put_le64(ctx, row->dir_off);
	buf_put_le64(ctx, row->dir_len);
	buf_put_le64(ctx, row->nr_entries);
	buf_put_le64(ctx, row->raw_bytes);
	buf_put_le64(ctx, row->condemned_txn);
	return 0;
}

static int dump_run(void *ctx, const struct catalog_run *run)
{
	buf_put(ctx, "R", 1);
	buf_put_le64(ctx, run->number);
	buf_put_le64(ctx, run->tier);
	buf_put_le64(ctx, run->nr_entries);
	buf_put_le64(ctx, run->file_bytes);
	buf_put_le64(ctx, run->session);
	return 0;
}

static int dump_snapshot(void *ctx, const struct snapshot *s)
{
	buf_put(ctx, "N", 1);
	return snapshot_encode(s, ctx);
}

static int dump_damage(void *ctx, const struct catalog_damage *row)
{
	buf_put(ctx, "D", 1);
	buf_put_le64(ctx, row->place.container);
	buf_put_le64(ctx, row->place.entry);
	buf_put(ctx, row->fp.b, FP_BYTES);
	buf_put_le64(ctx, (u64)row->found_sec);
	buf_put_le64(ctx, (u64)(s64)row->code);
	return 0;
}

int case_dump(struct catalog *c, struct buf *out, struct akin_diag *diag)
{
	u64 txn;
	int err;

	err = catalog_each_session(c, dump_session, out, diag);
	if (!err)
		err = catalog_each_container(c, dump_container, out, diag);
	if (!err)
		err = catalog_each_run(c, dump_run, out, diag);
	if (!err)
		err = catalog_each_snapshot(c, dump_snapshot, out, diag);
	if (!err)
		err = catalog_each_damage(c, dump_damage, out, diag);
	if (!err)
		err = catalog_txn(c, &txn, diag);
	if (err)
		return err;
	buf_put_le64(out, txn);
	return buf_error(out);
}
