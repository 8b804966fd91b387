/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parity of containers: is it there, and, of containers that are read in full,
 * does every sector of them and of it say what it did when it was made?
 *
 * A sector that parity can make again harms no chunk: groups are read through
 * parity, as restores do. It is a finding all the same, because the next loss
 * might be one too many.
 */
#include "container/container_reader.h"
#include "verify/verify_internal.h"

static void say_sectors(struct verify *v, u64 number,
			const struct parity_report *r)
{
	u32 good = r->bad_sectors - r->hopeless;

	v->result->sectors_healable += good;
	if (r->bad_sectors)
		verify_found(v, VERIFY_CONTAINER, -AKIN_E_bad_checksum, NULL,
			     "container %llu: %u of %u sectors are damaged; "
			     "its parity makes up for %s",
			     (unsigned long long)number, r->bad_sectors,
			     r->nr_sectors, !good ? "none of them" :
			     r->hopeless ? "some of them" : "that");
	else if (r->bad_length)
		verify_found(v, VERIFY_CONTAINER, -AKIN_E_bad_length, NULL,
			     "container %llu: something stands behind its end",
			     (unsigned long long)number);
	if (!r->bad_parity && !r->bad_copy)
		return;
	v->result->parity_damaged++;
	verify_found(v, VERIFY_CONTAINER, -AKIN_E_bad_checksum, NULL,
		     "container %llu: its parity is damaged (%u of %u sectors"
		     "%s)", (unsigned long long)number, r->bad_parity,
		     r->nr_parity, r->bad_copy ? ", head or table" : "");
}

static bool is_bad(const struct parity_report *r)
{
	return r->bad_sectors || r->bad_length || r->bad_parity || r->bad_copy;
}

/* 0 and *none_ret: there is no parity, or what there is cannot be used. */
static int scan(struct verify *v, struct container_reader *r, u32 *nr_bad_ret,
		bool *none_ret, struct akin_diag *diag)
{
	u64 number = container_directory(r)->container;
	struct parity_report report = { 0 };
	struct akin_diag why = { 0 };
	int err;

	err = container_check_parity(r, &report, &why);
	*none_ret = err != 0;
	if (err == -AKIN_E_absent)
		return 0;
	*nr_bad_ret = err ? 1 : report.bad_sectors + report.bad_length +
				report.bad_parity + report.bad_copy;
	if (numset_has(&v->parity_told, number))
		return err && !verify_is_damage(err) ?
		       diag_pass(diag, err, &why) : 0;
	v->result->parity_damaged += err != 0;
	err = verify_settle(v, VERIFY_CONTAINER, err, &why, diag, "%s", "");
	if (err)
		return err;
	if (!*none_ret)
		say_sectors(v, number, &report);
	if ((*none_ret || is_bad(&report)) &&
	    numset_add(&v->parity_told, number))
		return diag_set(diag, -AKIN_E_nomem, "check");
	return 0;
}

int verify_parity(struct verify *v, struct container_reader *r, bool read,
		  u32 *nr_bad_ret, struct akin_diag *diag)
{
	const struct directory *d = container_directory(r);
	char name[FORMAT_NAME_MAX];
	struct disk_stat st;
	bool none;
	int err = 0;

	*nr_bad_ret = 0;
	if (read || container_reader_healed(r)) {
		err = scan(v, r, nr_bad_ret, &none, diag);
	} else {
		format_parity_name(d->container, d->generation, name);
		none = disk_stat(v->depot->data, name, &st, NULL) != 0;
	}
	if (!err)
		v->result->parity_containers += !none;
	return err;
}

void verify_parity_end(struct verify *v)
{
	const struct verify_result *r = v->result;

	if (v->depot->super.parity && r->parity_containers < r->containers)
		verify_remark(v, VERIFY_POOL, "%llu of %llu containers have no "
			      "parity",
			      (unsigned long long)(r->containers -
						   r->parity_containers),
			      (unsigned long long)r->containers);
}
