/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reed-Solomon codes over the sectors of a stripe: Reed and Solomon,
 * "Polynomial Codes over Certain Finite Fields", J. SIAM 1960; with a Cauchy
 * matrix, as Bloemer et al., "An XOR-Based Erasure-Resilient Coding Scheme",
 * ICSI 1995, so that any k of the k + m sectors give all others. The
 * arithmetic is ISA-L's; the coefficients are in docs/format/parity.md.
 *
 * Thread safety: a coder is immutable once it is made.
 */
#ifndef PARITY_CODE_H
#define PARITY_CODE_H

#include "base/types.h"

struct parity_coder;

/* @k data and @m parity sectors, each at least 1, not more than 255 together.
 * Returns owned: parity_coder_free. NULL: out of memory. */
struct parity_coder *parity_coder_new(u32 k, u32 m);
/* NULL is fine. */
void parity_coder_free(struct parity_coder *c);

/* Add what data sector @j contributes, @len bytes of it, to all m parity
 * sectors, which begin as zeros. */
void parity_coder_add(const struct parity_coder *c, u32 j, const u8 *data,
		      u8 *const *parity, size_t len);
/*
 * Make those of the k sectors @data again that are @lost, from the others and
 * from the parity sectors that are not. @lost has k + m flags: data, then
 * parity. -AKIN_E_bad_data: more are lost than there is parity; then nothing
 * has changed. -AKIN_E_nomem.
 */
int parity_coder_heal(const struct parity_coder *c, const bool *lost,
		      u8 *const *data, u8 *const *parity, size_t len)
	__must_check;

#endif
