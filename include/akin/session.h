/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: how another program stores objects in a pool and gets them back.
 *
 *	akin_session_open
 *	  akin_txn_begin
 *	    akin_object_begin, akin_object_send..., akin_object_end
 *	    ...
 *	  akin_txn_end				commit or abort
 *	  akin_object_query			what is there
 *	  akin_object_open, akin_object_read..., akin_object_close
 *	akin_session_close
 *
 * Whoever has written for a backup server's client interface (XBSA, for one)
 * knows the shape: a session holds one transaction at a time, a transaction any
 * number of objects, and objects become visible together, at the commit, or not
 * at all. A committed transaction is a snapshot like any other: it is listed,
 * restored, checked and forgotten as such, and its objects never change.
 *
 * Promises.
 *  - Commit means durable: what akin_txn_end() has acknowledged survives any
 *    crash after it.
 *  - An abort, a session that is closed in the middle, a crash, a killed
 *    program: nothing of the transaction is visible, then or later.
 *  - A call in the wrong order returns -AKIN_E_sequence and changes nothing.
 *    That includes names of objects that have ended, and two threads that use
 *    one object at the same time.
 *
 *	IDLE --txn_begin--> OPEN --txn_end(commit)--> IDLE	durable
 *			      |---txn_end(abort)----> IDLE	nothing
 *			      '---session_close-----> (gone)	nothing
 *
 * Threads. Any thread may call anything at any time. Several objects of a
 * transaction may be open at once, each sent by a thread of its own; so many
 * the limits tell. Sessions do not share memory: a process that opens several
 * uses the sum of what it gave them. Callbacks must not call the session they
 * come from.
 *
 * Reclaiming. What a reader has open stays until it is closed, whoever forgets
 * it. A session with nothing open holds up the deletion of what was given up
 * since its last transaction or query: do not leave one open for days unused.
 *
 * Errors of sending. Data is processed behind the caller's back, so an error
 * may surface in a later call. Then the transaction is doomed: every further
 * call within it returns the same error, and akin_txn_end() says, whatever is
 * asked, that it was aborted and why.
 */
#ifndef AKIN_SESSION_H
#define AKIN_SESSION_H

#include "akin/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the structures in this header. A program compiled with an older one goes
 * on working. */
#define AKIN_SESSION_VERSION 2

struct akin_session;

struct akin_session_options {
	uint32_t version;	/* AKIN_SESSION_VERSION */
	const char *path;	/* of the pool; see struct akin_open_options */
	const char *meta_dir, *data_dir;
	size_t memory_bytes;
	unsigned nr_threads;
	bool read_only;		/* then there are no transactions */
	const char *host;	/* NULL: this machine's name */
	const char *program;	/* for the record; NULL: "api" */
	const char *compression;	/* NULL: the pool's; see pool.h */
	int delta_depth;	/* 0: the pool's; see pool.h */
	enum akin_verify verify;
	enum akin_engine engine;
	/* From version 2 on; see struct akin_open_options. */
	struct akin_throttle throttle_meta, throttle_data;
	bool single_writer;
};

/* Strings are copied. */
AKIN_API int akin_session_open(const struct akin_session_options *opt,
			       struct akin_session **out,
			       struct akin_diag *diag);
/* Aborts an open transaction, closes open readers. Nobody may be in a call, or
 * make one afterwards. NULL is fine. */
AKIN_API void akin_session_close(struct akin_session *s);
/* Every running call ends soon with -AKIN_E_interrupted, and so do all later
 * ones. Safe in signal handlers. */
AKIN_API void akin_session_stop(struct akin_session *s);

/* What a session can do; ask, do not assume. */
struct akin_session_limits {
	/* Objects of a transaction; more if names and attributes are short. */
	uint32_t max_objects;
	uint32_t max_open;	/* objects being sent at once */
	uint32_t max_readers;	/* objects being read at once */
	uint32_t max_space_bytes, max_path_bytes, max_name_bytes;
	uint32_t max_attributes, max_attribute_bytes;	/* of one object; the
				 * bytes are those of all names and values */
	uint32_t send_bytes;	/* a good size of what is sent at a time */
	bool can_write;
};
AKIN_API void akin_session_get_limits(struct akin_session *s,
				      struct akin_session_limits *out);
AKIN_API void akin_session_get_pool_info(struct akin_session *s,
					 struct akin_pool_info *out);

/* Transactions ------------------------------------------------------------ */

