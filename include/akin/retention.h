/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention: which snapshots stay.
 *
 *    akin_forget()             takes snapshots off the list, by name or policy
 *    akin_snapshot_undelete()  puts one back
 *    akin_snapshot_protect()   keeps one from being forgotten
 *    akin_snapshot_tag()       changes its tags
 *
 * Forgetting returns no space and destroys nothing; reclaiming does. Until it
 * has, a forgotten snapshot can be undeleted: see may_undelete in struct
 * akin_snapshot, and filter.forgotten to list them.
 *
 * A policy works on series: the snapshots of one host and one set of paths. It
 * never takes the last committed one of a series. Hours, days, weeks, months
 * and years are those of the time zone of the calling process, so that they are
 * the days of whoever looks at the list; weeks begin on Monday. Of each period
 * the newest snapshot is kept, and periods without snapshots do not count.
 */
#ifndef AKIN_RETENTION_H
#define AKIN_RETENTION_H

#include "akin/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

struct akin_span {
	uint32_t years, months, days, hours;
};
#define AKIN_SPAN_TEXT 64
/* "30d", "1y6m", "2w", "36h": units y, m (months), w, d, h in this order.
 * 0 or -AKIN_E_usage. */
AKIN_API int akin_span_parse(const char *text, struct akin_span *out);
/* Shortest form; "" for zeros. Returns @out. */
AKIN_API const char *akin_span_print(const struct akin_span *span,
				     char out[AKIN_SPAN_TEXT]);

struct akin_policy {
	/* Keep so many; 0: no such rule. */
	uint32_t last, hourly, daily, weekly, monthly, yearly;
	struct akin_span within;	/* zeros: no such rule */
	const char *const *tags;	/* keep what has one of them */
	uint32_t nr_tags;
};
AKIN_API bool akin_policy_is_empty(const struct akin_policy *policy);
/* The one stored in the pool, for akin_policy_release(); empty if none is. */
AKIN_API int akin_policy_get(struct akin_pool *p, struct akin_policy *out,
			     struct akin_diag *diag);
/* Store it. NULL or an empty one: there is none any more. */
AKIN_API int akin_policy_set(struct akin_pool *p,
			     const struct akin_policy *policy,
			     struct akin_diag *diag);
/* Only what akin_policy_get() has filled. */
AKIN_API void akin_policy_release(struct akin_policy *policy);

struct akin_forget_options {
	/* Just these, by number; a protected one makes the call fail, and
	 * policy and filter are not looked at. */
	const uint64_t *snapshots;
	uint32_t nr_snapshots;
	/* Otherwise by policy; NULL: the one stored in the pool. */
	const struct akin_policy *policy;
	/* Only among those that match; the others stay. May be NULL. */
	const struct akin_snapshot_filter *filter;
	bool dry_run;
	/*
	 * For each snapshot that was judged, before anything is changed: series
	 * by series, newest first. It is kept if there are reasons, such as
	 * "daily 2026-11-29" or "protected until 2027-01-01 00:00". @series
	 * changes with each series. Non-zero ends the call and is returned.
	 */
	int (*judged)(void *ctx, uint64_t series, const struct akin_snapshot *s,
		      const char *const *reasons, uint32_t nr_reasons);
	/*
	 * Nothing that was judged has this tag of the policy: is it misspelt?
	 * Before all else. (If tags are all there is to the policy and none of
	 * them is found, the call fails: -AKIN_E_usage.)
	 */
	void (*unused_tag)(void *ctx, const char *tag);
	void *ctx;
};

struct akin_forget_result {
	uint64_t series;
	uint64_t kept;
	uint64_t forgotten;	/* with dry_run: would be */
	/* To be forgotten, but labelled or forgotten by somebody else in the
	 * meantime: left alone. */
	uint64_t skipped;
};

/* *out is filled as far as the call came, also on errors. */
AKIN_API int akin_forget(struct akin_pool *p,
			 const struct akin_forget_options *opt,
			 struct akin_forget_result *out,
			 struct akin_diag *diag);

/* -AKIN_E_snap_unknown if it is not forgotten; -AKIN_E_snap_reclaimed if it is
 * too late. */
AKIN_API int akin_snapshot_undelete(struct akin_pool *p, uint64_t number,
				    struct akin_diag *diag);

/*
 * Protected until akin_snapshot_unprotect(), or, with @until, at least until
 * @until_sec. The date ends a protection only when as much time has certainly
 * passed as it was away: a clock that jumps forward ends nothing. What is
 * protected longer already is refused (usage).
 */
AKIN_API int akin_snapshot_protect(struct akin_pool *p, uint64_t number,
				   bool until, int64_t until_sec,
				   struct akin_diag *diag);
AKIN_API int akin_snapshot_unprotect(struct akin_pool *p, uint64_t number,
				     struct akin_diag *diag);

struct akin_tag_change {
	bool set;		/* drop all tags first */
	const char *const *add;
	uint32_t nr_add;
	const char *const *remove;
	uint32_t nr_remove;
};
AKIN_API int akin_snapshot_tag(struct akin_pool *p, uint64_t number,
			       const struct akin_tag_change *change,
			       struct akin_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
