/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is this file?
 */
#include "format/format_container.h"
#include "format/format_internal.h"
#include "format/format_parity.h"
#include "format/format_super.h"
#include "format/format_tree.h"

struct format_sign {
	const char *magic;
	enum format_kind kind;
	s32 at;			/* below 0: from the end */
};

static const struct format_sign signs[] = {
	{ FORMAT_MAGIC_SUPER, FORMAT_SUPER, 0 },
	{ FORMAT_MAGIC_HEADER, FORMAT_CONTAINER, 0 },
	{ FORMAT_MAGIC_DIRECTORY, FORMAT_DIRECTORY, 0 },
	{ FORMAT_MAGIC_RUN, FORMAT_RUN, 0 },
	{ FORMAT_MAGIC_SNAPSHOT, FORMAT_SNAPSHOT, 0 },
	{ FORMAT_MAGIC_LABEL, FORMAT_LABEL, 0 },
	{ FORMAT_MAGIC_PARITY, FORMAT_PARITY, 0 },
	{ FORMAT_MAGIC_RULEBOOK, FORMAT_RULEBOOK, 0 },
	/* The first bytes may be what is damaged. */
	{ FORMAT_MAGIC_FOOTER, FORMAT_CONTAINER, -CONTAINER_FOOTER_BYTES },
	{ FORMAT_MAGIC_SUPER, FORMAT_SUPER, SUPER_COPY_BYTES },
	{ FORMAT_MAGIC_PARITY, FORMAT_PARITY, -PARITY_HEAD_BYTES },
};

static bool format_has_sign(const u8 *data, size_t len,
			    const struct format_sign *s)
{
	size_t at = s->at < 0 ? len - (size_t)-s->at : (size_t)s->at;

	if (s->at < 0 && len < (size_t)-s->at)
		return false;
	return at <= len && len - at >= FORMAT_MAGIC_BYTES &&
	       !memcmp(data + at, s->magic, FORMAT_MAGIC_BYTES);
}

enum format_kind format_recognize(const void *data, size_t len)
{
	struct recipe_piece piece;
	struct node node;
	size_t i, total;

	for (i = 0; i < ARRAY_SIZE(signs); i++)
		if (format_has_sign(data, len, &signs[i]))
			return signs[i].kind;
	if (!recipe_piece_decode(data, len, &piece)) {
		recipe_piece_release(&piece);
		return FORMAT_PIECE;
	}
	if (!node_decode(data, len, &node, &total)) {
		node_release(&node);
		return FORMAT_LISTING;
	}
	return FORMAT_UNKNOWN;
}
