#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Parts: a directory, a file, several at once, by patterns.
. "$(dirname "$0")/functions.sh"

mkdir -p "$src/a/b" "$src/c"
for f in a/1.txt a/2.bin a/b/3.txt c/4.txt c/5.bin 6.txt; do
	echo "$f" >"$src/$f"
done
chmod 700 "$src/a"
new_pool
backup "$src"
tree() {
	(cd "$1" && find . -mindepth 1 | sed 's,^\./,,' | sort | paste -sd ' ')
}

restore "latest:$src/a" --target "$tmp/1"
assert_eq tree "$(tree "$tmp/1")" "1.txt 2.bin b b/3.txt"
restore "latest:$src/a/b/3.txt" --target "$tmp/2"
assert_eq tree "$(tree "$tmp/2")" "3.txt"
assert_eq content "$(cat "$tmp/2/3.txt")" a/b/3.txt
restore "latest:$src/a/b" "latest:$src/c" --target "$tmp/3"
assert_summary files=3
assert_eq tree "$(tree "$tmp/3")" "3.txt 4.txt 5.bin"

restore "latest:$src" --target "$tmp/4" --include '*.txt'
assert_summary files=4
cmp "$src/a/b/3.txt" "$tmp/4/a/b/3.txt"
assert_no_file "$tmp/4/a/2.bin"
assert_eq "mode of a directory on the way" "$(stat -c %a "$tmp/4/a")" 700
restore "latest:$src" --target "$tmp/5" --exclude '*.txt'
assert_summary files=2
restore "latest:$src" --target "$tmp/6" --include "$src/a" --exclude '*.bin'
assert_summary files=2
assert_no_file "$tmp/6/6.txt"

# What is not there is named, and nothing is made.
expect 1 akin restore "latest:$src/none" --target "$tmp/7"
assert_says "$err" "$src/none"
expect 1 akin restore "abcdef0123:$src" --target "$tmp/7"
expect 2 akin restore latest

# A target that was not there is as the directory was, and meanwhile nobody
# else's business; one that was there stays as it is.
mkdir -m 750 "$tmp/private"
echo x >"$tmp/private/f"
touch -d '2001-02-03 04:05:06.7' "$tmp/private"
backup "$tmp/private"
like() {
	stat -c '%a %u %g %.9Y' "$1"
}
restore "latest:$tmp/private" --target "$tmp/new/deep"
assert_eq "as it was" "$(like "$tmp/new/deep")" "$(like "$tmp/private")"
assert_eq "its parents" "$(stat -c %a "$tmp/new")" 755
mkdir -m 700 "$tmp/there"
restore "latest:$tmp/private" --target "$tmp/there"
assert_eq "as it is" "$(stat -c %a "$tmp/there")" 700
restore "latest:/" --target "$tmp/all"
assert_eq "the root" "$(stat -c %a "$tmp/all")" 755
expect 0 akin restore "latest:$tmp/private" --target "$tmp/dry" --dry-run
assert_no_file "$tmp/dry"
