#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two backups at the same time both succeed, and both restore.
. "$(dirname "$0")/functions.sh"

for i in 1 2; do
	mkdir "$src$i"
	noise 8000000 "$i" >"$src$i/own"
	noise 4000000 common >"$src$i/common"
done
new_pool
for round in 1 2 3; do
	got1=0 got2=0
	akin backup --json "${src}1" >"$tmp/out1" 2>"$tmp/err1" &
	p1=$!
	akin backup --json "${src}2" >"$tmp/out2" 2>"$tmp/err2" &
	p2=$!
	wait $p1 || got1=$?
	wait $p2 || got2=$?
	assert_eq "exit codes ($(cat "$tmp/err1" "$tmp/err2"))" "$got1 $got2" "0 0"
	for i in 1 2; do
		out=$tmp/out$i
		assert_summary files=2 bytes=12000000 partial=false
		noise 3000000 "$round$i" >"$src$i/new$round"
		rm -f "$src$i/new$((round - 1))"
		mv "$src$i/own" "$src$i/own.moved" && mv "$src$i/own.moved" "$src$i/own"
	done
	rm -f "${src}"?/new"$round"
done
out=$tmp/out
assert_eq snapshots "$(nr_snapshots)" 6
for i in 1 2; do
	id=$(akin snapshots --json --path "$src$i" | jq -r .id | tail -n 1)
	restore "$id:$src$i" --target "$dst$i"
	assert_same_tree "$src$i" "$dst$i"
done
expect 0 akin check --read-data
