#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F21: a full file system: exit code 6, earlier snapshots whole, reading works,
# and once there is room everything goes on.
. "$(dirname "$0")/functions.sh"
requires_mount

mkdir "$src" "$tmp/big"
noise 3000000 1 >"$src/file"
noise 40000000 2 >"$tmp/big/file"
mount_tmpfs "$tmp/fs" 24m
pool=$tmp/fs/pool
new_pool --container-size 1M
backup "$src"

for i in 1 2 3; do
	expect 6 akin backup --json "$tmp/big"
	assert_says "$err" '[Nn]o space'
	assert_says "$err" "The file system of $pool/data is full"
	assert_eq snapshots "$(nr_snapshots)" 1
	expect 0 akin cat "latest:$src/file"
	cmp "$out" "$src/file"
	expect 0 akin check --read-data
done

# There is time yet, or not.
expect 0 akin stats
head -c 100M /dev/zero >"$tmp/fs/filler" 2>/dev/null || :
truncate -s -1M "$tmp/fs/filler"
expect 3 akin stats
assert_says "$err" '^akin: the file system of the data is nearly full: 1'
expect 3 akin stats --json
assert_eq full "$(jq -c 'select(.type == "stats") | .data_nearly_full' \
	"$out")" true
expect 0 akin metrics
assert_says "$out" '^akin_pool_nearly_full\{.*\} 1$'
rm "$tmp/fs/filler"
expect 0 akin metrics
assert_says "$out" '^akin_pool_nearly_full\{.*\} 0$'

# Not a byte left: reading still works.
head -c 100M /dev/zero >"$tmp/fs/filler" 2>/dev/null || :
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
expect 0 akin ls latest
rm "$tmp/fs/filler"

mount -o remount,size=100m "$tmp/fs"
backup "$tmp/big"
assert_summary bytes=40000000
akin cat "latest:$tmp/big/file" | cmp - "$tmp/big/file"
expect 0 akin check --read-data
