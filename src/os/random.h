/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OS_RANDOM_H
#define OS_RANDOM_H

#include "base/diag.h"
#include "base/types.h"

/* From the kernel's generator; fit for keys. */
int random_bytes(void *out, size_t n, struct akin_diag *diag) __must_check;

#endif
