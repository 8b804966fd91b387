#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F18: on a full file system snapshots can be forgotten, had back, and their
# space returned, with no byte free at the start.
. "$(dirname "$0")/functions.sh"
requires_mount

mkdir "$src"
mount_tmpfs "$tmp/fs" 32m
pool=$tmp/fs/pool
new_pool --container-size 1M
noise 4000000 1 >"$src/file"
backup "$src"
cp "$src/file" "$tmp/first"
for i in 2 3 4 5; do
	noise 4000000 "$i" >"$src/file"
	backup "$src"
done
noise 20000000 6 >"$tmp/big"
expect 6 akin backup "$tmp/big"

head -c 100M /dev/zero >"$tmp/fs/filler" 2>/dev/null || :
assert_eq "bytes free" "$(df --output=avail "$tmp/fs" | tail -1 | tr -d ' ')" 0
expect 0 akin forget --keep-last 2 --json
assert_summary kept=2 forgotten=3
expect 0 akin snapshots --forgotten --json
oldest=$(jq -r .id "$out" | head -1)
expect 0 akin undelete "$oldest"
expect 0 akin cat "$oldest:$src/file"
cmp "$out" "$tmp/first"
expect 0 akin forget "$oldest"
expect 0 akin check --read-data
expect 0 akin gc --json
assert_between "bytes freed" "$(summary freed_bytes)" 11000000 13000000
assert_between "KiB free" \
	"$(df --output=avail "$tmp/fs" | tail -1 | tr -d ' ')" 10000 14000
expect 0 akin check --read-data
rm "$tmp/fs/filler"
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
backup "$tmp/big"
