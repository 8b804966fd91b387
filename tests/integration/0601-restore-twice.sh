#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A restore over its own result changes nothing; over a damaged one it mends.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/dir/deep"
for i in 1 2 3; do
	noise $((i * 100000)) "$i" >"$src/dir/f$i"
done
echo x >"$src/dir/deep/x"
ln -s f1 "$src/dir/link"
mkfifo "$src/dir/fifo"
new_pool
backup "$src"
restore "latest:$src" --target "$dst"
assert_summary files=4 files_skipped=0 bytes=600002
# Noise is stored as it is; beside it there are recipes and listings.
assert_between bytes_read "$(summary bytes_read)" 600000 610000
before=$(stat -c '%n %i' "$dst"/dir/f?)

restore "latest:$src" --target "$dst"
assert_summary files_skipped=4 warnings=0
assert_between bytes_read "$(summary bytes_read)" 1 10000
assert_eq inodes "$(stat -c '%n %i' "$dst"/dir/f?)" "$before"
assert_same_tree "$src" "$dst"

# As if the first had been interrupted, and somebody had been there.
rm -r "$dst/dir/deep" "$dst/dir/f1"
truncate -s 5000 "$dst/dir/f2"
chmod 600 "$dst/dir/f3"
ln -sfn elsewhere "$dst/dir/link"
rm "$dst/dir/fifo"
mkdir "$dst/dir/fifo"
restore "latest:$src" --target "$dst"
assert_summary files_skipped=1
assert_same_tree "$src" "$dst"

# Another name of a file was not there before; what could not be put in its
# place is not counted as restored.
mkdir "$tmp/names"
echo a >"$tmp/names/a"
ln "$tmp/names/a" "$tmp/names/b"
echo c >"$tmp/names/c"
backup "$tmp/names"
restore "latest:$tmp/names" --target "$tmp/back"
assert_summary files=3 files_skipped=0
restore "latest:$tmp/names" --target "$tmp/back"
assert_summary files=3 files_skipped=3
rm "$tmp/back/c"
mkdir -p "$tmp/back/c/full"
expect 3 akin restore --json "latest:$tmp/names" --target "$tmp/back"
assert_summary files=2 files_skipped=2
