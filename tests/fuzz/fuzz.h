/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. A target is a file with the one function that
 * libFuzzer calls; fuzz_replay_main.c calls it too, with what is in the
 * corpus. It returns 0, and aborts on what must not happen.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "format_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
