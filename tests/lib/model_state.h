/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reclaim protocol as an explicit-state model.
 *
 * One `struct mstate` is a whole store at one moment: the files of the data
 * pool, the catalog, the locks, and where each of three actors stands in its
 * program. An actor's program is a list of atomic steps; model_explore()
 * walks every interleaving of them, breadth first, and checks the invariants
 * of model_check.c in every state it meets. docs/design/protocol.md tells the
 * protocol in words; the steps here are the same, in the same order.
 *
 * What is small on purpose: containers of two entries, two generations of
 * each, one reference per container, chunks that are single bits, a recipe
 * that is a set of chunks. What is left out: metadata containers (they obey
 * the rules of data containers), index runs (caches), damage.
 *
 *   container c   number c; files 2c (first generation) and 2c + 1
 *   place p       entry p & 1 of container p >> 1; a bit in a set of places
 *   chunk         a bit in a set of chunks; fp[p] is the chunk at place p
 *
 * Invariants are numbered in enum mbad. Nothing here is thread safe, nothing
 * is shared: two explorations may run in two threads.
 */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include <stdio.h>

#include "base/types.h"

#define M_CONTAINERS 4
#define M_FILES (2 * M_CONTAINERS)
#define M_PLACES (2 * M_CONTAINERS)
#define M_SNAPS 3
#define M_ACTORS 3
/* 0: of old, ended; 1..3: the actors; 4..6: the actors after a crash. */
#define M_SESSIONS 7
#define M_ENV M_ACTORS		/* "actor" of kills and crashes, in traces */

/* struct mfile flags. EXISTS is what a process sees now, DURABLE what a crash
 * leaves: a new file has only the first, a fresh unlink only the second. */
#define MF_EXISTS  0x1
#define MF_DURABLE 0x2
#define MF_NAMED   0x4		/* the catalog has a row for it */
#define MF_CURRENT 0x8		/* and it is its container's generation */

/* One generation of one container. */
struct mfile {
	u8 has;			/* set of places, all of this container */
	u8 base;		/* set of places, of smaller containers */
	u8 flags;
	u8 cond;		/* number of the condemning transaction or 0 */
	u8 sess;		/* who writes it, from its header */
};

/* struct msnap flags. The last two are what the user has been told. */
#define MS_RECORD   0x01	/* sealed record, durable */
#define MS_TOMB     0x02	/* tombstone, durable */
#define MS_LIVE     0x04	/* catalog: a snapshot */
#define MS_GONE     0x08	/* catalog: forgotten */
#define MS_ACK      0x10	/* told: it is there */
#define MS_ACK_GONE 0x20	/* told: it is forgotten */
/* And for MODEL_UNDELETE_SINCE: condemned since, or nobody knows. */
#define MS_LOST     0x40

struct msnap {
	u8 need;		/* set of chunks */
	u8 hints;		/* set of containers */
	u8 flags;
	u8 sess;
};

enum mkind {
	MK_NONE,
	MK_WRITER,
	MK_WRITER2,
	MK_READER,
	MK_GC,
	MK_GC2,
	MK_FORGET,
	MK_UNDELETE,
	MK_OPTIMIZE,
	MK_NR
};

/* Positions in the programs; MP_START and MP_DONE are common. */
enum mpc {
	MP_START,
	MP_W_MATCH, MP_W_STORE, MP_W_SYNC, MP_W_CHECKPOINT, MP_W_RECORD,
	MP_W_COMMIT, MP_W_LATE, MP_W_ACK,
	MP_O_STORE, MP_O_SYNC, MP_O_COMMIT,
	MP_R_LOCK, MP_R_VIEW, MP_R_READ,
	MP_G_MARK, MP_G_COPY, MP_G_SYNC, MP_G_EARLY, MP_G_CONDEMN, MP_G_MOVE,
	MP_G_TEST, MP_G_TOMB, MP_G_UNNAME, MP_G_UNLINK,
	MP_F_TOMB, MP_F_CATALOG, MP_F_ACK,
	MP_U_COMMIT, MP_U_VOID, MP_U_ACK,
	MP_DONE
};

struct mactor {
	u8 kind, pc;
	u8 lock;		/* number of the byte it holds, or 0 */
	u8 sess;
	u8 places;		/* session: matched and bases; gc: kept */
	u8 files;		/* reader: reads; gc: condemns, unlinks */
	u8 num;			/* a transaction number */
	u8 aux;			/* container + 1 it writes, or 0 */
	u8 set;			/* session: chunks to store, then to revive */
};

