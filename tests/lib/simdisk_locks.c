/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte range locks owned by open files, with the semantics of OFD locks: an
 * open file never conflicts with itself, a new lock replaces what it had
 * there, and locks of one kind that touch become one.
 */
#include "simdisk_internal.h"

static bool conflicts(const struct sim_lock *l, const struct sim_file *f,
		      enum disk_lock kind, u64 off, u64 end)
{
	if (f->at->sd->locks == SIM_LOCKS_LOCAL &&
	    !machine_same(&l->owner->at->me, &f->at->me))
		return false;
	return l->owner != f && l->off < end && off < l->end &&
	       (l->kind == DISK_LOCK_WRITE || kind == DISK_LOCK_WRITE);
}

static void lock_add(struct sim_inode *in, struct sim_lock lock)
{
	in->locks = sim_grow(in->locks, in->nr_locks, &in->cap_locks,
			     sizeof(*in->locks));
	in->locks[in->nr_locks++] = lock;
}

static void lock_remove(struct sim_inode *in, size_t i)
{
	in->locks[i] = in->locks[--in->nr_locks];
}

/* Take [off, end) out of what @f holds. */
static void lock_clear(struct sim_file *f, u64 off, u64 end)
{
	struct sim_inode *in = f->inode;
	struct sim_lock old;
	size_t i = 0;

	while (i < in->nr_locks) {
		old = in->locks[i];
		if (old.owner != f || old.off >= end || off >= old.end) {
			i++;
			continue;
		}
		lock_remove(in, i);
		if (old.off < off)
			lock_add(in, (struct sim_lock){ f, old.kind, old.off,
							off });
		if (end < old.end)
			lock_add(in, (struct sim_lock){ f, old.kind, end,
							old.end });
		i = 0;
	}
}

int sim_lock_set(struct sim_file *f, enum disk_lock kind, u64 off, u64 end)
{
	struct sim_inode *in = f->inode;
	struct sim_lock new = { f, kind, off, end }, *l;
	size_t i;

	if (f->at->sd->locks == SIM_LOCKS_NONE)
		return -AKIN_E_no_locks;
	if (f->at->sd->locks == SIM_LOCKS_LIE)
		return 0;
	if (kind == DISK_LOCK_NONE) {
		lock_clear(f, off, end);
		return 0;
	}
	for (i = 0; i < in->nr_locks; i++) {
		if (conflicts(&in->locks[i], f, kind, off, end))
			return -AKIN_E_busy;
	}
	lock_clear(f, off, end);
	for (i = 0; i < in->nr_locks;) {
		l = &in->locks[i];
		if (l->owner == f && l->kind == kind &&
		    (l->end == off || l->off == end)) {
			new.off = min_u64(new.off, l->off);
			new.end = max_u64(new.end, l->end);
			lock_remove(in, i);
		} else {
			i++;
		}
	}
	lock_add(in, new);
	return 0;
}

bool sim_lock_find(struct sim_file *f, enum disk_lock kind, u64 off, u64 end,
		   u64 *off_ret, u64 *len_ret)
{
	struct sim_inode *in = f->inode;
	struct sim_lock *l;
	bool found = false;
	u64 first;
	size_t i;

	for (i = 0; i < in->nr_locks; i++) {
		l = &in->locks[i];
		if (!conflicts(l, f, kind, off, end))
			continue;
		first = max_u64(l->off, off);
		if (found && first >= *off_ret)
			continue;
		found = true;
		*off_ret = first;
		*len_ret = min_u64(l->end, end) - first;
	}
	return found;
}

void sim_lock_drop(struct sim_file *f)
{
	lock_clear(f, 0, SIM_LOCK_END);
}
