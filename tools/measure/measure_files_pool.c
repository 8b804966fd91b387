/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study in a pool: each subject is a space and comes in one transaction, its
 * sessions are paths in it. Listing is a query; who has listed knows the
 * transaction, so reading names it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure_files.h"

#define SMALL_PER_TXN 2000
#define SMALL_PER_PATH 100
#define RESULTS "results"

static int vote(struct akin_session *s, int err, uint64_t *transaction_ret,
		uint64_t *stored_ret, struct akin_diag *diag)
{
	struct akin_txn_result result = { 0 };
	int err2;

	err2 = akin_txn_end(s, err ? AKIN_VOTE_ABORT : AKIN_VOTE_COMMIT,
			    &result, err ? NULL : diag);
	*transaction_ret = result.transaction;
	*stored_ret += result.bytes_stored;
	return err ? err : err2 ? err2 : result.code;
}

static int send(struct akin_session *s, const char *space, const char *path,
		const char *name, const void *data, size_t n,
		struct akin_diag *diag)
{
	struct akin_object_name on = { .space = space, .path = path,
				       .name = name };
	struct akin_object_options opt = { .size_hint = n };
	struct akin_object obj;
	int err;

	err = akin_object_begin(s, &on, &opt, &obj, diag);
	if (!err)
		err = akin_object_send(s, obj, data, n, diag);
	return err ? err : akin_object_end(s, obj, NULL, diag);
}

static void space_of(uint32_t subject, char out[FILES_NAME])
{
	snprintf(out, FILES_NAME, "sub-%02u", subject + 1);
}

static void path_of(uint32_t session, char out[FILES_NAME])
{
	snprintf(out, FILES_NAME, "ses-%u", session + 1);
}

static int fill_subject(struct files_place *p, uint32_t subject,
			uint64_t *stored_ret, struct akin_diag *diag)
{
	char space[FILES_NAME], path[FILES_NAME], name[FILES_NAME];
	struct files_dir d = { .subject = subject };
	uint32_t i;
	int err;

	space_of(subject, space);
	err = akin_txn_begin(p->pool.s, NULL, diag);
	if (err)
		return err;
	for (; !err && d.session < FILES_SESSIONS; d.session++) {
		path_of(d.session, path);
		for (i = 0; !err && i < p->nr_dir; i++) {
			files_name(i, name);
			files_content(p, d, i, p->buf);
			err = send(p->pool.s, space, path, name, p->buf,
				   p->bytes, diag);
		}
	}
	return vote(p->pool.s, err, &p->transactions[subject], stored_ret,
		    diag);
}

static int pool_fill(struct files_place *p, uint64_t *stored_ret,
		     struct akin_diag *diag)
{
	uint32_t i;
	int err = 0;

	*stored_ret = 0;
	for (i = 0; !err && i < FILES_SUBJECTS; i++)
		err = fill_subject(p, i, stored_ret, diag);
	return err;
}

static int pool_add_small(struct files_place *p, uint64_t first, uint64_t nr,
			  struct akin_diag *diag)
{
	unsigned char data[FILES_SMALL];
	char path[FILES_NAME], name[FILES_NAME];
	uint64_t end = first + nr, transaction, stored;
	uint32_t i;
	int err = 0;

	while (!err && first < end) {
		err = akin_txn_begin(p->pool.s, NULL, diag);
		if (err)
			return err;
		for (i = 0; !err && i < SMALL_PER_TXN && first < end; i++) {
			snprintf(path, sizeof(path), "d%06llu", (unsigned
				 long long)first / SMALL_PER_PATH);
			snprintf(name, sizeof(name), "f%08llu",
				 (unsigned long long)first);
			files_small(first++, data);
			err = send(p->pool.s, "small", path, name, data,
				   sizeof(data), diag);
		}
		stored = 0;
		err = vote(p->pool.s, err, &transaction, &stored, diag);
	}
	return err;
}

static int pool_forget(struct files_place *p, struct akin_diag *diag)
{
	measure_cold(p->pool.dir);
	return measure_pool_reopen(&p->pool, p->opt, AKIN_VERIFY_DEFAULT, diag);
}

static int count_one(void *ctx, const struct akin_object_info *info)
{
	++*(uint32_t *)ctx;
	return 0;
}

static int pool_list(struct files_place *p, struct files_dir d,
		     uint32_t *nr_ret, struct akin_diag *diag)
{
	char space[FILES_NAME], path[FILES_NAME];
	struct akin_object_query q = { .space = space, .path = path,
				       .newest = true };

	space_of(d.subject, space);
	path_of(d.session, path);
	*nr_ret = 0;
	return akin_object_query(p->pool.s, &q, count_one, nr_ret, diag);
}

