/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of an imaging study, in a pool or in a file system: the same operations
 * on both. Shared by the files of this bench.
 *
 * A study is SUBJECTS times SESSIONS directories of so many files, which are
 * called SUBJECT/SESSION/FILE.
 */
#ifndef MEASURE_FILES_H
#define MEASURE_FILES_H

#include "measure_pool.h"

#define FILES_SUBJECTS 10
#define FILES_SESSIONS 4
/* Of a directory, read or written at a time. */
#define FILES_BATCH 10

struct files_place;

/* One of the directories. */
struct files_dir {
	uint32_t subject, session;
};

struct files_ops {
	/* Stores all of the study; *stored_ret: bytes that it takes. */
	int (*fill)(struct files_place *p, uint64_t *stored_ret,
		    struct akin_diag *diag);
	/* @nr small files more, numbered from @first on. */
	int (*add_small)(struct files_place *p, uint64_t first, uint64_t nr,
			 struct akin_diag *diag);
	/* As for who comes later: nothing in memory, nothing cached. */
	int (*forget)(struct files_place *p, struct akin_diag *diag);
	/* Names and sizes of a directory; how many there are. */
	int (*list)(struct files_place *p, struct files_dir d, uint32_t *nr_ret,
		    struct akin_diag *diag);
	/* All bytes of FILES_BATCH files of a directory. */
	int (*read)(struct files_place *p, struct files_dir d,
		    struct akin_diag *diag);
	/* FILES_BATCH new ones, which are safe afterwards; p->batch has them.
	 * @nr: no two calls have the same. */
	int (*write)(struct files_place *p, struct files_dir d, uint32_t nr,
		     struct akin_diag *diag);
	/* Copies a batch of files somewhere, as one of several copiers. */
	int (*copy)(struct files_place *p, struct files_dir d, uint32_t copier,
		    uint32_t nr, struct akin_diag *diag);
	/* Each copier calls these once. */
	int (*copier_open)(struct files_place *p, uint32_t copier,
			   struct akin_diag *diag);
	void (*copier_close)(struct files_place *p, uint32_t copier);
	void (*close)(struct files_place *p);
};

#define FILES_COPIERS 5

struct files_place {
	const struct files_ops *ops;
	const struct measure_options *opt;
	struct measure_pool pool;	/* plain: only its dir is used */
	uint32_t nr_dir;	/* files of each directory */
	size_t bytes;		/* of each file */
	unsigned char *batch;	/* FILES_BATCH files */
	unsigned char *buf;	/* a file */
	/* A pool's: which transaction has each subject; copiers' sessions. */
	uint64_t transactions[FILES_SUBJECTS];
	struct akin_session *copiers[FILES_COPIERS];
};

#define FILES_NAME 64
void files_name(uint32_t file, char out[FILES_NAME]);
/* "sub-01/ses-2" */
void files_path(struct files_dir d, char out[FILES_NAME]);
/* What that file has. */
void files_content(const struct files_place *p, struct files_dir d,
		   uint32_t file, unsigned char *out);
#define FILES_SMALL 4096
void files_small(uint64_t nr, unsigned char out[FILES_SMALL]);

/* Both zero @p first; to be closed in any case. */
int files_open_pool(struct files_place *p, const struct measure_options *opt,
		    struct akin_diag *diag);
int files_open_plain(struct files_place *p, const struct measure_options *opt,
		     struct akin_diag *diag);
/* What both begin and end with. */
int files_prepare(struct files_place *p, const struct measure_options *opt,
		  struct akin_diag *diag);
void files_release(struct files_place *p);

/*
 * An image as scanners make them: a header, then voxels of 16 bits, a head with
 * tissue that is the subject's and noise that is the image's, in a background
 * of little noise. About half of it compresses away.
 */
void measure_image(uint64_t subject, uint64_t nr, unsigned char *to, size_t n);

#endif
