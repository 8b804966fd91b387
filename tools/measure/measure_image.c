/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "measure_files.h"

#define HEADER 352
#define SIDE 64
#define SLICE (SIDE * SIDE)

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Sum of four bytes: bell-shaped, mean 510, deviation 148. */
static int noise(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return (int)((x & 255) + (x >> 8 & 255) + (x >> 16 & 255) +
		     (x >> 24 & 255));
}

/* Within an ellipsoid that touches no side; in units of 1/64 of half a side. */
static bool in_head(int x, int y, int z, int slices)
{
	int dx = (2 * x - SIDE) * 80 / SIDE, dy = (2 * y - SIDE) * 70 / SIDE;
	int dz = (2 * z - slices) * 72 / slices;

	return dx * dx + dy * dy + dz * dz < SIDE * SIDE;
}

static void header(unsigned char *to, int slices)
{
	static const unsigned char code[] = { 4, 0, 16, 0 };

	memset(to, 0, HEADER);
	to[0] = 348 & 255;
	to[1] = 348 >> 8;
	to[40] = 3;
	to[42] = to[44] = SIDE;
	to[46] = (unsigned char)slices;
	to[47] = (unsigned char)(slices >> 8);
	memcpy(to + 70, code, sizeof(code));
	memcpy(to + 344, "n+1", 4);
}

void measure_image(uint64_t subject, uint64_t nr, unsigned char *to, size_t n)
{
	size_t voxels = n > HEADER ? (n - HEADER) / 2 : 0, i;
	int slices = (int)((voxels + SLICE - 1) / SLICE), x, y, z, v;
	uint64_t state = mix(subject << 32 ^ nr ^ 0x6d7269) | 1;

	memset(to, 0, n);
	if (!voxels)
		return;
	header(to, slices);
	for (i = 0; i < voxels; i++) {
		x = (int)(i % SIDE);
		y = (int)(i / SIDE % SIDE);
		z = (int)(i / SLICE);
		if (in_head(x, y, z, slices))
			v = 300 + (int)(mix(subject << 20 ^ (uint64_t)(x / 6) <<
					    12 ^ (uint64_t)(y / 6) << 6 ^
					    (uint64_t)(z / 3)) % 700) +
			    noise(&state) / 16;
		else
			v = noise(&state) / 256;
		to[HEADER + 2 * i] = (unsigned char)v;
		to[HEADER + 2 * i + 1] = (unsigned char)(v >> 8);
	}
}
