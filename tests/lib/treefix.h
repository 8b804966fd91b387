/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees for tests: a source, a target and a place outside of both, a tree that
 * has one of everything, and comparing what came out.
 */
#ifndef TREEFIX_H
#define TREEFIX_H

#include <sys/stat.h>

#include "testlib.h"

#include "source/source.h"
#include "target/target.h"

#define ok(expr) assert_int_equal((expr), 0)

struct treefix {
	char dir[64];
	char src[72], dst[72], out[72]; /* in dir; out is none of ours */
	int s, d, o;			/* descriptors of them */
	struct disk *disk;		/* for spills */
	/* From the callbacks. */
	u64 nr_warnings, nr_events[TARGET_DELETED + 1];
	char warned[512];
	const char *unwanted; /* xattr to leave out */
};

/* POSIX ACL: u::rw- u:7:r-- g::r-- m::r-- o::--- */
#define TREEFIX_ACL_BYTES 44
extern const u8 treefix_acl[TREEFIX_ACL_BYTES];

/* cmocka fixtures: *state is a struct treefix. The big one lies in memory
 * where it can, for thousands of entries. TMPDIR chooses the file system. */
int treefix_setup(void **state);
int treefix_setup_big(void **state);
int treefix_teardown(void **state);
/* Callbacks that count; the counts start anew. */
struct target_options treefix_options(struct treefix *fx);
/* Open and finish fx->dst; fail the test on errors. */
struct target *treefix_target(struct treefix *fx,
			      const struct target_options *opt);
void treefix_finish(struct target *t);
struct source_walk *treefix_source(struct treefix *fx, const char *path);
/* Copy what is below with source/ and target/. */
int treefix_copy_dir(struct source_walk *w, struct target *t,
		     struct akin_diag *diag);
void treefix_copy(struct treefix *fx, const struct target_options *opt);
/* Fails unless the two trees are alike in everything a node holds. */
void treefix_compare(struct treefix *fx, const char *pa, const char *pb);
/* Files and their stats, relative to a descriptor. */
void put_bytes(int at, const char *name, const void *data, size_t n, off_t off);
void put_text(int at, const char *name, const char *text);
void assert_text(int at, const char *name, const char *text);
bool exists_at(int at, const char *name);
struct stat stat_of(int at, const char *name);
void set_time(int at, const char *name, s64 sec, long nsec);
bool set_src_xattr(struct treefix *fx, const char *name, const char *key,
		   const void *value, size_t n);
/* One of everything into fx->src, as far as this user may. */
void treefix_fill(struct treefix *fx);
/* Nodes made by hand, and one restored whole. */
void file_node(struct node *n, const char *name, u64 size);
void dir_node(struct node *n, const char *name);
int put_file(struct target *t, struct node *n, const void *data);

#endif