struct akin_txn_options {
	const char *const *tags;	/* of the snapshot */
	uint32_t nr_tags;
};
/* @opt may be NULL. */
AKIN_API int akin_txn_begin(struct akin_session *s,
			    const struct akin_txn_options *opt,
			    struct akin_diag *diag);

enum akin_vote {
	AKIN_VOTE_COMMIT = 1,
	AKIN_VOTE_ABORT = 2,
};

/* Why a transaction was not committed. */
enum akin_txn_reason {
	AKIN_TXN_COMMITTED = 0,
	AKIN_TXN_ABORTED,	/* as asked */
	AKIN_TXN_EMPTY,		/* without objects there is nothing to commit */
	AKIN_TXN_NAMES,		/* an object lies below one that is a file */
	AKIN_TXN_NO_SPACE,	/* a file system of the pool is full */
	AKIN_TXN_NO_MEMORY,
	AKIN_TXN_DAMAGE,	/* the pool's own data is not what it was */
	AKIN_TXN_STOPPED,	/* akin_session_stop() */
	AKIN_TXN_FAILED,	/* anything else; the code tells */
};

struct akin_txn_result {
	enum akin_txn_reason reason;
	int code;		/* the error behind it, or 0 */
	uint64_t transaction;	/* 0 unless committed */
	char id[33];		/* the snapshot's, in hex; "" likewise */
	uint64_t objects;
	uint64_t bytes;		/* given, holes included */
	uint64_t bytes_new;	/* after deduplication, raw */
	uint64_t bytes_plain;	/* after compression, had there been no
				 * references; estimated by samples */
	uint64_t bytes_stored;	/* as stored, with directories */
	uint64_t bytes_meta;	/* recipes and names, besides */
	uint64_t chunks, chunks_new;
	uint64_t elapsed_ns;
};

/*
 * The result has two parts. The return value says whether the call was one:
 * -AKIN_E_sequence (no transaction, or a commit while objects are open) leaves
 * all as it is. 0 says that the transaction is over; whether it was committed,
 * and if not why, is @out->reason. So it is safe if and only if both are zero.
 *
 * An abort is possible at any time, also while objects are open and calls are
 * running in other threads; it waits for these.
 */
AKIN_API int akin_txn_end(struct akin_session *s, enum akin_vote vote,
			  struct akin_txn_result *out, struct akin_diag *diag);

/* Objects ----------------------------------------------------------------- */

enum akin_object_type {
	AKIN_OBJECT_FILE = 1,	/* has data, perhaps none */
	AKIN_OBJECT_DIRECTORY,	/* has a name and attributes only */
};

/*
 * Which object. Space, path and name are bytes; in the snapshot the object is
 * called /SPACE/PATH/NAME. A space stands for what is backed up as a whole (a
 * database server, a file system); together with the host it makes the series
 * that retention works on. Space and path are components parted by single
 * slashes (leading and trailing ones do not count), a name is one component;
 * none is "." or "..", none is longer than 255 bytes.
 */
struct akin_object_name {
	const char *space;
	const char *path;	/* NULL or "": directly in the space */
	const char *name;
	enum akin_object_type type;	/* 0: a file */
};

struct akin_attribute {
	const char *name;	/* 1 to 250 bytes, unique in the object */
	const void *value;
	uint32_t len;
};

struct akin_object_options {
	/* About how many bytes will come; 0: not known. Too small or too
	 * large does no harm, but a good one saves a look at the last version
	 * of what is small. */
	uint64_t size_hint;
	const struct akin_attribute *attributes;
	uint32_t nr_attributes;
	int64_t mtime_sec;	/* both 0: now */
	uint32_t mtime_nsec;
};

/* One object being sent. Zero is none, and no value is used twice in a
 * session. */
struct akin_object {
	uint64_t v;
};

/*
 * -AKIN_E_usage for names and attributes that cannot be; -AKIN_E_exists if the
 * transaction has the object already; -AKIN_E_too_large if one of the limits is
 * reached: end an object, or the transaction, then. None of these dooms the
 * transaction. @opt may be NULL.
 */
AKIN_API int akin_object_begin(struct akin_session *s,
			       const struct akin_object_name *name,
			       const struct akin_object_options *opt,
			       struct akin_object *out,
			       struct akin_diag *diag);
