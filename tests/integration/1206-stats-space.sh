#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What stats says adds up to what du says; what only one snapshot holds, and
# what forgetting some would free, is what reclaiming then frees.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_command python3

du_of() {
	du -s --block-size=1 "$pool/meta" "$pool/data" |
		awk '{ sum += $1 } END { print sum }'
}
stat_of() {
	jq -r "select(.type == \"$1\") | .$2" "$out"
}
check_du() {
	expect 0 akin stats --json
	assert_eq "bytes_total, $1" "$(stat_of stats bytes_total)" "$(du_of)"
	assert_eq "the parts, $1" "$(stat_of stats 'bytes_data +
		.bytes_meta_containers + .bytes_index + .bytes_catalog +
		.bytes_records + .bytes_other')" "$(du_of)"
}

mkdir "$src"
expect 0 "$AKIN" init --container-size 1M --delta-depth 0 "$pool"
check_du empty
noise 3000000 common >"$src/common"
ids=()
for v in 1 2 3 4; do
	noise 1500000 "own$v" >"$src/own"
	noise 1300000 "pair$(((v + 1) / 2))" >"$src/pair"
	backup "$src"
	ids+=("$(summary snapshot)")
	check_du "after $v"
done

# own1 is in the first only; pair1 in the first two.
expect 0 akin stats --space --json "${ids[@]:0:2}"
sole=$(jq -s 'map(select(.type == "sole") | .bytes) | min' "$out")
assert_between "only in one" "$sole" 1500000 1520000
assert_between "both" "$(stat_of space freed_bytes)" 4300000 4340000
said=$(stat_of space freed_bytes)
expect 0 akin stats --space "${ids[0]}" "${ids[0]}" "${ids[0]:0:9}"
assert_says "$out" "^only in ${ids[0]:0:8}: 1.4"
assert_eq lines "$(grep -c '^only in' "$out")" 1
expect 2 akin stats --space
check_du "after asking"

# A protected one may be asked about, and is protected still.
expect 0 akin protect "${ids[1]}"
expect 0 akin stats --space --json "${ids[1]}"
assert_between "protected" "$(stat_of sole bytes)" 1500000 1520000
expect 1 akin forget "${ids[1]}"
expect 0 akin unprotect "${ids[1]}"

expect 0 akin forget "${ids[@]:0:2}"
check_du forgotten
expect 0 akin gc --json
assert_eq freed "$(summary freed_bytes)" "$said"
check_du reclaimed
expect 0 akin check --read-data
