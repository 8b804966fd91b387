#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Made-up data: the same each time, counted by others, stored and compared
# generation by generation; and a pool finds what it is said to have.
. "$(dirname "$0")/functions.sh"

load=(--seed 7 --size 3M --streams 2 --unit 4K --dedup 2.5)
expect 0 "$AKIN" loadgen --json "${load[@]}"
assert_eq "plan" "$(jq -r '[.units, .distinct, .dedup] | join(" ")' "$out")" \
	"1536 614 2.501629"
"$AKIN" loadgen "${load[@]}" "$tmp/a"
"$AKIN" loadgen "${load[@]}" - >"$tmp/b"
cmp "$tmp/a" "$tmp/b"
assert_eq "counted" "$(python3 -c 'import sys
data = open(sys.argv[1], "rb").read()
blocks = [data[i:i + 4096] for i in range(0, len(data), 4096)]
print(len(blocks), len(set(blocks)))' "$tmp/a")" "1536 614"

# Half of it compresses away, by whatever.
"$AKIN" loadgen --size 2M --compressible 50% "$tmp/c"
assert_between "gzip" "$(gzip -c "$tmp/c" | wc -c)" 1006632 1090519

# What a pool finds in it: the ratio, and hardly more from a later generation.
new_pool --compression none --delta-depth 0
expect 0 akin loadgen --json --size 6M --streams 3 --dedup 3 --change 2% \
	--generations 3 --object-size 20K-800K --verify pool
assert_eq "generations" "$(jq -r 'select(.type == "generation") | .generation' \
	"$out" | paste -sd ' ')" "0 1 2"
new=$(jq -r 'select(.generation == 0) | .bytes_new' "$out")
# 144 units of 128 KiB, 48 different; chunks across their borders are new.
assert_between "new" "$new" $((48 * 131072)) $((48 * 131072 * 165 / 100))
new=$(jq -r 'select(.generation == 1) | .bytes_new' "$out")
assert_between "new later" "$new" 100000 1200000
assert_eq "snapshots" "$(nr_snapshots)" 3
akin get loadgen s00001/o000000 >"$tmp/object"
"$AKIN" loadgen --size 6M --streams 3 --dedup 3 --change 2% --generation 2 - >"$tmp/all"
first=$(akin objects --json -s latest loadgen s00000 | jq -s 'map(.bytes) | add')
cmp -i "0:$first" -n "$(stat -c %s "$tmp/object")" "$tmp/object" "$tmp/all"

# Offered slowly, it takes its time.
expect 0 akin loadgen --json --size 1M --streams 2 --seed 9 --offer 4M pool
assert_eq "offered" "$(jq -r 'select(.type == "generation") | .seconds >= 0.4' \
	"$out")" true

expect 2 "$AKIN" loadgen --dedup 0.5 -
expect 2 "$AKIN" loadgen --dedup 2 --random 10% -
expect 2 "$AKIN" loadgen --random 101% -
expect 2 "$AKIN" loadgen --edits 1:2 -
