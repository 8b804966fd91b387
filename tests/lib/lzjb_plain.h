/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LZJB the plain way, an item and a byte at a time: what the codec is compared
 * with.
 */
#ifndef LZJB_PLAIN_H
#define LZJB_PLAIN_H

#include "base/types.h"

/* Bytes written; 0: does not fit into @cap by the rules of ZFS. */
size_t lzjb_plain_encode(const u8 *in, size_t n, u8 *out, size_t cap);
/* Exactly @raw_len bytes from all @n. */
bool lzjb_plain_decode(const u8 *in, size_t n, u8 *out, size_t raw_len);

#endif
