#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Chunks by reference count, what was given and what it takes, and the list of
# pools: exact where the data is.
. "$(dirname "$0")/functions.sh"

row() {
	jq -r "select(.type == \"histogram_row\" and .references == $1) |
		[.chunks, .bytes_raw, .referenced_chunks, .referenced_raw] | join(\" \")" "$out"
}

# One block, very often: 32 MiB of zeros in blocks of 8 KiB.
new_pool --fixed-blocks --chunk-size 8K --compression none --delta-depth 0
head -c 32M /dev/zero | akin backup --quiet --stdin zeros
expect 0 akin stats --json --histogram
assert_eq "zeros" "$(row 4096)" "1 8192 4096 33554432"
expect 0 akin stats --histogram
assert_says "$out" '^    4K        1      8K .* +4K     32M '
assert_says "$out" '^dedup = 4096.00, compress = '
assert_says "$out" 'dedup \* compress / copies = 39[0-9][0-9]'

# Contents that occur once, twice and six times; then again in a snapshot that
# is forgotten, and one that is not.
printf '0 100\n1 50\n5 10\n' >"$tmp/distribution"
"$AKIN" loadgen --unit 8K --size 2080K --distribution "$tmp/distribution" "$tmp/load"
akin backup --quiet --stdin load <"$tmp/load"
akin backup --quiet --stdin load <"$tmp/load"
head -c 80K "$tmp/load" | akin backup --quiet --stdin part
noise 81920 other | akin backup --quiet --stdin other
akin forget latest >/dev/null
expect 0 akin stats --json --histogram
# 100 twice, 50 four times, 10 twelve times; and ten of them once more.
assert_eq "chunks" "$(jq -s 'map(select(.type == "histogram_row") | .chunks) |
	add' "$out")" 161
assert_eq "total" "$(jq -r 'select(.type == "histogram") |
	[.referenced_chunks, .unreferenced_chunks, .missing, .unreadable] |
	join(" ")' "$out")" "4626 10 0 0"
# In little memory there are passes, and the same comes out.
cp "$out" "$tmp/first"
expect 0 akin stats --json --histogram --memory 32M --threads 1
cmp <(grep histogram "$tmp/first") <(grep histogram "$out")

expect 0 akin stats --compression
assert_says "$out" '^Currently Used: '
assert_says "$out" '^  Last 24 hrs '
expect 0 akin stats --compression --json
assert_eq "rows" "$(jq -r 'select(.type == "compression") | .of' "$out" |
	paste -sd ' ')" "used week day"
assert_eq "product" "$(jq -r 'select(.of == "day") | (.global_comp * .local_comp /
	.total_comp * 1000 | round)' "$out")" 1000
expect 2 akin stats --histogram latest

expect 0 "$AKIN" pools "$pool"
assert_says "$out" '^NAME +SIZE +ALLOC'
assert_says "$out" "^$pool .* ONLINE$"
mkdir "$tmp/none"
expect 4 "$AKIN" pools --json "$tmp/none" "$pool"
assert_eq "health" "$(jq -r .health "$out" | paste -sd ' ')" "UNAVAIL ONLINE"
expect 0 akin pools --json
