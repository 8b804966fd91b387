/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash of a few bits, so that fingerprints collide: for store_open_hashed().
 */
#ifndef WEAKHASH_H
#define WEAKHASH_H

#include "hash/hash.h"

/* 256 different fingerprints. */
extern const struct hash_ops weakhash_ops;

#endif
