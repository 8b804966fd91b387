#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What another process forgets while all snapshots are searched is left out.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src"
# More than a pipe and all buffers before it hold.
for ((i = 0; i < 4000; i++)); do
	: >"$src/found-$i-$(printf '%0100d' "$i")"
done
new_pool
for n in 1 2 3; do
	backup --tag "v$n" "$src"
done
third=$(summary snapshot)

mkfifo "$tmp/found"
akin find 'found-*' >"$tmp/found" 2>"$err" &
finder=$!
pids+=("$finder")
exec 8<"$tmp/found"
read -r first <&8
# It is in the middle of the first one, and has listed all three.
expect 0 akin forget tag:v2
cat <&8 >"$out"
exec 8<&-
status=0
wait "$finder" || status=$?
assert_eq status "$status" 0
assert_eq errors "$(cat "$err")" ""
assert_eq "found in the others" "$(wc -l <"$out")" 7999
assert_eq "in the third" "$(grep -c "^${third:0:8}:" "$out")" 4000
[ -n "$first" ]

# One that is named must be there.
expect 1 akin find --snapshot tag:v2 'found-*'
