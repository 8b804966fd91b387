/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes, rates, durations and times, from text and to text.
 *
 * In: K, M, G, T, P and KiB, MiB... are powers of 1024, KB, MB... of 1000;
 * case does not matter; a fraction is allowed ("1.5G"). Out: always KiB, MiB,
 * GiB..., powers of 1024.
 */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "akin/pool.h"

#define CLI_UNIT_TEXT 24

/* 0, or -1 if @s is no size, or larger than 2^64 - 1. */
int cli_parse_size(const char *s, uint64_t *out);
/* A size a second; "/s" behind it is optional. */
int cli_parse_rate(const char *s, uint64_t *out);
int cli_parse_count(const char *s, unsigned max, unsigned *out);

/* A share of something: "5%" (1 to 100) or a size. */
struct cli_share {
	bool given;
	unsigned percent;	/* 0: @bytes counts, or all of it if 0 too */
	uint64_t bytes;
};
int cli_parse_share(const char *s, struct cli_share *out);

/* How much work: a time ("90s", "10m", "2h", "1d") or a size ("50G"). */
struct cli_budget {
	bool given;
	uint64_t ns;		/* 0: @bytes counts */
	uint64_t bytes;
};
int cli_parse_budget(const char *s, struct cli_budget *out);

/* How slow disks are made; zeros: not at all. */
struct cli_throttle {
	struct akin_throttle meta, data;
};
/*
 * "meta=IOPS,RATE data=IOPS,RATE" or one of them; what is not named stays. A
 * RATE without a unit is MB a second; either number may be missing or 0.
 */
int cli_parse_throttle(const char *s, struct cli_throttle *out);

/* "512 B", "1.50 KiB", "12.3 MiB": three digits. Returns @out. */
const char *cli_size_text(uint64_t bytes, char out[CLI_UNIT_TEXT]);
/* "file" or "files". */
#define cli_plural(n, word) ((n) == 1 ? word : word "s")
/* "0.42 s", "12.3 s", "3m05s", "2h04m". */
const char *cli_duration_text(uint64_t ns, char out[CLI_UNIT_TEXT]);

/*
 * Local time, "2024-05-01 12:34:56"; "@SECONDS" for years that have no four
 * digits or that the C library cannot express. Returns @out.
 */
const char *cli_time_text(int64_t sec, char out[CLI_UNIT_TEXT]);

/*
 * Local time, "2027-01-31", "2027-01-31 12:00", "2027-01-31T12:00:30", or
 * "@SECONDS"; -1 if it is none, or no such date.
 */
int cli_parse_time(const char *s, int64_t *out);

#define CLI_TIME_ISO 40
/* "2024-05-01T12:34:56.123456789Z"; false where there is no such text. */
bool cli_time_iso(int64_t sec, uint32_t nsec, char out[CLI_TIME_ISO]);

#endif