/* The next @n bytes, borrowed during the call. */
AKIN_API int akin_object_send(struct akin_session *s, struct akin_object obj,
			      const void *data, size_t n,
			      struct akin_diag *diag);
/*
 * The same without a copy: borrow room for at least one byte, fill it, say how
 * much. The room is the session's and belongs to the caller until
 * akin_object_filled(), which must be the next call for this object.
 */
AKIN_API int akin_object_room(struct akin_session *s, struct akin_object obj,
			      void **room_ret, size_t *n_ret,
			      struct akin_diag *diag);
AKIN_API int akin_object_filled(struct akin_session *s, struct akin_object obj,
				size_t n, struct akin_diag *diag);
/* @len bytes that are not there; they read as zeros. */
AKIN_API int akin_object_hole(struct akin_session *s, struct akin_object obj,
			      uint64_t len, struct akin_diag *diag);

struct akin_object_stats {
	uint64_t bytes;		/* given, holes included */
	uint64_t bytes_new;	/* after deduplication, raw */
	/* Chunks of neighbours are compressed together, so what one object
	 * takes is what its share of them comes to. */
	uint64_t bytes_plain;	/* after compression, without references */
	uint64_t bytes_stored;	/* after compression and references */
	uint64_t chunks, chunks_new;
	uint64_t elapsed_ns;	/* from begin to end */
};
/*
 * No more data. With @out the call waits until all of the object has been
 * processed; without it does not, which is faster for many small ones.
 */
AKIN_API int akin_object_end(struct akin_session *s, struct akin_object obj,
			     struct akin_object_stats *out,
			     struct akin_diag *diag);

/* Reading ----------------------------------------------------------------- */

struct akin_object_query {
	uint64_t transaction;	/* 0: any */
	const char *host;	/* NULL: any */
	const char *space;	/* NULL: any */
	const char *path;	/* NULL: any; else at or below it */
	const char *name;	/* NULL: any; a shell pattern */
	bool newest;		/* only from the newest transaction of its
				 * host that has the object's space */
};

/* Borrowed during the callback that gets it. */
struct akin_object_info {
	uint64_t transaction;	/* with the name it means one version, for ever */
	char id[33];
	int64_t time_sec;	/* of the transaction */
	const char *host;
	struct akin_object_name name;	/* nothing in it is NULL */
	uint64_t size;
	int64_t mtime_sec;
	uint32_t mtime_nsec;
	const struct akin_attribute *attributes;
	uint32_t nr_attributes;
	/* Who reads many objects reads those with a lower order first: what was
	 * stored together is read together. */
	uint64_t order;
};

/*
 * Oldest transaction first, names in the order of their bytes. Sees what is
 * committed, never what is being sent. A stream of akin_backup_stream() is an
 * object with an empty space. A non-zero return of @fn ends the call and is
 * returned.
 */
AKIN_API int akin_object_query(struct akin_session *s,
			       const struct akin_object_query *query,
			       int (*fn)(void *ctx,
					 const struct akin_object_info *info),
			       void *ctx, struct akin_diag *diag);

struct akin_reader;

/*
 * One version of an object, for reading: that of @transaction, or with 0 the
 * newest of any host. It can be read for as long as it is open, whoever forgets
 * it meanwhile. -AKIN_E_path_unknown; -AKIN_E_too_large if too many are open.
 * Close it before the session.
 */
AKIN_API int akin_object_open(struct akin_session *s, uint64_t transaction,
			      const struct akin_object_name *name,
			      struct akin_reader **out, struct akin_diag *diag);
/* NULL is fine. */
AKIN_API void akin_object_close(struct akin_reader *r);
AKIN_API uint64_t akin_reader_size(const struct akin_reader *r);
AKIN_API uint64_t akin_reader_transaction(const struct akin_reader *r);
/*
 * Up to @n bytes from @off on; fewer only at the end. One call after the other
 * on a reader. Large pieces are fast, and so is akin_reader_copy().
 */
AKIN_API int akin_reader_read(struct akin_reader *r, uint64_t off, void *buf,
			      size_t n, size_t *n_ret, struct akin_diag *diag);
/* @len bytes from @off on (at most what there is), in order. @hole may be NULL:
 * then holes come as zeros. */
AKIN_API int akin_reader_copy(struct akin_reader *r, uint64_t off, uint64_t len,
			      int (*data)(void *ctx, const void *data,
					  size_t n),
			      int (*hole)(void *ctx, uint64_t len), void *ctx,
			      struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
