#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A snapshot against live data: every kind of difference is found and nothing
# else, the exit code tells, nothing is written.
. "$(dirname "$0")/functions.sh"
requires_command jq
requires_command python3

mkdir -p "$src/dir/deep/er" "$src/empty"
echo one >"$src/one"
echo two >"$src/two"
noise 300000 >"$src/big"
truncate -s 5M "$src/holes"
printf 'x' | dd of="$src/holes" bs=1 seek=3000000 conv=notrunc status=none
ln -s one "$src/link"
mkfifo "$src/fifo"
ln "$src/one" "$src/hard"
for i in $(seq 100); do echo "$i" >"$src/dir/f$i"; done
echo deep >"$src/dir/deep/er/f"
: >"$tmp/not-ours"
new_pool
backup "$src"

# kinds: of the last output, one letter and path below src a line.
kinds() {
	grep -E '^[-+MUT!] ' "$out" | sed "s, $src/, ," | paste -sd '|'
}
# Neither other names beside the tree, nor times above it.
expect 0 akin verify latest
assert_says "$out" ': equal$'
expect 0 akin verify "latest:$src"
expect 0 akin verify "latest:$src/" "$src/"
expect 0 akin verify --json "latest:$src/dir" "$src/dir"
assert_summary equal=true files=101 content=0
expect 0 akin verify "latest:$src/one"
expect 7 akin verify "latest:$src/one" "$src/two"
assert_eq kinds "$(kinds)" "M one"
expect 1 akin verify "latest:$src/none"
expect 1 akin verify latest /nonexistent
expect 2 akin verify
expect 2 akin verify latest a b

# A restore of it, whole and in part; a hole that is zeros is the same.
restore latest --target "$dst"
cp --sparse=never "$dst$src/holes" "$tmp/h"
cat "$tmp/h" >"$dst$src/holes"
touch -r "$src/holes" "$dst$src/holes"
expect 0 akin verify latest "$dst"
expect 0 akin verify "latest:$src" "$dst$src"

# Each kind, in the order of the tree.
cp -a "$src" "$tmp/keep"
printf 'y' | dd of="$src/big" bs=1 seek=299999 conv=notrunc status=none
echo new >"$src/dir/deep/new"
mkdir "$src/dir/newdir"
echo below >"$src/dir/newdir/below"
rm "$src/dir/f50"
chmod 600 "$src/dir/f51"
rm -r "$src/empty"
echo file >"$src/empty"
printf 'z' | dd of="$src/holes" bs=1 seek=100000 conv=notrunc status=none
rm "$src/link"
ln -s two "$src/link"
echo longer than before >"$src/two"
touch -r "$tmp/keep" "$src"
touch -r "$tmp/keep/dir" "$src/dir"
touch -r "$tmp/keep/dir/deep" "$src/dir/deep"
expect 7 akin verify "latest:$src"
assert_eq kinds "$(kinds)" "M big|+ dir/deep/new|- dir/f50|U dir/f51|\
+ dir/newdir|T empty|M holes|U link|M two"
assert_says "$err" "live data differ"
expect 7 akin verify --json latest
assert_summary equal=false added=2 removed=1 content=3 metadata=2 \
	type_changed=1 unreadable=0
expect 7 akin verify --quiet latest
assert_eq "in the same order" "$(kinds)" "M big|+ dir/deep/new|- dir/f50|\
U dir/f51|+ dir/newdir|T empty|M holes|U link|M two"
expect 7 akin verify latest --exclude big --exclude newdir --exclude "$src/dir/deep" \
	--exclude 'f5*' --exclude empty --exclude holes --exclude two
assert_eq kinds "$(kinds)" "U link"
expect 0 akin verify latest --exclude "$src"

# A directory that is not there any more: one line.
rm -r "$src/dir"
expect 7 akin verify "latest:$src" --exclude big --exclude empty \
	--exclude holes --exclude link --exclude two
assert_eq kinds "$(kinds)" "- dir"

# A stream against a file.
seq 100000 >"$tmp/stream"
akin backup --quiet --stdin s <"$tmp/stream"
expect 0 akin verify latest:s "$tmp/stream"
echo more >>"$tmp/stream"
expect 7 akin verify latest:s "$tmp/stream"

# What cannot be read is said; damage in the pool is damage.
rm -rf "$src"
cp -a "$tmp/keep" "$src"
if [ "$(id -u)" != 0 ]; then
	chmod 0 "$src/two"
	expect 7 akin verify "latest:$src/two"
	assert_says "$out" '^! .*two +\(.*denied'
	chmod 644 "$src/two"
fi
id=$(akin snapshots --json | jq -r 'select(.type == "snapshot") | .id' | head -1)
expect 0 akin verify "$id"
largest=$(find "$pool/data/containers" -type f -printf '%s %p\n' | sort -n |
	tail -1 | cut -d ' ' -f 2)
printf 'damage' | dd of="$largest" bs=1 seek=100000 conv=notrunc status=none
expect 5 akin verify "$id"
assert_says "$out" '^! '
assert_says "$err" "cannot be read from the pool"
