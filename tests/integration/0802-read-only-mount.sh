#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# F47: a pool on a read-only mount: everything that reads works, also beside
# nobody's locks.
. "$(dirname "$0")/functions.sh"
requires_mount

mkdir "$src"
noise 1000000 >"$src/file"
new_pool
backup "$src"
mkdir "$tmp/ro"
mount --bind "$pool" "$tmp/ro"
mounts+=("$tmp/ro")
mount -o remount,bind,ro "$tmp/ro" || skip "no read-only bind mounts"
pool=$tmp/ro
expect 0 akin snapshots
expect 0 akin ls latest
expect 0 akin stats
expect 0 akin check --read-data
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
got=0
akin backup "$src" >"$out" 2>"$err" || got=$?
[ $got != 0 ] || fail "a backup onto a read-only mount"
assert_says "$err" '[Rr]ead-only'