struct mstate {
	struct mfile file[M_FILES];
	u8 fp[M_PLACES];
	struct msnap snap[M_SNAPS];
	u8 checkpoint[M_SESSIONS];	/* places, roots until dropped */
	u8 pin[M_SESSIONS];		/* snapshots it takes trees from */
	struct mactor actor[M_ACTORS];
	u8 seq;			/* number of the last transaction */
	u8 grown;		/* of the last one that added a root */
	u8 next_container;
	u8 wlock;		/* catalog's write lock: actor + 1 or 0 */
	u8 kills, crashes;	/* faults still to come */
	u8 epoch;		/* 1 after the crash */
	u8 bad;			/* a step itself went wrong: enum mbad */
};
static_assert(sizeof(struct mstate) <= 128, "millions of them are kept");

/* What is violated. */
enum mbad {
	MB_NONE,
	MB_I1_SNAPSHOT,		/* a listed snapshot cannot be restored */
	MB_I1_BASE,		/* a container stands on a condemned one */
	MB_I2_SESSION,		/* data of a living session is gone */
	MB_I2_CHECKPOINT,	/* data of a checkpoint is gone */
	MB_I2_READER,		/* a reader's data is gone */
	MB_I4_LOST,		/* acknowledged, yet not listed */
	MB_I4_RECORD,		/* listed, but a rebuild would not find it */
	MB_I4_PARTIAL,		/* record without tombstone, and not whole */
	MB_I4_GHOST,		/* forgotten, but a rebuild would list it */
	MB_STUCK,		/* nobody can take a step */
	MB_LEAK,		/* space that reclaim does not get back */
	MB_TOO_BIG,		/* the exploration ran out of states */
	MB_NR
};

/* Protections that can be switched off, one bit each. */
#define MODEL_NO_REVIVE            (1ull << 0)
#define MODEL_NO_COMMIT_RECHECK    (1ull << 1)
#define MODEL_NO_CHECKPOINT_REVIVE (1ull << 2)
#define MODEL_NO_CHECKPOINT_ROOT   (1ull << 3)
#define MODEL_NO_ROOT_COMPARE      (1ull << 4)
#define MODEL_TWO_GC_NO_CHECK      (1ull << 5)
#define MODEL_NO_LOCK_TEST         (1ull << 6)
#define MODEL_TEST_BEFORE_CONDEMN  (1ull << 7)
#define MODEL_NO_READER_RECHECK    (1ull << 8)
#define MODEL_READ_CONDEMNED       (1ull << 9)
#define MODEL_MATCH_CONDEMNED      (1ull << 10)
#define MODEL_NO_TOMBSTONE_FIRST   (1ull << 11)
#define MODEL_NO_RECORD_TOMBSTONE  (1ull << 12)
#define MODEL_TOMBSTONE_LIVING     (1ull << 13)
#define MODEL_LATE_ORPHANS         (1ull << 14)
#define MODEL_ORPHANS_LIVING       (1ull << 15)
#define MODEL_NO_SYNC              (1ull << 16)
#define MODEL_RECORD_LATE          (1ull << 17)
#define MODEL_FORGET_TOMB_FIRST    (1ull << 18)
#define MODEL_TOMB_UNCHECKED       (1ull << 19)
#define MODEL_UNDELETE_UNCHECKED   (1ull << 20)
#define MODEL_VOID_LATE            (1ull << 21)
#define MODEL_UNDELETE_NOT_ROOT    (1ull << 22)
#define MODEL_NO_PIN               (1ull << 23)
#define MODEL_NO_BASE_CLOSURE      (1ull << 24)
#define MODEL_NO_OLD_GENERATION    (1ull << 25)
#define MODEL_NO_GC_LOCK           (1ull << 26)
#define MODEL_BASES_FIRST          (1ull << 27)
#define MODEL_UNNAME_REVIVED       (1ull << 28)
#define MODEL_CHECKPOINT_UNSEEN    (1ull << 29)
#define MODEL_UNDELETE_NO_WLOCK    (1ull << 30)
#define MODEL_GC_KEEPS_LOCK        (1ull << 31)
#define MODEL_HINTS_NOT_ROOT       (1ull << 32)
/* Variants that are meant to keep every promise. */
#define MODEL_ONE_GC               (1ull << 41)
#define MODEL_UNLINK_FIRST         (1ull << 42)
#define MODEL_READER_RESTARTS      (1ull << 43)
#define MODEL_ANY_CHANGE_REMARKS   (1ull << 44)
#define MODEL_UNDELETE_SINCE       (1ull << 45)

enum msetup {
	MODEL_LIVE,		/* one snapshot, listed */
	MODEL_FORGOTTEN,	/* the same, forgotten and its tombstone there */
	MODEL_COPIES,		/* listed, and one of its chunks is there twice */
	MODEL_MIXED,		/* forgotten, but half of it is another's */
};

