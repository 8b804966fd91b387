/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "store/store_live.h"

/* Read at a time. */
#define COMPARE_BYTES (64 * KiB)

int live_compare_init(struct live_compare *c)
{
	c->buf = mem_alloc(COMPARE_BYTES);
	return c->buf ? 0 : -AKIN_E_nomem;
}

void live_compare_release(struct live_compare *c)
{
	mem_free(c->buf);
	c->buf = NULL;
}

void live_compare_begin(struct live_compare *c, struct source_file *f)
{
	c->file = f;
	c->have = c->used = c->hole_left = 0;
	c->differs = false;
	c->err = 0;
	diag_clear(&c->diag);
}

/* The file's next bytes: data in buf or zeros of a hole. */
static bool more(struct live_compare *c)
{
	struct source_piece piece;
	int got;

	if (c->used < c->have || c->hole_left)
		return true;
	got = source_file_read(c->file, c->buf, COMPARE_BYTES, &piece,
			       &c->diag);
	c->err = got < 0 ? got : 0;
	if (got <= 0)
		return false;
	c->used = 0;
	c->have = piece.type == SOURCE_DATA ? piece.len : 0;
	c->hole_left = piece.type == SOURCE_HOLE ? piece.len : 0;
	return true;
}

static bool is_zero(const u8 *p, u64 n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, (size_t)n - 1) == 0);
}

void live_compare_data(struct live_compare *c, const u8 *data, u64 len)
{
	const u8 *have;
	u64 n;

	while (len && !c->differs) {
		if (!more(c)) {
			c->differs = true;
			return;
		}
		n = min_u64(len, c->hole_left ? c->hole_left :
				 c->have - c->used);
		have = c->hole_left ? NULL : c->buf + c->used;
		if (have && data)
			c->differs = memcmp(have, data, (size_t)n) != 0;
		else if (have || data)
			c->differs = !is_zero(have ? have : data, n);
		if (c->hole_left)
			c->hole_left -= n;
		else
			c->used += n;
		if (data)
			data += n;
		len -= n;
	}
}

bool live_compare_end(struct live_compare *c)
{
	if (!c->differs && (more(c) || c->err))
		c->differs = true;
	return !c->differs;
}
