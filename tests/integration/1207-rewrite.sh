#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Paths dropped from snapshots: all else stays as it was, nothing is written
# but directories, and reclaiming returns what is gone.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_command python3

mkdir -p "$src/keep/deep" "$src/gone/below"
echo kept >"$src/keep/deep/f"
noise 1500000 keep >"$src/keep/big"
noise 3000000 gone >"$src/gone/below/secret"
echo alone >"$src/file"
echo other >"$src/file2"
ln "$src/file" "$src/keep/hard"
new_pool
backup --tag one "$src"
first=$(summary snapshot)
echo more >>"$src/keep/deep/f"
backup "$src"
second=$(summary snapshot)
echo 3 >"$src/file"
rm -r "$src/gone"
backup "$src"
third=$(summary snapshot)

data() {
	find "$pool/data/containers" -type f -printf '%s\n' |
		awk '{ sum += $1 } END { print sum + 0 }'
}
count() {
	akin snapshots --json "$@" | grep -c '"type":"snapshot"' || :
}

expect 2 akin rewrite latest
expect 2 akin rewrite --drop / latest
expect 1 akin rewrite --drop "$src/none" "$first" "$second"
assert_says "$err" "nothing was done"
expect 1 akin rewrite --drop "$src/gon" "$first"
expect 0 akin rewrite --drop "$src/gone" --dry-run "$first"
assert_says "$out" "would be rewritten"
expect 0 akin protect "$second"
expect 1 akin rewrite --drop "$src/gone" "$second"
assert_says "$err" "is protected"
expect 0 akin unprotect "$second"
assert_eq listed "$(count)" 3

before=$(data)
time1=$(akin snapshots --json | jq -r "select(.id == \"$first\") | .time")
expect 0 akin rewrite --json --drop "${src#/}/gone/" --drop "$src/file2" \
	"$first" "$second" "$third"
assert_eq dropped "$(jq -r 'select(.type == "rewritten") | .dropped' "$out" |
	paste -sd ' ')" "2 2 1"
assert_eq forgotten "$(jq -r 'select(.type == "rewritten") | .forgotten' \
	"$out" | sort -u)" true
new=$(jq -r 'select(.type == "rewritten") | .new_id' "$out" | head -1)
((data_grown = $(data) - before)) || :
assert_between "only directories" "$data_grown" 0 30000
assert_eq listed "$(count)" 3
assert_eq "the old ones" "$(count --forgotten)" 3
assert_eq "time and tags" "$(akin snapshots --tag one --json |
	jq -r 'select(.type == "snapshot") | .id + " " + .time')" "$new $time1"
assert_eq "counts" "$(akin snapshots --tag one --json |
	jq -r 'select(.type == "snapshot") | .bytes')" $((5 + 1500000 + 6 + 6))

expect 1 akin ls "$new:$src/gone"
expect 1 akin ls "$new:$src/file2"
restore "$new:$src" --target "$dst"
assert_eq tree "$(cd "$dst" && find . -type f | sort | paste -sd ' ')" \
	"./file ./keep/big ./keep/deep/f ./keep/hard"
assert_eq "one inode" "$(stat -c %i "$dst/file")" "$(stat -c %i "$dst/keep/hard")"
cmp "$src/keep/big" "$dst/keep/big" || fail content
expect 0 akin verify "latest:$src" --exclude file2

# It comes back until space is reclaimed; then it is gone.
expect 0 akin undelete "$first"
expect 0 akin cat "$first:$src/file2"
expect 0 akin forget "$first"
expect 0 akin gc --json
assert_between freed "$(summary freed_bytes)" 2900000 3200000
expect 0 akin check --read-data
expect 1 akin undelete "$first"

# Beside the old one, on request; and the next backup goes on from it.
expect 0 akin rewrite --drop "$src/keep" --keep-old latest
assert_says "$out" "the old one stays"
assert_eq listed "$(count)" 4
backup "$src"
expect 0 akin check --read-data
