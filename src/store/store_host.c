/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine at a time, where several can reach a pool.
 *
 * Locks say who is there; but on a network file system those of another machine
 * may not be seen, and neither may what it has just written. So there the file
 * "locks" also says, in a line of text, which machine uses the pool:
 *
 *	free
 *	used BOOT MACHINE NAME		32 and 16 hexadecimal digits, a host's
 *					name; see os/machine.h
 *
 * It is written before a machine's first handle writes anything, and again when
 * its last one is closed. Whoever finds another machine in it is refused: that
 * machine is there, or has died, and which of the two nobody can know without
 * clocks. --single-writer is the answer of somebody who does know.
 *
 *	byte HOST_BYTE	read lock: a writing handle of the machine in the file;
 *			write lock: the file is being changed
 *	byte TEST_BYTE	read lock, for a moment: are locks kept?
 *
 * Nothing of this is done on file systems that one kernel has for itself
 * (disk_shared()), nor by handles that only read: at worst these find that
 * something has gone.
 *
 * The file that is locked is the one that says who: taking a lock makes NFS
 * drop what it remembers of that file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "os/machine.h"
#include "store/store.h"

#define HOST_BYTE (((u64)1 << 62) - 3)
#define TEST_BYTE (HOST_BYTE - 1)

/* Always written whole; the rest of it is newlines. */
#define LINE_BYTES 128
static_assert(sizeof("used ") + 32 + 1 + 16 + 1 + MACHINE_NAME_MAX <
		      LINE_BYTES, "the line must hold any machine");

/* Another handle of this machine may be changing the file: so many looks, so
 * many milliseconds apart, which is ample for two writes and syncs. */
#define TRIES 50
#define NAP_MS 20

struct user {
	bool used, known;
	struct machine machine;
};

static bool parse_hex(const char *text, size_t n, u64 *out)
{
	static const char digits[] = "0123456789abcdef";
	const char *at;
	size_t i;

	*out = 0;
	for (i = 0; i < n; i++) {
		at = text[i] ? strchr(digits, text[i]) : NULL;
		if (!at)
			return false;
		*out = *out << 4 | (u64)(at - digits);
	}
	return true;
}

/* @text has LINE_BYTES and a zero behind them. */
static bool parse_used(const char *text, struct machine *m)
{
	const char *boot = text + 5, *id = boot + 33, *name = id + 17;
	size_t len, i;
	u64 half[2];

	if (strncmp(text, "used ", 5) || boot[32] != ' ' || id[16] != ' ' ||
	    !parse_hex(boot, 16, &half[0]) ||
	    !parse_hex(boot + 16, 16, &half[1]) || !parse_hex(id, 16, &m->id))
		return false;
	for (i = 0; i < sizeof(m->boot); i++)
		m->boot[i] = (u8)(half[i / 8] >> (56 - i % 8 * 8));
	len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			   "0123456789._-");
	if (len == 0 || len > MACHINE_NAME_MAX || name[len] != '\n')
		return false;
	memcpy(m->name, name, len);
	m->name[len] = '\0';
	return true;
}

static int read_user(struct akin_pool *p, struct user *out,
		     struct akin_diag *diag)
{
	char text[LINE_BYTES + 1] = "";
	u64 size;
	int err;

	memset(out, 0, sizeof(*out));
	err = file_size(p->locks, &size, diag);
	if (err || size == 0)
		return err;
	err = file_pread(p->locks, text, (size_t)min_u64(size, LINE_BYTES), 0,
			 diag);
	if (err || strncmp(text, "free\n", 5) == 0)
		return err;
	/* Whatever it is, somebody may be there. */
	out->used = true;
	out->known = parse_used(text, &out->machine);
	return 0;
}

/* @m NULL: free. Durable on return. */
static int write_user(struct akin_pool *p, const struct machine *m,
		      struct akin_diag *diag)
{
	char text[LINE_BYTES + 1];
	size_t i, len;
	int n, err;

	memset(text, '\n', sizeof(text));
	n = snprintf(text, sizeof(text), m ? "used " : "free");
	len = (size_t)n;
	for (i = 0; m && i < sizeof(m->boot); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%02x",
					m->boot[i]);
	if (m)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					" %016" PRIx64 " %s", m->id, m->name);
	text[len] = '\n';	/* over the zero */
	err = file_pwrite(p->locks, text, LINE_BYTES, 0, diag);
	return err ? err : file_sync(p->locks, diag);
}

