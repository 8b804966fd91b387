/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of include/akin/session.h: a pool handle of their own, and at most
 * one transaction, which is a backup whose tree is built at its end.
 *
 *	store_session.c		opening, limits, who may call what when
 *	store_txn.c		beginning and ending transactions
 *	store_txn_tree.c	the objects of one, and the tree made of them
 *	store_object.c		one object being sent
 *	store_object_read.c	queries
 *	store_reader.c		reading
 *
 * Locks, in this order:
 *	index_lock	held for reading by whoever reads the pool, for writing
 *			while a transaction begins or ends: the index may be
 *			replaced then, and what may be read changes.
 *	lookup_lock	guards the pool's own decoder, used by who begins an
 *			object, and the spaces of the transaction.
 *	lock		guards everything else here; nobody holds it during I/O.
 */
#ifndef STORE_SESSION_H
#define STORE_SESSION_H

#include <pthread.h>

#include "akin/session.h"
#include "store/store_backup.h"

#define OBJECT_SPACE_MAX 1024
#define OBJECT_PATH_MAX 2048
/* In front of an attribute's name in the node: what may be restored to a file
 * by anybody. */
#define OBJECT_XATTR "user."
/* Marks a directory that was an object, not only above one. */
#define OBJECT_XATTR_TYPE "user.akin.type"
#define OBJECT_XATTRS_MAX 64
#define OBJECT_XATTR_BYTES_MAX 4096
/*
 * What an object of a transaction costs in memory besides its strings: 100
 * bytes, its record with a short recipe, a hint. With strings of as much, what
 * max_objects reckons with.
 */
#define OBJECT_BYTES 512

/* An object of the transaction. */
struct txn_object {
	char *path;		/* SPACE/PATH/NAME, no slash in front */
	u8 *record;		/* its node, encoded; owned */
	u32 record_len;
	struct hint hint;	/* of its content; owned */
	u64 bytes;
	struct ingest_counts counts;
	bool is_dir;
	bool done;		/* record, hint and counts are final */
	bool dropped;		/* refused after all */
	struct ingest_stream *stream;	/* borrowed while it is sent */
};

/* A space that the transaction has objects of. */
struct txn_space {
	char *name;
	struct snapshot parent;	/* last transaction of it; number 0: none */
};

struct txn_stream {
	struct ingest_stream *stream;	/* NULL: being opened */
	bool idle;
};

struct txn {
	struct backup b;
	struct akin_backup_options opt;
	struct txn_object **objects;
	u32 nr_objects, cap_objects;
	u32 *table;		/* by path: index + 1, 0: free */
	u32 nr_slots;		/* of it, a power of two */
	size_t bytes;		/* of memory the objects take */
	struct txn_space *spaces;
	u32 nr_spaces;
	struct txn_stream *streams;	/* max_open of them; first: b.stream */
	u32 nr_streams;
};

/* An object that is being sent. */
struct object_slot {
	u64 id;			/* 0: free */
	bool busy;		/* a call is running */
	bool lent;		/* akin_object_filled() is due */
	size_t room;		/* that was lent */
	struct txn_object *object;
	struct txn_stream *stream;	/* NULL: a directory */
	u64 begun_ns;
	struct refgate_tally tally;	/* when it began */
};

/*
 *	IDLE --txn_begin--> BEGINNING --> OPEN --txn_end--> ENDING --> IDLE
 *			        '--error--> IDLE
 *
 * session_move() in store_session.c changes it.
 */
enum session_state_api {
	API_IDLE, API_BEGINNING, API_OPEN, API_ENDING,
};

struct akin_reader;

struct akin_session {
	struct akin_pool *pool;
	char *host, *program, *compression;	/* NULL: defaults */
	int delta_depth;
	enum akin_verify verify;
	enum akin_engine engine;
	struct akin_session_limits limits;
	size_t object_memory;	/* for the objects of a transaction */

	pthread_rwlock_t index_lock;
	pthread_mutex_t lookup_lock;
	pthread_mutex_t lock;
	pthread_cond_t quiet;	/* nr_busy has fallen to 0 */
	enum session_state_api state;
	struct txn *txn;	/* OPEN, ENDING */
	int err;		/* it is doomed, and why */
	struct akin_diag diag;
	struct object_slot *slots;	/* max_open of them */
	u64 next_object;
	u32 nr_busy;
	struct akin_reader *readers;
	u32 nr_readers;
};

/* From one state to the next; -AKIN_E_sequence if it is not in @from. */
int session_move(struct akin_session *s, enum session_state_api from,
		 enum session_state_api to, const char *what,
		 struct akin_diag *diag) __must_check;
/*
 * Rely on what is there now, if nobody relies on what was: else what others
 * want to delete would be kept for as long as the session lives.
 */
int session_refresh(struct akin_session *s, struct akin_diag *diag)
	__must_check;
/* The first error of a transaction; later calls return it. */
void session_doom(struct akin_session *s, int err,
		  const struct akin_diag *diag);
int session_doomed_locked(struct akin_session *s, struct akin_diag *diag);

/* store_txn_tree.c */
int txn_new(struct akin_session *s, struct txn **out, struct akin_diag *diag)
	__must_check;
/* After backup_finish(); NULL is fine. */
void txn_free(struct txn *t);
/* With the session's lock held. Takes @o if it succeeds; -AKIN_E_exists,
 * -AKIN_E_too_large. */
int txn_add_locked(struct akin_session *s, struct txn *t, struct txn_object *o,
		   struct akin_diag *diag) __must_check;
void txn_object_free(struct txn_object *o);
/* @n becomes what is known of it; what was stays after an error. */
int object_set_record(struct txn_object *o, const struct node *n) __must_check;
/* The callback of its streams. */
int txn_object_done(void *ctx, void *token, const struct content *ct,
		    const struct hint *hint, struct akin_diag *diag);
/* All of them are done: feeds the backup's stream. -AKIN_E_usage: an object
 * lies below a file. */
int txn_build_tree(struct txn *t, struct akin_diag *diag) __must_check;

/* store_object.c */
/* SPACE/PATH/NAME, in shortest form. Returns owned; *space_len_ret (may be
 * NULL): how much of it is the space. */
int object_path(const struct akin_object_name *name, char **out,
		u32 *space_len_ret, struct akin_diag *diag) __must_check;
/* Space or path: "/a//b/" as "a/b". Returns owned. */
int object_clean(const char *text, size_t max, const char *what, char **out,
		 struct akin_diag *diag) __must_check;

/* store_object_read.c */
/* The newest transaction of @host (NULL: any) that has @space; 0: none. */
int objects_newest(struct akin_pool *p, const char *host, const char *space,
		   u64 *number_ret, struct akin_diag *diag) __must_check;

/* store_reader.c */
void reader_release_all(struct akin_session *s);

#endif
