#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F45: pools cut with keys of their own, so that the lengths of chunks do not
# tell which known file was stored; pools made alike cut alike.
. "$(dirname "$0")/functions.sh"

mkdir "$src"
for i in 1 2 3 4 5 6; do
	noise 2000000 "$i" >"$src/f$i"
done
# Numbers of chunks of each file in the pool $1.
cuts() {
	local i
	pool=$1
	for i in 1 2 3 4 5 6; do
		backup "$src/f$i"
		summary chunks
	done | paste -sd ' '
}
"$AKIN" init --quiet "$tmp/a"
"$AKIN" init --quiet "$tmp/b"
"$AKIN" init --quiet --like "$tmp/a" "$tmp/c"
cuts "$tmp/a" >"$tmp/cuts-a"
cuts "$tmp/b" >"$tmp/cuts-b"
cuts "$tmp/c" >"$tmp/cuts-c"
cmp "$tmp/cuts-a" "$tmp/cuts-c"
! cmp -s "$tmp/cuts-a" "$tmp/cuts-b" || fail "two keys cut alike: $(cat "$tmp/cuts-a")"

# The average is what was asked for, whatever the key.
for p in a b; do
	n=$(awk '{ for (i = 1; i <= NF; i++) n += $i } END { print n }' "$tmp/cuts-$p")
	assert_between "bytes of a chunk" $((12000000 / n)) 6000 13000
done
