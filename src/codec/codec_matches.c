/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A search for matches that is made for references.
 *
 * A group is mostly copied from its references, in long runs and in the same
 * order: between two runs there are a few changed bytes, after which the copy
 * goes on at the same distance. The library's search enters every third byte of
 * the references into a table before it begins, which takes two thirds of its
 * time (128 KiB against 384 KiB: 250 of 350 us), for matches of six bytes that
 * are seldom worth their distance. Here
 *
 *  - "far" knows every FAR_STEP-th position of the references, so that a run of
 *    FAR_STEP + 7 bytes is found wherever it begins;
 *  - "near" knows the positions of the group that were looked at: what is new
 *    in it repeats itself;
 *  - the last two distances are tried at every position before either.
 *
 * What begins in the middle of a run is extended backwards. The same files
 * (two releases apart) take 110 us, and 3 % more bytes.
 *
 * Both are addressed as one stream: the references' bytes at 0, the group's
 * behind them. A match lies in one of them.
 */
#include "base/mem.h"
#include "codec/codec_matches.h"

#define FAR_LOG 16
#define FAR_STEP 8
#define NEAR_LOG 14
#define NEAR_MIN 7
#define NO_POSITION UINT32_MAX
/* Bytes without a match, after which every second one is looked at, and so on:
 * 2^SKIP_LOG. */
#define SKIP_LOG 7
/*
 * With a match in less than MATCH_BYTES_MIN or more than a quarter in literals
 * it is not that kind of data, and the library finds better matches (a study of
 * noisy images: 4 % less).
 */
#define MATCH_BYTES_MIN 24
#define LITERALS_MAX_SHARE 4
#define MATCHES_MAX 8192
/* What copies next to nothing from its references in its first quarter is given
 * up there. */
#define DOUBTFUL_PART 4
#define REFERRED_MIN_PART 50

struct match_finder {
	u32 far[1 << FAR_LOG];
	u32 near[1 << NEAR_LOG];
	struct match matches[MATCHES_MAX];
};

struct match_finder *match_finder_new(void)
{
	return mem_alloc(sizeof(struct match_finder));
}

void match_finder_free(struct match_finder *mf)
{
	mem_free(mf);
}

/* One group's search, a block at a time. */
struct search {
	struct match_finder *mf;
	const u8 *ref, *data;
	u32 ref_len;		/* the group's first position */
	u32 at;			/* the position that is looked at */
	u32 anchor;		/* up to here all is told */
	u32 end;		/* of the block */
	u32 dist[2];		/* of the last matches */
	u32 nr, max;		/* of mf->matches */
	u32 nr_literals, max_literals;
	u32 referred;		/* bytes, as in match_tally */
	u32 doubtful;		/* from this position on it is looked at that */
};

/* Something that may begin at s->at. */
struct candidate {
	u32 from, len;
};

static u32 far_slot(u64 v)
{
	return (u32)(v * 0x9e3779b185ebca87ull >> (64 - FAR_LOG));
}

static u32 near_slot(u64 v)
{
	return (u32)((v << (64 - 8 * NEAR_MIN)) * 0x9e3779b185ebca87ull >>
		     (64 - NEAR_LOG));
}

static const u8 *bytes_at(const struct search *s, u32 at)
{
	return at < s->ref_len ? s->ref + at : s->data + (at - s->ref_len);
}

/* Up to where a match that begins at @from, before s->at, may be read. */
static u32 bytes_left(const struct search *s, u32 from)
{
	return from < s->ref_len ? s->ref_len - from : s->end - from;
}

static u32 equal_bytes(const u8 *a, const u8 *b, u32 max)
{
	u32 n = 0;
	u64 x;

	for (; max - n >= 8; n += 8) {
		x = get_le64(a + n) ^ get_le64(b + n);
		if (x)
			return n + (u32)__builtin_ctzll(x) / 8;
	}
	while (n < max && a[n] == b[n])
		n++;
	return n;
}

/* How long a match of s->at with @from is. */
static u32 match_length(const struct search *s, u32 from)
{
	u32 max = bytes_left(s, from), left = s->end - s->at;

	return equal_bytes(bytes_at(s, from), bytes_at(s, s->at),
			   left < max ? left : max);
}

static void note_near(struct search *s, u32 at)
{
	if (at >= s->ref_len && at + 8 <= s->end)
		s->mf->near[near_slot(get_le64(bytes_at(s, at)))] = at;
}

/* False: there is no more room. */
static bool tell(struct search *s, u32 from, u32 len)
{
	struct match *m = &s->mf->matches[s->nr];

	/* One is left for the end of the block. */
	if (s->nr + 1 >= s->max)
		return false;
	m->dist = s->at - from;
	m->literals = s->at - s->anchor;
	m->len = len;
	s->nr++;
	s->nr_literals += m->literals;
	s->referred += from < s->ref_len ? len : 0;
	if (m->dist != s->dist[0]) {
		s->dist[1] = s->dist[0];
		s->dist[0] = m->dist;
	}
	note_near(s, s->at + 2);
	s->at += len;
	s->anchor = s->at;
	note_near(s, s->at - 2);
	return true;
}

