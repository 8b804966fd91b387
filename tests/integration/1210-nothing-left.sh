#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F35: when everything was forgotten and reclaimed, nothing leaks: no container,
# no record, and no more of the index than gc lets lie before it builds it anew;
# the next backup stores everything again.
. "$(dirname "$0")/functions.sh"
requires_command jq

files() {
	find "$pool/data/containers" "$pool/data/snapshots" "$pool/meta/tmp" \
		-type f | wc -l
}

mkdir "$src"
noise 4000000 1 >"$src/file"
new_pool --container-size 1M
for round in 1 2 3; do
	backup --force "$src"
	backup --force "$src"
	assert_summary bytes_new=0
	expect 0 akin forget --keep-last 1
	expect 0 akin gc --json
	expect 0 akin forget latest
	assert_eq "listed in round $round" "$(nr_snapshots)" 0
	expect 0 akin gc --json
	assert_between "freed in round $round" "$(summary freed_bytes)" \
		4000000 4400000
	expect 0 akin gc
	assert_eq "files in round $round" "$(files)" 0
	expect 0 akin check --read-data --json
	assert_summary findings=0 orphan_files=0 containers=0
	# The whole pool, but for the preallocated journal.
	assert_between "KiB in round $round" \
		"$(du -sk --apparent-size "$pool" | cut -f 1)" 1000 4000
done
backup "$src"
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
