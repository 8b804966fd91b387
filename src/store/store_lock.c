/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel locks: nothing in them can be stale, because the kernel drops them
 * with the process. See docs/design/protocol.md.
 *
 *	byte N			a reader or writer that started from
 *				transaction N (read lock)
 *	byte GC_BYTE		somebody reclaims (write lock)
 *	byte SIMILAR_BYTE	somebody replaces the similarity table (write
 *				lock)
 *	bytes before it		see store_host.c
 *	byte SESSION_BASE + S	session S lives (write lock)
 */
#include "catalog/catalog_gc.h"
#include "store/store.h"

#define SESSION_BASE ((u64)1 << 62)
/* No transaction gets this number. */
#define GC_BYTE (SESSION_BASE - 1)
#define SIMILAR_BYTE (SESSION_BASE - 2)

/*
 * What is condemned later than this look was so after the lock, and is kept
 * until the lock goes; what was condemned before may be deleted at any time.
 */
static int look(struct akin_pool *p, struct akin_diag *diag)
{
	struct catalog_numbers n;
	int err;

	err = catalog_numbers(p->catalog, &n, diag);
	if (err)
		return err;
	p->view = n.txn;
	p->view_container = n.last_container;
	return 0;
}

int store_lock_open(struct akin_pool *p, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err = 0;

	if (!p->locks)
		err = disk_open(p->meta, FILE_LOCKS,
				p->read_only || p->rehearse ? 0 : DISK_WRITE,
				&p->locks, &why);
	if (err == -AKIN_E_absent && p->read_only) {
		p->locks = NULL;
		return 0;
	}
	if (err)
		ignore_result(diag_pass(diag, err, &why));
	if (err == -AKIN_E_absent)
		diag_hint(diag, "'akin repair' makes it anew.");
	if (err)
		return err;
	err = catalog_txn(p->catalog, &p->txn, diag);
	if (err)
		return err;
	err = file_lock(p->locks, DISK_LOCK_READ, p->txn, 1, &why);
	/* On media that nobody can write, nothing will be deleted either. */
	if (err && !p->read_only && !p->rehearse)
		return diag_pass(diag, err, &why);
	return look(p, diag);
}

int store_lock_move(struct akin_pool *p, struct akin_diag *diag)
{
	u64 old = p->txn, txn;
	int err;

	err = catalog_txn(p->catalog, &txn, diag);
	/* What happens in a rehearsal has happened to nobody else: the pool's
	 * files need the lock from before it. */
	if (p->rehearse)
		txn = old;
	if (!err && txn != old)
		err = file_lock(p->locks, DISK_LOCK_READ, txn, 1, diag);
	if (err)
		return err;
	p->txn = txn;
	err = look(p, diag);
	/* What was read under the old lock may go now. */
	dircache_clear(p->depot.dirs);
	groupcache_clear(p->depot.groups);
	if (txn != old)
		/* Held too long, if this fails: that harms nobody. */
		ignore_result(file_lock(p->locks, DISK_LOCK_NONE, old, 1,
					NULL));
	return err;
}

int store_locked_below(struct akin_pool *p, u64 txn, u64 *txn_ret,
		       struct akin_diag *diag)
{
	u64 off = 0, len = 0;
	int err = 0;

	*txn_ret = 0;
	if (txn && !p->rehearse)
		err = file_lock_test(p->locks, DISK_LOCK_WRITE, 0, txn, &off,
				     &len, diag);
	/* Byte 0 is locked by who came before anything was committed, and
	 * nothing was condemned then either. */
	if (!err && len)
		*txn_ret = max_u64(off, 1);
	return err;
}

int store_lock_gc(struct akin_pool *p, bool take, struct akin_diag *diag)
{
	int err;

	if (p->rehearse)
		return 0;
	err = file_lock(p->locks, take ? DISK_LOCK_WRITE : DISK_LOCK_NONE,
			GC_BYTE, 1, NULL);
	if (err == -AKIN_E_busy)
		return diag_set(diag, err, "the pool is being reclaimed by "
				"somebody else");
	return err ? diag_set(diag, err, "the pool's locks") : 0;
}

