/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "base/mem.h"
#include "ingest/refgate.h"

/* A trial costs one more plain compression, a fifth of a gaining stream's work
 * per group at most. */
#define REFGATE_TRIAL_EVERY 16
/*
 * New files among changed ones are losses too: not the first one decides. In
 * virtual machines one group in ten gains, a dozen of them in a row.
 */
#define REFGATE_PATIENCE 8
/*
 * Groups without references after the row of losses; doubled with every trial
 * that is lost again. At the longest, trials are one in 33 groups; one that
 * resembles nothing takes half the time of a plain group more.
 */
#define REST_FIRST 4
#define REST_LONGEST 32
/* What does not shrink by one part in so many does not resemble anything that
 * would not be found as equal: pictures, archives, what is encrypted. */
#define DENSE_PART 15

struct refgate {
	pthread_mutex_t lock;	/* guards all */
	u32 shares;
	u32 nr_losses;		/* in a row */
	u32 rest;		/* groups to come without */
	u32 next_rest;
	u32 until_trial;
	u32 min_gain;		/* percent */
	bool returning;		/* from a rest: one trial decides */
	u64 plain_raw, plain_len;	/* what was compressed without */
	struct refgate_tally tally;
};

struct refgate *refgate_new(void)
{
	struct refgate *rg = mem_zalloc(sizeof(*rg));

	if (!rg)
		return NULL;
	pthread_mutex_init(&rg->lock, NULL);
	rg->shares = 1;
	rg->next_rest = REST_FIRST;
	rg->min_gain = REFGATE_MIN_GAIN;
	return rg;
}

struct refgate *refgate_share(struct refgate *rg)
{
	pthread_mutex_lock(&rg->lock);
	rg->shares++;
	pthread_mutex_unlock(&rg->lock);
	return rg;
}

void refgate_drop(struct refgate *rg)
{
	bool last;

	if (!rg)
		return;
	pthread_mutex_lock(&rg->lock);
	last = --rg->shares == 0;
	pthread_mutex_unlock(&rg->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&rg->lock);
	mem_free(rg);
}

void refgate_set_min_gain(struct refgate *rg, u32 percent)
{
	pthread_mutex_lock(&rg->lock);
	rg->min_gain = percent;
	pthread_mutex_unlock(&rg->lock);
}

enum ref_plan refgate_plan(struct refgate *rg)
{
	enum ref_plan plan = REF_GO;

	pthread_mutex_lock(&rg->lock);
	if (rg->rest > 0) {
		rg->rest--;
		rg->returning = true;
		plan = REF_REST;
	} else if (rg->returning || rg->until_trial == 0) {
		rg->until_trial = REFGATE_TRIAL_EVERY - 1;
		plan = REF_TRIAL;
	} else {
		rg->until_trial--;
	}
	pthread_mutex_unlock(&rg->lock);
	return plan;
}

void refgate_pass(struct refgate *rg)
{
	pthread_mutex_lock(&rg->lock);
	if (rg->rest > 0) {
		rg->rest--;
		rg->returning = true;
	}
	pthread_mutex_unlock(&rg->lock);
}

bool refgate_rests(struct refgate *rg)
{
	bool rests;

	pthread_mutex_lock(&rg->lock);
	rests = rg->rest > 0;
	pthread_mutex_unlock(&rg->lock);
	return rests;
}

static void note_gain_locked(struct refgate *rg)
{
	rg->nr_losses = 0;
	rg->rest = 0;
	rg->next_rest = REST_FIRST;
	rg->returning = false;
}

static void note_loss_locked(struct refgate *rg)
{
	rg->nr_losses++;
	/* Verdicts on groups that were under way change nothing any more. */
	if (rg->rest > 0 ||
	    (!rg->returning && rg->nr_losses < REFGATE_PATIENCE))
		return;
	rg->rest = rg->next_rest;
	rg->next_rest = (u32)min_u64(rg->next_rest * 2, REST_LONGEST);
}

/* Recent groups weigh more: the sums are halved now and then. */
static void note_plain_locked(struct refgate *rg, u32 raw_len, u32 plain_len)
{
	rg->plain_raw += raw_len;
	rg->plain_len += plain_len;
	if (rg->plain_raw > 2 * MiB) {
		rg->plain_raw /= 2;
		rg->plain_len /= 2;
	}
}

static u32 estimate_locked(const struct refgate *rg, u32 raw_len)
{
	if (!rg->plain_raw)
		return raw_len;
	return (u32)(raw_len * rg->plain_len / rg->plain_raw);
}

static bool gains_locked(const struct refgate *rg, u32 ref_len, u32 plain_len)
{
	return (u64)ref_len * 100 <= (u64)plain_len * (100 - rg->min_gain);
}

bool refgate_judge(struct refgate *rg, u32 raw_len, u32 ref_len, u32 plain_len)
{
	bool keep = false;

	pthread_mutex_lock(&rg->lock);
	if (plain_len)
		note_plain_locked(rg, raw_len, plain_len);
	if (ref_len) {
		keep = !plain_len || gains_locked(rg, ref_len, plain_len);
		if (keep)
			note_gain_locked(rg);
		else
			note_loss_locked(rg);
	}
	pthread_mutex_unlock(&rg->lock);
	return keep;
}

bool refgate_doubts(struct refgate *rg, u32 raw_len, u32 ref_len)
{
	bool doubts;

	pthread_mutex_lock(&rg->lock);
	doubts = !gains_locked(rg, ref_len, estimate_locked(rg, raw_len));
	pthread_mutex_unlock(&rg->lock);
	return doubts;
}

void refgate_lost(struct refgate *rg)
{
	pthread_mutex_lock(&rg->lock);
	note_loss_locked(rg);
	pthread_mutex_unlock(&rg->lock);
}

u32 refgate_plain_estimate(struct refgate *rg, u32 raw_len)
{
	u32 len;

	pthread_mutex_lock(&rg->lock);
	len = estimate_locked(rg, raw_len);
	pthread_mutex_unlock(&rg->lock);
	return len;
}

void refgate_count(struct refgate *rg, u32 raw_len, u64 plain_len,
		   u32 stored_len)
{
	pthread_mutex_lock(&rg->lock);
	rg->tally.raw_bytes += raw_len;
	rg->tally.plain_bytes += plain_len;
	rg->tally.stored_bytes += stored_len;
	pthread_mutex_unlock(&rg->lock);
}

void refgate_get_tally(struct refgate *rg, struct refgate_tally *out)
{
	pthread_mutex_lock(&rg->lock);
	*out = rg->tally;
	pthread_mutex_unlock(&rg->lock);
}

bool refgate_shrinks(struct refgate *rg)
{
	bool shrinks;

	pthread_mutex_lock(&rg->lock);
	shrinks = rg->plain_len / DENSE_PART * (DENSE_PART + 1) <=
		  rg->plain_raw;
	pthread_mutex_unlock(&rg->lock);
	return shrinks;
}
