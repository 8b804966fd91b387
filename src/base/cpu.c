/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

static const char *const level_names[] = {
	[CPU_PORTABLE] = "portable", [CPU_NEON] = "neon",
	[CPU_SSSE3] = "ssse3",	     [CPU_AVX2] = "avx2",
	[CPU_AVX512] = "avx512",
};

#if defined(__x86_64__)
enum cpu_level cpu_level_detected(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512vbmi") &&
	    __builtin_cpu_supports("gfni"))
		return CPU_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
		return CPU_AVX2;
	if (__builtin_cpu_supports("ssse3"))
		return CPU_SSSE3;
	return CPU_PORTABLE;
}
#elif defined(__aarch64__)
enum cpu_level cpu_level_detected(void)
{
	return CPU_NEON;
}
#else
enum cpu_level cpu_level_detected(void)
{
	return CPU_PORTABLE;
}
#endif

enum cpu_level cpu_level(void)
{
	enum cpu_level has = cpu_level_detected();
	const char *want = getenv("AKIN_CPU");
	int i;

	for (i = 0; want && i <= CPU_AVX512; i++) {
		if (strcmp(want, level_names[i]) == 0 && i < (int)has)
			return i == CPU_NEON ? CPU_PORTABLE : i;
	}
	return has;
}

const char *cpu_level_name(enum cpu_level level)
{
	return level_names[level];
}
