#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What did not change is not read; what did is; --force reads everything and
# stores nothing new.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/dir"
for i in 1 2 3 4 5; do
	noise $((i * 10000)) "$i" >"$src/dir/f$i"
done
new_pool
backup "$src"
assert_summary files=5 files_unchanged=0 bytes_read=150000 bytes_new=150000
first=$(summary snapshot)

backup "$src"
assert_summary files=5 files_unchanged=5 bytes=150000 bytes_read=0 \
	chunks_new=0 bytes_new=0 parent="$first"

# Another time, the same bytes: read, found, not stored.
touch -d '2001-02-03 04:05:06.7' "$src/dir/f3"
backup "$src"
assert_summary files_unchanged=4 bytes_read=30000 bytes_new=0

# Same size and mtime, other bytes: ctime tells.
cp -p "$src/dir/f2" "$tmp/old"
noise 20000 99 >"$src/dir/f2"
touch -r "$tmp/old" "$src/dir/f2"
backup "$src"
assert_summary files_unchanged=4 bytes_read=20000 bytes_new=20000

backup --force "$src"
assert_summary files=5 files_unchanged=0 bytes_read=150000 bytes_new=0 \
	chunks_new=0

# Another host or other paths have no parent, but share the data.
backup --host elsewhere "$src"
assert_summary files_unchanged=0 bytes_read=150000 bytes_new=0 parent=null
backup "$src" "$tmp/old"
assert_summary files=6 files_unchanged=0 bytes_new=0 parent=null
assert_eq snapshots "$(nr_snapshots)" 7

# Each restores to what it was.
restore "latest:$src" --target "$dst"
assert_same_tree "$src" "$dst"
