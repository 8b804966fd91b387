#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Forgetting by name and by policy, what is shown of it, and undeleting.
# F34: a misspelt rule is an error, series with a common prefix are apart, the
# last snapshot of a series stays, --dry-run says what keeps each.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/home" "$src/home2"
echo one >"$src/home/f"
echo two >"$src/home2/f"
new_pool

# back_up HOST PATH [OPTION]...: its id in $id.
back_up() {
	backup --host "$1" "${@:3}" "$2"
	id=$(summary snapshot)
}
# ids [OPTION]...: of those that are listed, oldest first, shortened.
ids() {
	akin snapshots --json "$@" |
		jq -r 'select(.type == "snapshot") | .id[:8]' | paste -sd ' '
}
# reasons ID: from the last output of forget.
reasons() {
	jq -r "select(.type == \"snapshot\" and .id == \"$1\") |
		if .keep then .reasons | join(\", \") else \"forget\" end" "$out"
}

back_up a "$src/home" --tag nightly
a1=$id
back_up a "$src/home"
a2=$id
back_up a "$src/home" --tag keep
a3=$id
back_up a "$src/home"
a4=$id
back_up a "$src/home2"
p1=$id
back_up aa "$src/home"
q1=$id
all="${a1:0:8} ${a2:0:8} ${a3:0:8} ${a4:0:8} ${p1:0:8} ${q1:0:8}"
assert_eq listed "$(ids)" "$all"

# Nothing to go by; nonsense; both.
expect 2 akin forget
assert_says "$err" "there is no policy"
for bad in --keep-last=0 --keep-last=x --keep-daily=-1 --keep-daily=1.5 \
	--keep-within=2 --keep-within=2q --keep-within=d --keep-within=1d1y \
	--keep-within= --keep-tag= --keep-fortnightly=2 --keep-dayly=3 \
	--keep-last= --keep-yearly=99999999999; do
	expect 2 akin forget "$bad"
done
expect 2 akin forget --keep-last 1 latest
expect 2 akin forget --no-keep-last
expect 1 akin forget 0000000000000000
assert_says "$err" "no such snapshot"
assert_eq "still listed" "$(ids)" "$all"

# A dry run explains each and changes nothing.
today=$(date +%F)
expect 0 akin forget --keep-last 2 --keep-tag keep --dry-run --json
assert_eq a1 "$(reasons "$a1")" forget
assert_eq a2 "$(reasons "$a2")" forget
assert_eq a3 "$(reasons "$a3")" "last 2, tag keep"
assert_eq a4 "$(reasons "$a4")" "last 1"
assert_eq p1 "$(reasons "$p1")" "last 1"
assert_summary dry_run=true series=3 kept=4 forgotten=2 skipped=0
expect 0 akin forget --keep-daily 1 --keep-within 1h --dry-run
assert_says "$out" "keep +${a4:0:8} .*daily (20[0-9-]+), within 1h"
expect 0 akin forget --keep-tag keep --dry-run --json
assert_eq "the last of a series" "$(reasons "$q1")" newest
assert_eq a3 "$(reasons "$a3")" "tag keep"
assert_eq a4 "$(reasons "$a4")" newest
assert_summary kept=4 forgotten=2
# A misspelt tag: worth a word, and an error where it is all there is.
expect 2 akin forget --keep-tag keeep
assert_says "$err" "nothing was forgotten"
expect 0 akin forget --keep-tag keeep --keep-tag keep --dry-run
assert_says "$err" "no snapshot has the tag keeep"
expect 0 akin forget --keep-last 9 --keep-tag keeep
assert_says "$err" "no snapshot has the tag keeep"
assert_eq "listed after dry runs" "$(ids)" "$all"

# By filter only what matches is judged.
expect 0 akin forget --host a --path "$src/home" --tag nightly --keep-last 1 \
	--dry-run --json
assert_summary series=1 kept=1 forgotten=0
expect 0 akin forget --host b --keep-last 1 --json
assert_summary series=0 kept=0 forgotten=0

# In earnest.
expect 0 akin forget --keep-last 2 --json
assert_summary dry_run=false series=3 kept=4 forgotten=2
assert_eq listed "$(ids)" "${a3:0:8} ${a4:0:8} ${p1:0:8} ${q1:0:8}"
assert_eq forgotten "$(ids --forgotten)" "${a1:0:8} ${a2:0:8}"
expect 1 akin ls "$a1"
expect 1 akin forget "$a1"
expect 0 akin check
assert_says "$out" "no damage found"
[ "$(find "$pool/data/snapshots" -name '*.gone' | wc -l)" = 2 ] ||
	fail "tombstones"
expect 0 akin inspect "$(find "$pool/data/snapshots" -name '*.gone' | head -1)"
expect 0 akin forget --keep-last 2
assert_says "$out" "kept 4, forgotten 0"

# And back.
expect 1 akin undelete "$a3"
expect 0 akin undelete "$a1" "${a2:0:8}"
assert_eq listed "$(ids)" "$all"
assert_eq forgotten "$(ids --forgotten)" ""
expect 0 akin cat "$a1:$src/home/f"
assert_eq content "$(cat "$out")" one
[ -z "$(find "$pool/data/snapshots" -name '*.gone')" ] || fail "tombstones"

# By name even the last of a series goes.
expect 0 akin forget --json "$q1" "$p1" "${p1:0:10}"
assert_summary forgotten=2
assert_eq listed "$(ids)" "${a1:0:8} ${a2:0:8} ${a3:0:8} ${a4:0:8}"
expect 0 akin undelete latest
assert_eq forgotten "$(ids --forgotten)" "${p1:0:8}"

# The policy.
expect 0 akin policy
assert_says "$err" "no policy"
expect 2 akin policy set
expect 2 akin policy --keep-last 3
expect 2 akin policy clear --keep-last 3
expect 2 akin policy drop
expect 0 akin policy set --keep-last 1 --keep-monthly 12 --keep-within 1y6m2w \
	--keep-tag keep --keep-tag "two words"
expect 0 akin policy
assert_eq policy "$(paste -sd ' ' "$out")" "--keep-last 1 --keep-monthly 12 \
--keep-within 1y6m14d --keep-tag keep --keep-tag 'two words'"
expect 0 akin policy show --json
assert_eq json "$(jq -c . "$out")" '{"type":"policy","keep_last":1,'\
'"keep_monthly":12,"keep_within":"1y6m14d","keep_tags":["keep","two words"]}'
expect 0 akin policy set --keep-last 1 --keep-tag keep
expect 0 akin forget --json
assert_summary series=2 kept=3 forgotten=2
assert_eq listed "$(ids)" "${a3:0:8} ${a4:0:8} ${q1:0:8}"
expect 0 akin policy clear
expect 2 akin forget

# Without write access it can be tried out.
expect 0 akin forget --keep-last 1 --dry-run
assert_says "$out" "would be forgotten 1"
expect 0 akin check --read-data

# And the space at once: afterwards there is nothing to be had back.
expect 0 akin forget --keep-last 1 --gc --dry-run
assert_says "$out" "^would be freed: "
expect 0 akin forget --keep-last 1 --gc
assert_says "$out" "forgotten 1"
assert_says "$out" "^freed: "
assert_eq listed "$(ids)" "${a4:0:8} ${q1:0:8}"
expect 0 akin check --read-data
expect 0 akin cat "$a4:$src/home/f"
assert_eq content "$(cat "$out")" one
