#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Memory stays within the contract whatever the amount of data: noise, zeros,
# many small files, and a pool made with the slowest codec.
. "$(dirname "$0")/functions.sh"
requires_own_memory

mkdir "$src"
noise 150000000 >"$src/noise"
head -c 150000000 /dev/zero >"$src/zeros"
yes "$(noise 300 7 | base64 -w 0)" | head -c 100000000 >"$src/periodic" || :
new_pool
for memory in 128 64; do
	peak 0 "$AKIN" -p "$pool" --memory ${memory}M --threads 2 backup --json \
		--force "$src"
	assert_summary bytes=400000000
	assert_between "KiB of a backup in ${memory}M" "$kib" 1000 $((memory * 1024))
	peak 0 "$AKIN" -p "$pool" --memory ${memory}M --threads 2 restore --json \
		"latest:$src" --target "$tmp/dst$memory"
	assert_between "KiB of a restore in ${memory}M" "$kib" 1000 $((memory * 1024))
	cmp "$src/noise" "$tmp/dst$memory/noise"
	rm -r "$tmp/dst$memory"
done
