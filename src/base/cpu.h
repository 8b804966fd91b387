/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this processor can do, as one ordered level.
 *
 * A kernel asks for a level and has a portable twin with identical results.
 * AKIN_CPU=portable|ssse3|avx2|avx512 (or neon) lowers the level for tests and
 * benchmarks; it never raises it above what the processor has.
 */
#ifndef BASE_CPU_H
#define BASE_CPU_H

enum cpu_level {
	CPU_PORTABLE = 0,
	CPU_NEON,	/* aarch64 */
	CPU_SSSE3,
	CPU_AVX2,	/* AVX2 and BMI2 */
	CPU_AVX512,	/* AVX-512 F, BW, VL, VBMI, and GFNI */
};

/* What the processor has, AKIN_CPU ignored. */
enum cpu_level cpu_level_detected(void);
/* The level to use: the detected one, lowered by AKIN_CPU. Cheap. */
enum cpu_level cpu_level(void);
const char *cpu_level_name(enum cpu_level level);

#endif
