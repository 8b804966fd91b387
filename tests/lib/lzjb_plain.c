/* SPDX-License-Identifier: Apache-2.0 */
#include "lzjb_plain.h"

static u32 hash_of(const u8 *p)
{
	u32 h = (u32)p[0] * 65536 + (u32)p[1] * 256 + p[2];

	h += h >> 9;
	h += h >> 5;
	return h % 1024;
}

size_t lzjb_plain_encode(const u8 *in, size_t n, u8 *out, size_t cap)
{
	u16 table[1024] = { 0 };
	size_t pos = 0, o = 0, map = 0, dist, len;
	u32 item = 8, h;

	while (pos < n) {
		if (item == 8) {
			if (cap < 17 || o >= cap - 17)
				return 0;
			item = 0;
			map = o;
			out[o++] = 0;
		}
		if (pos + 66 > n) {
			out[o++] = in[pos++];
			item++;
			continue;
		}
		h = hash_of(in + pos);
		dist = (pos - table[h]) % 1024;
		table[h] = (u16)pos;
		for (len = 0; dist && dist <= pos && len < 66; len++) {
			if (in[pos + len] != in[pos + len - dist])
				break;
		}
		if (len >= 3) {
			out[map] |= (u8)(1u << item);
			out[o++] = (u8)((len - 3) << 2 | dist >> 8);
			out[o++] = (u8)dist;
			pos += len;
		} else {
			out[o++] = in[pos++];
		}
		item++;
	}
	return o;
}

bool lzjb_plain_decode(const u8 *in, size_t n, u8 *out, size_t raw_len)
{
	size_t i = 0, o = 0, dist, len;
	u32 item = 8;
	u8 map = 0;

	while (o < raw_len) {
		if (item == 8) {
			if (i == n)
				return false;
			map = in[i++];
			item = 0;
		}
		if (!(map >> item++ & 1)) {
			if (i == n)
				return false;
			out[o++] = in[i++];
			continue;
		}
		if (n - i < 2)
			return false;
		len = (in[i] >> 2) + 3u;
		dist = (in[i] & 3u) << 8 | in[i + 1];
		i += 2;
		if (!dist || dist > o || len > raw_len - o)
			return false;
		for (; len; len--, o++)
			out[o] = out[o - dist];
	}
	return i == n;
}
