/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of libakin.
 *
 * Every fallible function returns 0 or a negative code from the table below.
 * A code has a class (what a caller can do about it) and an errno (for callers
 * that speak errno). The library never prints and never exits: the lowest
 * function that knows what happened writes one message into a struct
 * akin_diag, which the caller owns and may omit (NULL).
 */
#ifndef AKIN_ERROR_H
#define AKIN_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a caller can do about an error. The command's exit code follows from
 * the class, but for the codes that "akin help exit-codes" names.
 */
enum akin_error_class {
	AKIN_CLASS_OK = 0,
	AKIN_CLASS_OTHER,	/* anything else: a bug, an odd environment */
	AKIN_CLASS_USAGE,	/* the caller asked for something impossible */
	AKIN_CLASS_ABSENT,	/* the thing named does not exist */
	AKIN_CLASS_BUSY,	/* somebody else holds it; retry later */
	AKIN_CLASS_CORRUPT,	/* stored bytes are not what was written */
	AKIN_CLASS_NOSPACE,	/* a file system is full */
	AKIN_CLASS_IO,		/* the operating system failed an operation */
	AKIN_CLASS_DENIED,	/* permission */
	AKIN_CLASS_NOMEM,	/* memory, or the --memory contract */
	AKIN_CLASS_UNSUPPORTED,	/* newer format, missing feature */
	AKIN_CLASS_INTERRUPTED,	/* stopped on request */
	AKIN_CLASS_SOURCE,	/* the data being backed up could not be read */
};

/* E(name, class, errno, text) */
#define AKIN_ERRORS(E) \
	E(nomem,         NOMEM,   ENOMEM,  "out of memory") \
	E(internal,      OTHER,   EINVAL,  "internal error") \
	E(interrupted,   INTERRUPTED, EINTR, "interrupted") \
	E(usage,         USAGE,   EINVAL,  "invalid argument") \
	E(sequence,      USAGE,   EINVAL,  "calls in the wrong order") \
	E(too_large,     USAGE,   EFBIG,   "larger than the limit") \
	E(absent,        ABSENT,  ENOENT,  "no such object") \
	E(exists,        USAGE,   EEXIST,  "exists already") \
	E(io,            IO,      EIO,     "input/output error") \
	E(short_read,    CORRUPT, EIO,     "file is shorter than it must be") \
	E(nospace,       NOSPACE, ENOSPC,  "no space left") \
	E(denied,        DENIED,  EACCES,  "permission denied") \
	E(readonly,      DENIED,  EROFS,   "read-only file system") \
	E(busy,          BUSY,    EBUSY,   "held by somebody else") \
	E(no_locks,      UNSUPPORTED, ENOLCK, "file system without locks") \
	E(too_many_files, OTHER,  EMFILE,  "too many open files") \
	E(pool_missing,  ABSENT,  ENOENT,  "no pool there") \
	E(pool_exists,   USAGE,   EEXIST,  "there is a pool already") \
	E(pool_mismatch, CORRUPT, EUCLEAN, "directories of two different pools") \
	E(feature,       UNSUPPORTED, ENOTSUP, "made by a newer version") \
	E(bad_magic,     CORRUPT, EUCLEAN, "wrong magic") \
	E(bad_version,   UNSUPPORTED, ENOTSUP, "unknown format version") \
	E(bad_checksum,  CORRUPT, EUCLEAN, "wrong checksum") \
	E(bad_identity,  CORRUPT, EUCLEAN, "belongs to something else") \
	E(bad_length,    CORRUPT, EUCLEAN, "a length is out of bounds") \
	E(bad_field,     CORRUPT, EUCLEAN, "a field has an impossible value") \
	E(bad_order,     CORRUPT, EUCLEAN, "entries out of order") \
	E(bad_data,      CORRUPT, EUCLEAN, "data does not decode") \
	E(bad_fp,        CORRUPT, EUCLEAN, "data does not match its fingerprint") \
	E(fp_unknown,    CORRUPT, EUCLEAN, "no chunk has this fingerprint") \
	E(catalog,       CORRUPT, EUCLEAN, "catalog is damaged") \
	E(codec_unknown, UNSUPPORTED, ENOTSUP, "unknown codec") \
	E(snap_unknown,  ABSENT,  ENOENT,  "no such snapshot") \
	E(snap_ambiguous, USAGE,  EINVAL,  "more than one snapshot matches") \
	E(snap_protected, DENIED, EPERM,   "the snapshot is protected") \
	E(snap_reclaimed, ABSENT, ENOENT,  "the snapshot's space was reclaimed") \
	E(path_unknown,  ABSENT,  ENOENT,  "no such path in the snapshot") \
	E(path_unsafe,   CORRUPT, EUCLEAN, "an entry would leave the target") \
	E(source_read,   SOURCE,  EIO,     "source could not be read") \
	E(source_changed, SOURCE, EAGAIN,  "source changed while it was read") \
	E(source_vanished, SOURCE, ENOENT, "source vanished while it was read") \
	E(source_exec,   SOURCE,  EPIPE,   "the producing command failed") \
	E(partial,       SOURCE,  EIO,     "completed with warnings") \
	E(differs,       OTHER,   EEXIST,  "differs") \
	E(hook,          OTHER,   ECANCELED, "a hook failed")

enum akin_error {
	AKIN_OK = 0,
#define AKIN_ERROR_ENUM(name, class, err, text) AKIN_E_##name,
	AKIN_ERRORS(AKIN_ERROR_ENUM)
#undef AKIN_ERROR_ENUM
	AKIN_NR_ERRORS
};

/*
 * A message: what happened to which object, and (in @hint, may be empty) what
 * to do now. Owned by the caller; zeroed before use. The first writer wins,
 * upper layers may only prepend context. Not shared between threads.
 */
struct akin_diag {
	int code;		/* negative code of the first error, or 0 */
	char text[1024];	/* no trailing newline; may be cut */
	char hint[256];
};

/* Exported from the library. */
#ifndef AKIN_API
#define AKIN_API __attribute__((visibility("default")))
#endif

/* Text of a code from the table; @code may be negative or positive. */
AKIN_API const char *akin_strerror(int code);
/* The name in the table, such as "bad_checksum". */
AKIN_API const char *akin_error_name(int code);
AKIN_API enum akin_error_class akin_error_class(int code);
/* Nearest errno, positive. */
AKIN_API int akin_error_errno(int code);

#ifdef __cplusplus
}
#endif
#endif
