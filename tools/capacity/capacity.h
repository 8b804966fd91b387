/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What storage systems hold, calculated.
 *
 * Five calculators behind one call: the Sun Storage 7000, OpenZFS, NetApp's
 * block sharing, akin's own pools, and whether an estimate fits a box. The
 * formulas and their sources are in docs/design/capacity.md. No C library, no
 * I/O, no allocation, no clock: the command and a page run the same code.
 *
 * Thread safety: no state; calls with arguments of their own are independent.
 */
#ifndef CAPACITY_H
#define CAPACITY_H

#include "akin/error.h"
#include "capacity_text.h"

enum cap_kind {
	CAP_SUN7000, CAP_ZFS, CAP_NETAPP, CAP_AKIN, CAP_PLAN,
	CAP_NR_KINDS
};

/* Parameters, as text; see cap_param_name(). */
enum cap_param {
	CAP_DISK,
	/* zfs */
	CAP_ASHIFT, CAP_RECORDSIZE, CAP_DISK_LOSS, CAP_SLOP_SHIFT,
	/* netapp */
	CAP_DATA, CAP_DISTINCT, CAP_USED, CAP_SAVED, CAP_RELEASE,
	/* akin, plan */
	CAP_DEDUP, CAP_COMPRESSION, CAP_CHANGE, CAP_CHANGE_COMPRESSION,
	CAP_GROWTH, CAP_KEEP, CAP_CHUNK_SIZE, CAP_META_DISK, CAP_RAM, CAP_YEARS, CAP_FROM,
	CAP_NR_PARAMS
};

#define CAP_MAX_WORDS 256

/* Strings are borrowed during the call. Zeroed, then filled. */
struct cap_request {
	enum cap_kind kind;
	const char *words[CAP_MAX_WORDS];	/* operands behind the kind */
	unsigned nr_words;
	const char *params[CAP_NR_PARAMS];	/* NULL: not given */
	const char *estimate;	/* plan: JSON, @estimate_len bytes */
	size_t estimate_len;
	bool explain, json;
	bool both;		/* as a page wants it; see capacity_doc.h */
};

/* "sun7000"; -1 if there is no such kind. */
const char *cap_kind_name(enum cap_kind kind);
int cap_kind_find(const char *name);
/* "disk", as in --disk; which kinds know it. */
const char *cap_param_name(enum cap_param param);
bool cap_param_applies(enum cap_param param, enum cap_kind kind);

/*
 * A request from one line a word: KIND, operands, --NAME=VALUE, --explain,
 * --json, --both. @text is written to and borrowed by @r. -AKIN_E_usage.
 */
int cap_request_parse(char *text, struct cap_request *r,
		      struct akin_diag *diag);

/*
 * Calculates and appends the result to @out. If @out is too small out->cut is
 * set and the result is useless; nothing bad happens. -AKIN_E_usage for what
 * cannot be, with a message that says what could.
 */
int cap_run(const struct cap_request *r, struct cap_text *out,
	    struct akin_diag *diag);

#endif