struct model {
	enum mkind kinds[M_ACTORS];
	enum msetup setup;
	u64 off;		/* MODEL_* */
	u8 kills;		/* processes that may die, anywhere */
	bool crash;		/* the machine may crash, anywhere, once */
	bool loss;		/* and the metadata pool be lost with it */
	bool resume;		/* and a writer go on after it, beside a gc */
	bool copy;		/* gc copies forward */
	bool batches;		/* gc condemns one container at a time */
	bool checkpoints;	/* writers make one (or not: both are tried) */
	bool pins;		/* writers take trees whole (or not) */
	bool lenient;		/* do not judge MB_I1_BASE: wait for the loss */
};

struct model_result {
	enum mbad bad;
	u32 nr_states;
	u32 nr_ends;		/* states in which everybody is done */
	u32 depth;		/* steps of the longest path or the trace */
};

/*
 * Walk all interleavings; stops at the first violation, which has the fewest
 * steps of all. If @trace is not NULL its steps are printed there. Returns 0
 * or -AKIN_E_nomem.
 */
int model_explore(const struct model *m, FILE *trace,
		  struct model_result *out) __must_check;

const char *model_kind_name(enum mkind kind);
const char *model_bad_name(enum mbad bad);
void model_print_state(FILE *out, const struct mstate *s);
void model_init_state(const struct model *m, struct mstate *s);

/* One step under construction. */
typedef void model_emit_fn(void *ctx, const struct mstate *next, u8 actor,
			   const char *label);
struct mstep {
	const struct model *m;
	const struct mstate *s;
	u8 who;
	model_emit_fn *emit;
	void *ctx;
};

/* Emit every state one step of actor @st->who away; none if it is done or must
 * wait. */
void model_step_actor(struct mstep *st);
void model_step_session(struct mstep *st);	/* writers, optimizer */
void model_step_reader(struct mstep *st);
void model_step_gc(struct mstep *st);
void model_step_forget(struct mstep *st);
void model_step_undelete(struct mstep *st);
/* Kills and crashes. */
void model_step_faults(struct mstep *st);

enum mbad model_check(const struct model *m, const struct mstate *s);
/* For a state in which every actor is done: can all space be reclaimed? */
enum mbad model_check_end(const struct model *m, const struct mstate *s);

/* The store, model_store.c. */
static inline bool model_off(const struct model *m, u64 flag)
{
	return (m->off & flag) != 0;
}

static inline u8 model_container_places(unsigned c)
{
	return (u8)(3u << (2 * c));
}

static inline struct mactor *model_me(struct mstate *s, unsigned who)
{
	return &s->actor[who];
}

/* File that the catalog names as @c's generation, or -1. */
int model_current(const struct mstate *s, unsigned c);
bool model_alive(const struct mstate *s, u8 sess);
/* Chunks at @places. */
u8 model_chunks(const struct mstate *s, u8 places);
/* Places that decode through the catalog, over files with all of @flags. */
u8 model_readable(const struct mstate *s, u8 flags, bool condemned_too);
/* Places that decode from the bare data pool; files chosen in @files_ret. */
u8 model_found(const struct mstate *s, u8 flags, u8 *files_ret);
/* Places that decode over any named generation. */
u8 model_reach(const struct mstate *s);
/* What a session or reader that holds @lock may use. */
u8 model_visible(const struct mstate *s, u8 lock, bool condemned_too);
/* @places and all they stand on, in the current generations. */
u8 model_closure(const struct mstate *s, u8 places);
u8 model_current_files(const struct mstate *s, u8 places);
enum mpick { PICK_HINT, PICK_OLDEST };
/* One place out of @usable for each chunk of @need. */
u8 model_pick(const struct mstate *s, u8 need, u8 hints, u8 usable,
	      enum mpick how);
u8 model_mark(const struct model *m, const struct mstate *s, enum mpick how);
/* Within transaction s->seq: lift what condemns @places and their bases. */
void model_revive(const struct model *m, struct mstate *s, u8 places);
/* Condemned files that model_revive() would lift now. */
u8 model_would_revive(const struct model *m, const struct mstate *s,
		      u8 places);
void model_rebuild(struct mstate *s);
void model_end_actor(struct mstate *s, unsigned who);
/* Rename the transaction numbers so that only their order is left. */
void model_normalise(struct mstate *s);

/* A transaction may start: nobody else holds the catalog's write lock. */
static inline bool model_may_write(const struct mstep *st)
{
	return st->s->wlock == 0 || st->s->wlock == st->who + 1;
}

#endif
