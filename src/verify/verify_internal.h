/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running check; shared by the files of verify/.
 */
#ifndef VERIFY_INTERNAL_H
#define VERIFY_INTERNAL_H

#include "base/numset.h"
#include "catalog/catalog_scrub.h"
#include "verify/verify.h"
#include "verify/verify_content.h"

/* What findings are about; each kind is limited by itself. */
enum verify_kind {
	VERIFY_POOL,		/* superblocks, catalog */
	VERIFY_CONTAINER,
	VERIFY_CHUNK,
	VERIFY_RECORD,
	VERIFY_RUN,
	VERIFY_FILE,
	VERIFY_NR_KINDS
};

/* Marks to set or lift, one transaction for so many. */
#define VERIFY_MARKS 256

struct verify {
	const struct verify_options *opt;
	struct depot *depot;
	struct catalog *catalog;
	struct verify_result *result;
	struct content_checker *checker;
	struct catalog_totals totals;
	struct verify_progress progress;
	u64 report_ns;			/* of the last report */
	u64 nr_found[VERIFY_NR_KINDS];
	u64 nr_bad, nr_lost;		/* chunks: read badly, out of reach */
	int first_code;
	bool any_living, living_known;	/* some session lives */
	struct catalog_damage marks[VERIFY_MARKS];
	u32 nr_marks;
	struct place lifts[VERIFY_MARKS];
	u32 nr_lifts;
	struct catalog_scrub scrubs[VERIFY_MARKS];
	u32 nr_scrubs;
	bool unnoted;			/* some were lost */
	struct numset parity_told;	/* containers of which that was said */
};

/* Where in a snapshot; NULL fields: nowhere. */
struct verify_where {
	const char *snapshot, *path;
};

/* Count and report. @where may be NULL. */
void verify_found(struct verify *v, enum verify_kind kind, int code,
		  const struct verify_where *where, const char *fmt, ...)
	__printf(5, 6);
/* Something worth saying that is no finding. */
void verify_remark(struct verify *v, enum verify_kind kind,
		   const char *fmt, ...) __printf(3, 4);
/*
 * 0 after a finding if @err is damage (@why says what, @fmt goes in front of
 * it), @err in @diag otherwise. 0 stays 0.
 */
int verify_settle(struct verify *v, enum verify_kind kind, int err,
		  const struct akin_diag *why, struct akin_diag *diag,
		  const char *fmt, ...) __must_check __printf(6, 7);
/* Report progress if it is time; -AKIN_E_interrupted if asked to stop. */
int verify_tick(struct verify *v, struct akin_diag *diag) __must_check;

/* A place is damaged: into the set and, where possible, the catalog. */
int verify_mark(struct verify *v, const struct place *at, const struct fp *fp,
		int code, struct akin_diag *diag) __must_check;
/* It read well: drop the mark if there is one. */
int verify_lift(struct verify *v, const struct place *at,
		struct akin_diag *diag) __must_check;
/* All of a container has been read. */
int verify_note_scrub(struct verify *v, u64 container, u32 generation,
		      u32 nr_bad, struct akin_diag *diag) __must_check;
int verify_flush_marks(struct verify *v, struct akin_diag *diag)
	__must_check;
/* Does any session live, so that files that nobody names are normal? */
int verify_any_living(struct verify *v, bool *out, struct akin_diag *diag)
	__must_check;

/* The passes. An error means that the check cannot go on. */
int verify_superblocks(struct verify *v, struct akin_diag *diag) __must_check;
int verify_containers(struct verify *v, struct akin_diag *diag) __must_check;
/* Everything in @nr containers, which ascend. */
int verify_these(struct verify *v, const struct catalog_container *rows,
		 u32 nr, struct akin_diag *diag) __must_check;
int verify_scrub(struct verify *v, struct akin_diag *diag) __must_check;
/* Count the container's parity; with @read, or if something had to be made
 * again already, read both files. *nr_bad_ret: damaged sectors. */
int verify_parity(struct verify *v, struct container_reader *r, bool read,
		  u32 *nr_bad_ret, struct akin_diag *diag) __must_check;
/* All containers have been counted. */
void verify_parity_end(struct verify *v);
int verify_records(struct verify *v, struct akin_diag *diag) __must_check;
int verify_runs(struct verify *v, struct akin_diag *diag) __must_check;
int verify_orphans(struct verify *v, struct akin_diag *diag) __must_check;
int verify_trees(struct verify *v, struct akin_diag *diag) __must_check;

#endif