/* Some file systems grant every lock to everybody. */
static int test_locks(struct akin_pool *p, struct akin_diag *diag)
{
	u64 off, len = 0;
	struct file *f;
	int err;

	err = file_lock(p->locks, DISK_LOCK_READ, TEST_BYTE, 1, diag);
	if (err || p->single_writer)
		return err;
	err = disk_open(p->meta, FILE_LOCKS, 0, &f, diag);
	if (err)
		return err;
	err = file_lock_test(f, DISK_LOCK_WRITE, TEST_BYTE, 1, &off, &len,
			     diag);
	ignore_result(file_close(f, NULL));	/* was only read */
	ignore_result(file_lock(p->locks, DISK_LOCK_NONE, TEST_BYTE, 1, NULL));
	if (!err && !len)
		return diag_set(diag, -AKIN_E_no_locks, "%s pool: the file "
				"system grants locks and does not keep them",
				p->meta->label);
	return err;
}

static int refuse(const struct user *u, bool held, struct akin_diag *diag)
{
	const char *name = u->known ? u->machine.name : "an unknown machine";

	if (held)
		return diag_set(diag, -AKIN_E_busy, "%s is using the pool",
				u->used ? name : "another machine");
	(void)diag_set(diag, -AKIN_E_busy, "%s is using the pool, or has died "
		       "while it did", name);
	diag_hint(diag, "Only one machine may use a pool at a time. If nothing "
		  "runs there any more, say --single-writer once.");
	return -AKIN_E_busy;
}

/* HOST_BYTE is locked for writing. */
static int take(struct akin_pool *p, const struct machine *me,
		struct akin_diag *diag)
{
	struct user u;
	int err;

	err = read_user(p, &u, diag);
	if (err)
		return err;
	if (u.used && !p->single_writer &&
	    (!u.known || !machine_same(&u.machine, me)))
		return refuse(&u, false, diag);
	err = write_user(p, me, diag);
	return err ? err : file_lock(p->locks, DISK_LOCK_READ, HOST_BYTE, 1,
				     diag);
}

/* 1: done; 0: somebody holds the byte, look again; or an error. */
static int try_enter(struct akin_pool *p, const struct machine *me,
		     struct user *u, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err;

	err = file_lock(p->locks, DISK_LOCK_READ, HOST_BYTE, 1, &why);
	if (err == -AKIN_E_busy)
		return 0;
	if (!err)
		err = read_user(p, u, &why);
	if (!err && u->used && u->known && machine_same(&u->machine, me))
		return 1;
	/* Not from one lock to the other: two who want that wait for ever. */
	if (!err)
		err = file_lock(p->locks, DISK_LOCK_NONE, HOST_BYTE, 1, &why);
	if (!err)
		err = file_lock(p->locks, DISK_LOCK_WRITE, HOST_BYTE, 1, &why);
	if (err == -AKIN_E_busy)
		return 0;
	if (!err)
		err = take(p, me, &why);
	if (!err)
		return 1;
	ignore_result(file_lock(p->locks, DISK_LOCK_NONE, HOST_BYTE, 1, NULL));
	return diag_pass(diag, err, &why);
}

static int open_locks(struct akin_pool *p, struct akin_diag *diag)
{
	struct akin_diag why = { 0 };
	int err;

	if (p->locks)
		return 0;
	err = disk_open(p->meta, FILE_LOCKS, DISK_WRITE, &p->locks, &why);
	if (err == -AKIN_E_absent) {
		/* Whoever needs it will say so. */
		p->locks = NULL;
		return 0;
	}
	return diag_pass(diag, err, &why);
}

int store_host_enter(struct akin_pool *p, struct akin_diag *diag)
{
	const struct timespec nap = { 0, NAP_MS * 1000000L };
	struct user u = { 0 };
	struct machine me;
	int err, tries;

	if (p->read_only || p->rehearse || p->entered ||
	    !disk_shared(p->meta, &me))
		return 0;
	err = open_locks(p, diag);
	if (err || !p->locks)
		return err;
	err = test_locks(p, diag);
	for (tries = 0; !err && tries < TRIES; tries++) {
		if (tries)
			(void)nanosleep(&nap, NULL);
		err = try_enter(p, &me, &u, diag);
	}
	if (!err)
		return refuse(&u, true, diag);
	p->entered = err == 1;
	return err == 1 ? 0 : err;
}

int store_host_lock(struct akin_pool *p, struct akin_diag *diag)
{
	if (!p->entered)
		return 0;
	return file_lock(p->locks, DISK_LOCK_READ, HOST_BYTE, 1, diag);
}

void store_host_leave(struct akin_pool *p)
{
	if (!p->entered ||
	    file_lock(p->locks, DISK_LOCK_WRITE, HOST_BYTE, 1, NULL))
		return;
	/* If this fails, it stays ours. */
	ignore_result(write_user(p, NULL, NULL));
	p->entered = false;
}