/* With what comes before, as far as it is not told yet. */
static bool tell_extended(struct search *s, struct candidate c)
{
	u32 floor = c.from < s->ref_len ? 0 : s->ref_len;

	while (s->at > s->anchor && c.from > floor &&
	       *bytes_at(s, s->at - 1) == *bytes_at(s, c.from - 1)) {
		s->at--;
		c.from--;
		c.len++;
	}
	return tell(s, c.from, c.len);
}

/* Do MATCHES_MIN bytes at @at come again from @dist back? */
static bool comes_again(const struct search *s, u32 at, u32 dist)
{
	u32 from = at - dist;

	return dist <= at && bytes_left(s, from) >= MATCHES_MIN &&
	       get_le32(bytes_at(s, from)) == get_le32(bytes_at(s, at));
}

/* Right behind a match: back at the distance before the last one? */
static bool tell_returns(struct search *s)
{
	u32 from;

	while (s->end - s->at >= MATCHES_MIN &&
	       comes_again(s, s->at, s->dist[1])) {
		from = s->at - s->dist[1];
		if (!tell(s, from, match_length(s, from)))
			return false;
	}
	return true;
}

/* The longer one of what the tables know. */
static struct candidate look_up(struct search *s)
{
	u64 v = get_le64(bytes_at(s, s->at)), w;
	u32 *slot = &s->mf->near[near_slot(v)];
	u32 far = s->mf->far[far_slot(v)], near = *slot, len;
	struct candidate c = { 0 };

	*slot = s->at;
	if (far != NO_POSITION && get_le64(s->ref + far) == v) {
		c.from = far;
		c.len = match_length(s, far);
	}
	if (near == NO_POSITION)
		return c;
	w = get_le64(bytes_at(s, near));
	if ((v ^ w) << (64 - 8 * NEAR_MIN))
		return c;
	len = match_length(s, near);
	if (len > c.len) {
		c.from = near;
		c.len = len;
	}
	return c;
}

static struct candidate find(struct search *s)
{
	struct candidate c;
	u32 i;

	for (i = 0; i < 2; i++) {
		if (!comes_again(s, s->at + 1, s->dist[i]))
			continue;
		s->at++;
		c.from = s->at - s->dist[i];
		c.len = match_length(s, c.from);
		return c;
	}
	return look_up(s);
}

/* After a part of the group, is anything of it in the references? */
static bool refers(struct search *s)
{
	s->doubtful = UINT32_MAX;
	return s->referred > (s->at - s->ref_len) / REFERRED_MIN_PART;
}

/* False: there is no room for so many, or it is not worth going on. */
static bool search_block(struct search *s)
{
	struct candidate c;
	struct match *last;

	s->at = s->anchor;
	while (s->end - s->at > 8) {
		c = find(s);
		if (!c.len && s->at >= s->doubtful && !refers(s))
			return false;
		if (!c.len)
			s->at += 1 + ((s->at - s->anchor) >> SKIP_LOG);
		else if (!tell_extended(s, c) || !tell_returns(s))
			return false;
		if (s->at > s->end)
			s->at = s->end;
	}
	last = &s->mf->matches[s->nr++];
	last->dist = last->len = 0;
	last->literals = s->end - s->anchor;
	s->nr_literals += s->end - s->anchor;
	s->anchor = s->end;
	return s->nr < s->max && s->nr_literals <= s->max_literals;
}

static void enter_references(struct match_finder *mf, const u8 *ref,
			     u32 ref_len)
{
	u32 i;

	memset(mf->far, 0xff, sizeof(mf->far));
	memset(mf->near, 0xff, sizeof(mf->near));
	for (i = 0; i + 8 <= ref_len; i += FAR_STEP)
		mf->far[far_slot(get_le64(ref + i))] = i;
}

size_t match_finder_run(struct match_finder *mf, const u8 *ref, size_t ref_len,
			const u8 *data, size_t n, const struct match **out,
			struct match_tally *tally_ret)
{
	struct search s = { .mf = mf, .ref = ref, .data = data };
	u32 end = (u32)(ref_len + n);
	bool found = true;

	s.ref_len = s.anchor = (u32)ref_len;
	/* And one for the end of each block. */
	s.max = (u32)min_u64(MATCHES_MAX, n / MATCH_BYTES_MIN +
				n / MATCHES_BLOCK_BYTES + 2);
	s.max_literals = (u32)(n / LITERALS_MAX_SHARE);
	/* As if the group were where the references begin. */
	s.dist[0] = ref_len ? s.ref_len : 1;
	s.dist[1] = 1;
	s.doubtful = s.ref_len + (u32)(n / DOUBTFUL_PART);
	enter_references(mf, ref, s.ref_len);
	while (found && s.anchor < end) {
		s.end = s.anchor + (u32)min_u64(end - s.anchor,
						MATCHES_BLOCK_BYTES);
		found = search_block(&s);
	}
	tally_ret->looked_at = (u32)max_u64(s.at, s.anchor) - s.ref_len;
	tally_ret->referred = s.referred;
	*out = mf->matches;
	return found ? s.nr : 0;
}
