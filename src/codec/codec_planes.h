/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte planes: of an array of samples of 2 or 4 bytes, first the first bytes of
 * all samples, then the second, and so on. High bytes, which change little, no
 * longer stand between low ones, which are noise, so that an entropy coder has
 * something to gain by (the shuffle filter of HDF5 and others does the same).
 *
 * Bytes behind the last whole sample stay at the end. Any offset will do: where
 * the first sample begins only decides which plane comes first.
 */
#ifndef CODEC_PLANES_H
#define CODEC_PLANES_H

#include "base/types.h"

#define CODEC_PLANES_MAX 4

/* @nr is 2 or 4. @in and @out have @n bytes each and do not overlap. */
void codec_planes_split(u32 nr, const u8 *in, u8 *out, size_t n);
void codec_planes_join(u32 nr, const u8 *in, u8 *out, size_t n);

#endif
