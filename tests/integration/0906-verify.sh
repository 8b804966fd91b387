#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --verify: what is compared, what is stored anew, who decides.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
noise 3000000 1 >"$src/one"
noise 3000000 2 >"$src/two"
cat "$src/one" "$src/one" >"$src/twice"

# A pool says nothing: fingerprints are trusted.
new_pool --container-size 1M
expect 0 akin stats --json
assert_eq "verify" "$(jq -r 'select(.type == "stats") | .verify' "$out")" off
expect 0 akin backup --json "$src"
assert_summary chunks_compared=0
expect 0 akin backup --json --force "$src"
assert_summary chunks_compared=0 chunks_new=0

# Said for one run; everything is there and equal.
expect 0 akin backup --json --force --verify match "$src"
assert_summary chunks_new=0 chunks_collided=0 chunks_unreadable=0
assert_eq "compared" "$(summary chunks_compared)" "$(summary chunks)"
expect 0 akin backup --force --verify match --dry-run --json "$src"
assert_eq "compared" "$(summary chunks_compared)" "$(summary chunks)"
# What is taken from the parent is not read.
expect 0 akin backup --json --verify match "$src"
assert_summary chunks_compared=0
# A stream too.
expect 0 akin backup --json --verify match --stdin s <"$src/two"
assert_summary chunks_new=0
assert_eq "compared" "$(summary chunks_compared)" "$(summary chunks)"

# A damaged copy is noticed, stored anew, and old snapshots are whole again.
victim=$(find "$pool/data/containers" -type f -size +800k | sort | head -n 1)
printf '\377' | dd of="$victim" bs=1 seek=500000 conv=notrunc status=none
expect 0 akin backup --json --force "$src"
assert_summary chunks_new=0
expect 0 akin backup --json --force --verify match "$src"
[ "$(summary chunks_unreadable)" -ge 1 ] || fail "the damage was not noticed"
assert_eq "stored anew" "$(summary chunks_new)" "$(summary chunks_unreadable)"
assert_says "$err" 'stored anew'
expect 0 akin stats --json
[ "$(jq 'select(.type == "stats") | .damaged' "$out")" -ge 1 ] ||
	fail "the damage was not remembered"
expect 0 akin restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"

# A pool that says so, for all its backups; one may say otherwise.
rm -rf "$pool" "$dst"
new_pool --verify write
expect 0 akin stats
assert_says "$out" '^verification  *write'
expect 0 akin backup --json "$src"
[ "$(summary chunks_compared)" -ge 1 ] || fail "a repeat was not compared"
[ "$(summary chunks_new)" -lt "$(summary chunks)" ] || fail "a repeat was not found"
expect 0 akin backup --json --force --verify off "$src"
assert_summary chunks_compared=0
expect 0 akin check --read-data
expect 0 akin restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"

# Who configures it says for which command.
printf '[backup]\nverify = match\n' >"$tmp/conf"
AKIN_CONFIG=$tmp/conf expect 0 akin backup --json --force "$src"
assert_eq "compared" "$(summary chunks_compared)" "$(summary chunks)"
printf 'verify = match\n' >"$tmp/conf"
AKIN_CONFIG=$tmp/conf expect 2 akin backup "$src"
expect 2 akin backup --verify often "$src"
assert_says "$err" 'off|match|write'
expect 2 akin init --verify yes "$tmp/other"