static int read_one(struct files_place *p, struct akin_session *s,
		    struct files_dir d, uint32_t file, unsigned char *buf,
		    struct akin_diag *diag)
{
	char space[FILES_NAME], path[FILES_NAME], name[FILES_NAME];
	struct akin_object_name on = { .space = space, .path = path,
				       .name = name };
	struct akin_reader *r;
	size_t n;
	int err;

	space_of(d.subject, space);
	path_of(d.session, path);
	files_name(file, name);
	err = akin_object_open(s, p->transactions[d.subject], &on, &r, diag);
	if (err)
		return err;
	err = akin_reader_read(r, 0, buf, p->bytes, &n, diag);
	akin_object_close(r);
	if (!err && n != p->bytes)
		err = measure_fail(diag, -AKIN_E_internal, "%s: short", name);
	return err;
}

static int pool_read(struct files_place *p, struct files_dir d,
		     struct akin_diag *diag)
{
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < FILES_BATCH; i++)
		err = read_one(p, p->pool.s, d, i, p->buf, diag);
	return err;
}

static int write_batch(struct akin_session *s, const char *space,
		       struct files_dir d, uint32_t nr,
		       const unsigned char *batch, size_t bytes,
		       struct akin_diag *diag)
{
	char path[FILES_NAME], name[FILES_NAME + 16];
	uint64_t transaction, stored = 0;
	uint32_t i;
	int err;

	files_path(d, path);
	err = akin_txn_begin(s, NULL, diag);
	if (err)
		return err;
	for (i = 0; !err && i < FILES_BATCH; i++) {
		snprintf(name, sizeof(name), "r%06u-%02u.nii", nr, i);
		err = send(s, space, path, name, batch + i * bytes, bytes,
			   diag);
	}
	return vote(s, err, &transaction, &stored, diag);
}

static int pool_write(struct files_place *p, struct files_dir d, uint32_t nr,
		      struct akin_diag *diag)
{
	return write_batch(p->pool.s, RESULTS, d, nr, p->batch, p->bytes, diag);
}

static int pool_copier_open(struct files_place *p, uint32_t copier,
			    struct akin_diag *diag)
{
	struct akin_session_options opt = {
		.version = AKIN_SESSION_VERSION, .path = p->pool.dir,
		.nr_threads = 1, .program = "akin bench",
	};

	return akin_session_open(&opt, &p->copiers[copier], diag);
}

static void pool_copier_close(struct files_place *p, uint32_t copier)
{
	akin_session_close(p->copiers[copier]);
	p->copiers[copier] = NULL;
}

static int pool_copy(struct files_place *p, struct files_dir d, uint32_t copier,
		     uint32_t nr, struct akin_diag *diag)
{
	struct akin_session *s = p->copiers[copier];
	unsigned char *batch = malloc(FILES_BATCH * p->bytes);
	char space[FILES_NAME];
	uint32_t i;
	int err = 0;

	if (!batch)
		return measure_fail(diag, -AKIN_E_nomem, "a copy");
	for (i = 0; !err && i < FILES_BATCH; i++)
		err = read_one(p, s, d, i, batch + i * p->bytes, diag);
	snprintf(space, sizeof(space), "copy-%u", copier);
	if (!err)
		err = write_batch(s, space, d, nr, batch, p->bytes, diag);
	free(batch);
	return err;
}

static void pool_close(struct files_place *p)
{
	measure_pool_close(&p->pool);
	files_release(p);
}

static const struct files_ops pool_ops = {
	.fill = pool_fill, .add_small = pool_add_small, .forget = pool_forget,
	.list = pool_list, .read = pool_read, .write = pool_write,
	.copy = pool_copy, .copier_open = pool_copier_open,
	.copier_close = pool_copier_close, .close = pool_close,
};

int files_open_pool(struct files_place *p, const struct measure_options *opt,
		    struct akin_diag *diag)
{
	struct akin_session_limits limits;
	int err;

	err = files_prepare(p, opt, diag);
	p->ops = &pool_ops;
	if (!err)
		err = measure_pool_open(&p->pool, opt, AKIN_VERIFY_DEFAULT,
					diag);
	if (err)
		return err;
	akin_session_get_limits(p->pool.s, &limits);
	if (p->nr_dir > limits.max_objects / FILES_SESSIONS)
		return measure_fail(diag, -AKIN_E_usage, "with that memory, "
				    "up to %u files", limits.max_objects /
				    FILES_SESSIONS * FILES_SESSIONS *
				    FILES_SUBJECTS);
	return 0;
}
