/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running repair; shared by the files of store/ that make it up.
 *
 * store_repair.c          the public call, what state the pool is in
 * store_rescue.c          the metadata directory, made anew
 * store_rescue_records.c  its snapshots
 * store_repair_pool.c     what is wrong with a pool that can be opened
 * store_repair_records.c  its records and labels
 * store_repair_containers.c  containers that cannot be opened
 * store_repair_parity.c   damaged sectors that parity makes up for
 * store_repair_heal.c     damaged chunks in those that can
 */
#ifndef STORE_REPAIR_H
#define STORE_REPAIR_H

#include "akin/repair.h"
#include "catalog/catalog_rebuild.h"
#include "store/store.h"

struct store_repair {
	struct akin_pool *p;	/* p->meta NULL: there is no directory */
	const struct akin_repair_options *opt;
	struct akin_repair_result *out;
	const char *meta_path;	/* where one is to be made; or NULL */
	struct akin_throttle throttle_meta;	/* and how slow it is */
	u64 start_ns, said_ns;
	/* What the superblock files are like. */
	struct super super;	/* as the data disk's */
	bool write_meta_super, write_data_super;
	u64 nr_steps;		/* of this plan */
};

/* The same as akin_repair, on disks of the caller's, which are taken. @meta
 * may be empty, but not NULL. */
int store_repair_on(struct disk *meta, struct disk *data,
		    const struct akin_open_options *open,
		    const struct akin_repair_options *opt,
		    struct akin_repair_result *out, struct akin_diag *diag)
	__must_check;

/* A step of the plan. */
void store_repair_plan(struct store_repair *r, const char *action,
		       const char *fmt, ...) __printf(3, 4);
/* Something that is wrong and no check would say. */
void store_repair_found(struct store_repair *r, int code, const char *fmt, ...)
	__printf(3, 4);
/* The plan is complete: 0, or the code to end with. */
int store_repair_confirm(struct store_repair *r, struct akin_diag *diag)
	__must_check;
/* @files are containers, @dirs snapshots. -AKIN_E_interrupted. */
int store_repair_tick(struct store_repair *r, u64 containers, u64 snapshots,
		      const char *what, struct akin_diag *diag) __must_check;

/* Generations have changed, or containers have come: see what is there now. */
int store_repair_look_again(struct store_repair *r, struct akin_diag *diag)
	__must_check;

/*
 * Make the metadata directory anew from the data directory, because of @why.
 * Afterwards r->p is open, its metadata has a superblock, and others may use
 * the pool. In a dry run the plan is all there is, and p is not open.
 */
int store_rescue(struct store_repair *r, const char *why,
		 struct akin_diag *diag) __must_check;

/* store_rescue_records.c: numbers of what lies in DIR_SNAPSHOTS, ascending. */
struct store_records {
	u64 *numbers;		/* with a record, buried or not */
	u32 nr, cap;
	u64 nr_buried;
	u64 highest;		/* of anything there, labels too */
};
int store_records_list(struct disk *data, struct store_records *out,
		       struct akin_diag *diag) __must_check;
void store_records_release(struct store_records *l);
/* Raise @least to what records and labels say. */
int store_records_numbers(struct store_repair *r,
			  const struct store_records *l,
			  struct catalog_least *least, struct akin_diag *diag)
	__must_check;
/* List them in the new catalog, as far as they are whole. */
int store_records_take(struct store_repair *r, const struct store_records *l,
		       struct akin_diag *diag) __must_check;

/* store_repair_records.c: records, labels and the policy of the data pool that
 * are not what the catalog says; *nr_ret of them, written anew with @apply. */
int store_repair_records(struct store_repair *r, bool apply, u64 *nr_ret,
			 struct akin_diag *diag) __must_check;

/*
 * store_repair_containers.c: containers that cannot be opened, ascending; those
 * of which nothing is left, not even put aside, are not among them.
 */
struct store_broken {
	u64 number, session;
	u32 generation;
	u8 kind;
	u64 groups;		/* that are sound */
};
struct store_broken_list {
	struct store_broken *rows;
	u32 nr, cap;
};
/* Plans what to do about them. */
int store_repair_look_containers(struct store_repair *r,
				 struct store_broken_list *out,
				 struct akin_diag *diag) __must_check;
int store_repair_containers(struct store_repair *r,
			    const struct store_broken_list *l,
			    struct akin_diag *diag) __must_check;

/* store_repair_parity.c: containers of which parity makes up for what is damaged,
 * and parity that is damaged itself. */
struct store_parity_row {
	struct container_id id;
	u32 sectors;		/* to be written back */
	bool remake;		/* its parity */
};
struct store_parity_list {
	struct store_parity_row *rows;
	u32 nr, cap;
};
/* Plans what to do about them. */
int store_repair_look_parity(struct store_repair *r,
			     struct store_parity_list *out,
			     struct akin_diag *diag) __must_check;
int store_repair_parity(struct store_repair *r,
			const struct store_parity_list *l,
			struct akin_diag *diag) __must_check;

/* store_repair_heal.c: chunks that are marked, from other copies; @look plans
 * it. */
int store_repair_heal(struct store_repair *r, bool look, struct akin_diag *diag)
	__must_check;

/* Plan and do the rest, in an open pool. */
int store_repair_pool(struct store_repair *r, struct akin_diag *diag)
	__must_check;

#endif
