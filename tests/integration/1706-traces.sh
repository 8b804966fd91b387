#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Traces: counted, made into data that others count, and found by a pool.
. "$(dirname "$0")/functions.sh"

corpus=$(dirname "$0")/../fuzz/corpus
field() {
	jq -r "select(.type == \"$1\") | $2" "$out"
}

# Twice the same file system, then blocks that have nothing to do with it.
expect 0 "$AKIN" estimate --traces --json "$corpus/hashfile/v7-variable" \
	"$corpus/hashfile/v3-variable" "$corpus/blktrace/mail"
assert_eq formats "$(field trace .format | paste -sd ' ')" \
	"hashfile hashfile blktrace"
assert_eq blocks "$(field trace .blocks | paste -sd ' ')" "6 6 4"
assert_eq distinct "$(field trace .distinct | paste -sd ' ')" "3 3 6"
assert_eq unique "$(field trace .unique_bytes | paste -sd ' ')" \
	"23432 23432 35720"
assert_eq logical "$(field estimate .logical_bytes)" 81440
expect 0 "$AKIN" estimate --traces - <"$corpus/blktrace/homes"
assert_says "$out" '^blktrace +10 +5.00 KiB +7 +3.50 KiB +exact +1.43x'
expect 2 "$AKIN" estimate --traces "$corpus/distribution/example"
assert_says "$err" 'less than nine words'

# Two hundred writes of blocks, fifty different: a pool of such blocks finds
# exactly these, in a step of a bench too.
for ((i = 0; i < 200; i++)); do
	printf '%d 1 nfsd %d 8 W 6 0 %032x\n' $i $((i * 8)) $((i % 50 + 1))
done >"$tmp/trace"
expect 0 "$AKIN" loadgen --json --trace "$tmp/trace"
assert_eq plan "$(jq -r '[.units, .distinct, .bytes, .unit_bytes] | join(" ")' \
	"$out")" "200 50 819200 4096"
"$AKIN" loadgen --trace "$tmp/trace" - >"$tmp/data"
assert_eq counted "$(python3 -c 'import sys
data = open(sys.argv[1], "rb").read()
print(len(set(data[i:i + 4096] for i in range(0, len(data), 4096))))' \
	"$tmp/data")" 50
new_pool --fixed-blocks --chunk-size 4K
expect 0 akin loadgen --json --trace "$tmp/trace" --verify pool
assert_eq new "$(field generation .bytes_new)" $((50 * 4096))
expect 2 "$AKIN" loadgen --trace "$tmp/trace" --dedup 2
expect 2 "$AKIN" loadgen --trace "$tmp/trace" --trace "$tmp/trace"

mkdir "$tmp/pools"
TMPDIR=$tmp/pools expect 0 "$AKIN" bench --json --trace "$tmp/trace" \
	--trace "$corpus/hashfile/v7-variable" growth
assert_eq steps "$(field growth '.new_mb_per_s > 0' | paste -sd ' ')" \
	"true true"
