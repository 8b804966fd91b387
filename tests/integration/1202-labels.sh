#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tags that change, and snapshots that are protected.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
echo x >"$src/f"
new_pool
for i in 1 2 3; do
	backup --host h --tag "t$i" "$src"
	eval "s$i=$(summary snapshot)"
done
tags() {
	akin snapshots --json | jq -r "select(.id == \"$1\") | .tags | join(\",\")"
}
field() {
	akin snapshots --json "${@:3}" | jq -r "select(.id == \"$1\") | .$2"
}

expect 2 akin tag "$s1"
expect 2 akin tag --add x
expect 2 akin tag --add '' "$s1"
expect 2 akin tag --add x --set y "$s1"
expect 1 akin tag --add x ffffffffffff
expect 0 akin tag --add x --add t1 --add "with blank" "$s1"
assert_eq tags "$(tags "$s1")" "t1,x,with blank"
expect 0 akin tag --remove t1 --remove none "$s1"
assert_eq tags "$(tags "$s1")" "x,with blank"
expect 0 akin tag --set new "$s1" "$s2"
assert_eq tags "$(tags "$s1")" new
assert_eq tags "$(tags "$s2")" new
expect 0 akin tag --remove new "$s1"
assert_eq "no tags" "$(tags "$s1")" ""
expect 0 akin snapshots --tag t1
assert_eq "an old tag finds nothing" "$(grep -c "${s1:0:8}" "$out" || :)" 0
expect 0 akin cat "tag:new:$src/f"
expect 0 akin tag tag:t3 --add before
expect 0 akin ls tag:before
expect 0 akin inspect "$(find "$pool/data/snapshots" -name '*.label' | head -1)"
assert_says "$out" label
expect 0 akin check

# Protection.
expect 2 akin protect --until yesterday "$s1"
expect 2 akin protect --until 2027-02-30 "$s1"
expect 2 akin protect --until 2001-01-01 "$s1"
assert_says "$err" "has passed"
expect 0 akin protect "$s1"
expect 0 akin protect --until 2100-01-01 "$s2"
assert_eq protected "$(field "$s1" protected)" true
assert_eq until "$(field "$s1" protected_until)" null
assert_eq until "$(field "$s2" protected_until)" 2100-01-01T00:00:00.000000000Z
assert_eq "not protected" "$(field "$s3" protected)" false
expect 1 akin forget "$s3" "$s1"
assert_says "$err" "${s1:0:8} is protected"
assert_eq "all or none" "$(nr_snapshots)" 3
expect 1 akin forget "$s2"
assert_says "$err" "protected until 2100-01-01 00:00"
expect 0 akin forget --keep-last 1 --dry-run
assert_says "$out" "keep +${s1:0:8}.*  protected$"
assert_says "$out" "keep +${s2:0:8}.*  protected until 2100-01-01 00:00$"
expect 0 akin forget --keep-last 1
assert_eq "protected stay" "$(nr_snapshots)" 3

# Longer is fine, shorter is not.
expect 0 akin protect --until 2100-01-02 "$s2"
expect 2 akin protect --until 30d "$s2"
expect 2 akin protect --until 30d "$s1"
expect 0 akin unprotect "$s1" "$s2" "$s3"
expect 0 akin protect --until 30d "$s2"
expect 0 akin forget --keep-last 1 --json
assert_summary kept=2 forgotten=1
assert_eq forgotten "$(field "$s1" may_undelete --forgotten)" true

# Labels go with the snapshot and come back with it.
expect 0 akin unprotect "$s2"
expect 0 akin forget "$s2"
expect 1 akin tag --add late "$s2"
expect 0 akin undelete "$s2"
assert_eq tags "$(tags "$s2")" new
expect 0 akin check --read-data