int store_lock_all(struct akin_pool *p, struct akin_diag *diag)
{
	int err;

	err = disk_open(p->meta, FILE_LOCKS, DISK_WRITE | DISK_CREATE,
			&p->locks, diag);
	if (err)
		return err;
	err = file_lock(p->locks, DISK_LOCK_WRITE, 0, 0, NULL);
	if (err == -AKIN_E_busy)
		return diag_set(diag, err, "somebody else is using the pool");
	return err ? diag_set(diag, err, "the pool's locks") : 0;
}

int store_unlock_all(struct akin_pool *p, struct akin_diag *diag)
{
	int err;

	err = file_lock(p->locks, DISK_LOCK_NONE, p->txn + 1, 0, diag);
	if (!err && p->txn)
		err = file_lock(p->locks, DISK_LOCK_NONE, 0, p->txn, diag);
	if (!err)
		err = store_host_lock(p, diag);
	return err ? err : file_lock(p->locks, DISK_LOCK_READ, p->txn, 1, diag);
}

int store_lock_writers(struct akin_pool *p, bool take, struct akin_diag *diag)
{
	int err;

	err = file_lock(p->locks, take ? DISK_LOCK_WRITE : DISK_LOCK_NONE,
			SESSION_BASE, CATALOG_NUMBER_MAX, NULL);
	if (err == -AKIN_E_busy)
		return diag_set(diag, err, "a backup is running");
	return err ? diag_set(diag, err, "the pool's locks") : 0;
}

int store_lock_similar(struct akin_pool *p, bool take)
{
	return file_lock(p->locks, take ? DISK_LOCK_WRITE : DISK_LOCK_NONE,
			 SIMILAR_BYTE, 1, NULL);
}

int store_generation(void *pool, u64 container, u32 *generation_ret,
		     struct akin_diag *diag)
{
	struct akin_pool *p = pool;
	_Atomic u64 *gone = &p->gone[container % STORE_GONE];
	struct catalog_container row;
	struct akin_diag why = { 0 };
	int err;

	if (atomic_load(gone) == container)
		return diag_set(diag, -AKIN_E_absent,
				"container %llu has been reclaimed",
				(unsigned long long)container);
	err = catalog_visible(p->catalog, container, p->view, &row, &why);
	if (err == -AKIN_E_absent && container > p->view_container) {
		/* A session's own, which no catalog names yet. */
		*generation_ret = 0;
		return 0;
	}
	if (err == -AKIN_E_absent)
		atomic_store(gone, container);
	if (err)
		return diag_pass(diag, err, &why);
	*generation_ret = row.generation;
	return 0;
}

int store_lock_session(void *pool, u64 number, u64 txn,
		       struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	struct akin_pool *p = pool;
	int err = 0;

	if (!p->rehearse)
		err = file_lock(p->locks, DISK_LOCK_WRITE,
				SESSION_BASE + number, 1, &why);
	if (!err)
		p->locked_session = number;
	/* The number is new: only who keeps all from beginning has it. */
	if (err == -AKIN_E_busy)
		return diag_set(diag, err, "the pool is being repaired");
	return diag_pass(diag, err, &why);
}

void store_unlock_session(struct akin_pool *p, u64 number)
{
	/* Held until the file is closed, if this fails. */
	if (!p->rehearse)
		ignore_result(file_lock(p->locks, DISK_LOCK_NONE,
					SESSION_BASE + number, 1, NULL));
	p->locked_session = 0;
}

int store_session_ended(void *pool, u64 number)
{
	struct akin_pool *p = pool;
	u64 off, len;

	if (!p->locks || (p->rehearse && number == p->locked_session) ||
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
