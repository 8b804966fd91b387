/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel locks: nothing in them can be stale, because the kernel drops them
 * with the process. See docs/design/protocol.md.
 *
 *	byte N			a reader or writer that started from
 *				transaction N (read lock)
 *	byte SESSION_BASE + S	session S lives (write lock)
 */
#include "store/store.h"

#define SESSION_BASE ((u64)1 << 62)

int store_lock_open(struct akin_pool *p, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err;

	err = disk_open(p->meta, FILE_LOCKS, p->read_only ? 0 : DISK_WRITE,
			&p->locks, &why);
	if (err == -AKIN_E_absent && p->read_only) {
		p->locks = NULL;
		return 0;
	}
	if (err)
		return diag_set(diag, err, "%s", why.text);
	err = catalog_txn(p->catalog, &p->txn, diag);
	if (err)
		return err;
	err = file_lock(p->locks, DISK_LOCK_READ, p->txn, 1, &why);
	/* On media that nobody can write, nothing will be deleted either. */
	if (err && !p->read_only)
		return diag_set(diag, err, "%s", why.text);
	return 0;
}

int store_lock_session(void *pool, u64 number, u64 txn,
		       struct akin_diag *diag)
{
	struct akin_pool *p = pool;
	int err;

	err = file_lock(p->locks, DISK_LOCK_WRITE, SESSION_BASE + number, 1,
			diag);
	if (!err)
		p->locked_session = number;
	return err;
}

void store_unlock_session(struct akin_pool *p, u64 number)
{
	/* Held until the file is closed, if this fails. */
	ignore_result(file_lock(p->locks, DISK_LOCK_NONE,
				SESSION_BASE + number, 1, NULL));
	p->locked_session = 0;
}

int store_session_ended(void *pool, u64 number)
{
	struct akin_pool *p = pool;
	u64 off, len;

	if (!p->locks ||
	    file_lock_test(p->locks, DISK_LOCK_WRITE, SESSION_BASE + number,
			   1, &off, &len, NULL))
		return 0;
	return len == 0;
}

bool store_lives_alone(struct akin_pool *p)
{
	u64 off, len;

	if (!p->locks ||
	    file_lock_test(p->locks, DISK_LOCK_WRITE, SESSION_BASE,
			   CATALOG_NUMBER_MAX, &off, &len, NULL))
		return false;
	return len == 0;
}
