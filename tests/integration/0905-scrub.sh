#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A pool read piece by piece: each round goes on where the last one ended, all
# of it comes to be read, and what is damaged is found and named.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 3000000 1 >"$src/one"
noise 3000000 2 >"$src/two"
new_pool --container-size 1M
backup "$src"
never=$(akin stats --json | jq 'select(.never_read != null) | .bytes_never_read')
[ "$never" -ge 6000000 ] || fail "$never bytes were never read"

expect 2 akin check --budget 5x
expect 2 akin check --budget 1M --read-data
expect 0 akin check --budget 2M
assert_says "$out" 'never read so far'
for ((i = 0; i < 6; i++)); do
	expect 0 akin check --budget 2M --json
	assert_summary findings=0
	left=$(summary bytes_never_read)
	[ "$left" != 0 ] || break
	assert_between "left to read" "$left" 1 $((never - 1000000))
	never=$left
done
assert_eq "never read" "$left" 0
akin stats >"$out"
assert_says "$out" 'all was read back since +20'
akin metrics >"$out"
assert_says "$out" '^akin_pool_never_read_bytes\{pool="[0-9a-f]+"\} 0$'
assert_says "$out" '^akin_pool_oldest_read_timestamp_seconds\{.*\} 1?[0-9]{9}$'

# What came since is due first; and what is damaged is found by time, too.
noise 1500000 3 >"$src/three"
backup "$src"
victim=$(find "$pool/data/containers" -type f -size +900k | sort | tail -n 1)
printf 'damage' | dd of="$victim" bs=1 seek=5000 conv=notrunc status=none
expect 5 akin check --budget 1h
assert_says "$out" '(one|two|three)'
assert_says "$out" 'DAMAGE'
akin stats >"$out"
assert_says "$out" 'read back badly +1 '
expect 5 akin check --budget 1s --json
